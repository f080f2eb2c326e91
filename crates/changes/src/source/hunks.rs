//! From source texts to hunks, and what those outside of functions declare.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use changeling_program::{FileId, FunctionId, Place, Program};

use super::{Sources, Text, Which};
use crate::declarations::{function_lines, names_at};
use crate::functions::Match;
use crate::keys::hash;
use crate::quiet::tokens;
use crate::records::{Record, record_around};
use crate::sequence::matching;
use crate::versions::{Version, differences, in_common, pair_files, without};
use crate::{Hunk, HunkId, Lines};

impl Text {
    pub fn new(base: &Program, head: &Program, sources: &Sources, matches: &[Match]) -> Text {
        let mut text = Text {
            hunks: Vec::new(),
            base: Version::new(base, &sources.base),
            head: Version::new(head, &sources.head),
            compared: Default::default(),
            unchanged: HashMap::new(),
            names: Vec::new(),
            records: Vec::new(),
        };
        let files = pair_files(base, head, [&text.base, &text.head], matches);
        let moved = text.moved(base, head, matches, &files);
        for (left, right) in files {
            text.compared[0].insert(left);
            text.compared[1].insert(right);
            let whole = (text.base.whole(left), text.head.whole(right));
            let differences = text.differences(whole);
            text.add_unchanged(whole, &differences);
            for (base, head) in differences {
                for (base, head) in without(base, head, &moved) {
                    text.add(&text.split(base, head));
                }
            }
        }
        for pair in moved {
            let differences = text.differences(pair);
            text.add_unchanged(pair, &differences);
            for (base, head) in differences {
                text.add(&text.split(base, head));
            }
        }
        text.find_names(base, head, matches);
        text
    }

    fn differences(&self, (base, head): (Lines, Lines)) -> Vec<(Lines, Lines)> {
        differences(
            (base, &self.base.lines[&base.file]),
            (head, &self.head.lines[&head.file]),
        )
    }

    fn add_unchanged(&mut self, whole: (Lines, Lines), differences: &[(Lines, Lines)]) {
        let at = |lines: Lines, line: u32| Place {
            file: lines.file,
            line,
        };
        let pairs = in_common(whole, differences).into_iter();
        let pairs = pairs.map(|(base, head)| (at(whole.0, base), at(whole.1, head)));
        self.unchanged.extend(pairs);
    }

    /// Functions that were changed and are in files now that do not correspond: what stands around them says
    /// nothing about them, so they are compared by themselves.
    fn moved(
        &self,
        base: &Program,
        head: &Program,
        matches: &[Match],
        files: &BTreeMap<FileId, FileId>,
    ) -> Vec<(Lines, Lines)> {
        let lines = |which: Which, program: &Program, id: FunctionId| {
            let defined = program.function(id).is_defined();
            let (file, first, last) = self.extent(which, program, id).filter(|_| defined)?;
            let count = last - first + 1;
            let known = self.version(which).lines.contains_key(&file);
            known.then_some(Lines { file, first, count })
        };
        let pairs = matches.iter().filter_map(|pair| {
            let left = lines(Which::Base, base, pair.base)?;
            let right = lines(Which::Head, head, pair.head)?;
            let elsewhere = files.get(&left.file) != Some(&right.file);
            let changed = || !self.differences((left, right)).is_empty();
            (elsewhere && changed()).then_some((left, right))
        });
        let mut pairs: Vec<(Lines, Lines)> = pairs.collect();
        // What is inside of another function moved with it.
        pairs.sort_by_key(|&(left, right)| (Reverse(left.count + right.count), left, right));
        let mut moved: Vec<(Lines, Lines)> = Vec::new();
        for pair in pairs {
            let meets = |other: &(Lines, Lines)| other.0.meets(pair.0) || other.1.meets(pair.1);
            if !moved.iter().any(meets) {
                moved.push(pair);
            }
        }
        moved.sort_unstable();
        moved
    }

    /// The parts of one difference. Braces that were left over are not told apart from the part that they close.
    fn add(&mut self, parts: &[(Lines, Lines)]) {
        let first = self.hunks.len() as u32;
        let hunks = parts.iter().map(|&(base, head)| Hunk { base, head });
        self.hunks.extend(hunks);
        let id = |part: usize| HunkId(first + part as u32);
        let hunk = |part: usize| &self.hunks[id(part).0 as usize];
        let mut found: Vec<(usize, HunkId)> = Vec::new();
        for part in (0..parts.len()).filter(|&part| !self.is_cosmetic(hunk(part))) {
            let says = |other: &usize| {
                !self.is_cosmetic(hunk(*other)) && !self.has_only_braces(hunk(*other))
            };
            let opened = || (0..part).rev().find(says);
            let own = match self.has_only_braces(hunk(part)) {
                true => opened().unwrap_or(part),
                false => part,
            };
            found.push((part, id(own)));
        }
        for (part, id) in found {
            let (base, head) = parts[part];
            let (left, right) = (&mut self.base.hunks, &mut self.head.hunks);
            left.entry(base.file).or_default().push((base, id));
            right.entry(head.file).or_default().push((head, id));
        }
    }

    fn has_only_braces(&self, hunk: &Hunk) -> bool {
        let codes = [self.base.code_in(hunk.base), self.head.code_in(hunk.head)];
        let brace = |token: &String| token == "{" || token == "}";
        codes.iter().all(|code| tokens(code).iter().all(brace))
    }

    /// A difference in parts, so that lines which only got another comment or indentation are apart
    /// from those that say something else.
    fn split(&self, base: Lines, head: Lines) -> Vec<(Lines, Lines)> {
        let keys = |version: &Version, lines: Lines, own: u64| -> Vec<u64> {
            let code = version.code_in(lines);
            let keys = code.iter().zip(0..).map(|(line, n)| match tokens(&[line]) {
                // A brace alone, or nothing, is alike everywhere.
                tokens if tokens.len() < 2 => hash(&(own, n)),
                tokens => hash(&tokens),
            });
            keys.collect()
        };
        let (left, right) = (keys(&self.base, base, 0), keys(&self.head, head, 1));
        let part = |lines: Lines, from: usize, to: usize| Lines {
            file: lines.file,
            first: lines.first + from as u32,
            count: (to - from) as u32,
        };
        let mut parts: Vec<(Lines, Lines)> = Vec::new();
        let (mut i, mut j) = (0, 0);
        let mut open = false;
        let end = (base.count as usize, head.count as usize);
        for (next_i, next_j) in matching(&left, &right).into_iter().chain([end]) {
            if next_i > i || next_j > j {
                parts.push((part(base, i, next_i), part(head, j, next_j)));
                open = false;
            }
            match parts.last_mut().filter(|_| open) {
                _ if (next_i, next_j) == end => {}
                Some((base, head)) => {
                    base.count += 1;
                    head.count += 1;
                }
                None => {
                    let (left, right) = (next_i + 1, next_j + 1);
                    parts.push((part(base, next_i, left), part(head, next_j, right)));
                }
            }
            open = true;
            (i, j) = (next_i + 1, next_j + 1);
        }
        parts
    }

    /// Comments and white space explain no change of the code.
    pub(super) fn is_cosmetic(&self, hunk: &Hunk) -> bool {
        tokens(&self.base.code_in(hunk.base)) == tokens(&self.head.code_in(hunk.head))
    }

    /// All lines of functions, compiled or not.
    fn bodies(&self, which: Which, program: &Program) -> HashSet<(FileId, u32)> {
        let extents = program
            .definitions()
            .filter_map(|function| self.extent(which, program, function));
        let compiled =
            extents.flat_map(|(file, from, to)| (from..=to).map(move |line| (file, line)));
        let code = self.version(which).code.iter();
        let written = code.flat_map(|(&file, text)| {
            let lines = function_lines(text).into_iter();
            lines.map(move |line| (file, line))
        });
        compiled.chain(written).collect()
    }

    fn find_names(&mut self, base: &Program, head: &Program, matches: &[Match]) {
        let mut inside = vec![false; self.hunks.len()];
        let sides = [(Which::Base, base), (Which::Head, head)];
        for (which, program) in sides {
            for pair in matches {
                let function = if which == Which::Base {
                    pair.base
                } else {
                    pair.head
                };
                if program.function(function).is_defined() {
                    for (_, id) in self.hunks_in(which, program, function) {
                        inside[id.0 as usize] = true;
                    }
                }
            }
        }
        let bodies = sides.map(|(which, program)| self.bodies(which, program));
        let (mut names, mut records) = (Vec::new(), Vec::new());
        for (index, hunk) in self.hunks.iter().enumerate().filter(|&(n, _)| !inside[n]) {
            if self.is_cosmetic(hunk) {
                continue;
            }
            let id = HunkId(index as u32);
            let versions = [(&self.base, hunk.base), (&self.head, hunk.head)];
            let only_one = hunk.base.count == 0 || hunk.head.count == 0;
            for ((version, lines), bodies) in versions.into_iter().zip(&bodies) {
                let text = &version.code[&lines.file];
                // What a function that only one version has mentions says nothing.
                let outer = (lines.first..lines.first + lines.count)
                    .filter(|line| !bodies.contains(&(lines.file, *line)));
                let around = outer.clone().filter_map(|line| record_around(text, line));
                records.extend(around.map(|record| (id, record)));
                // Nor do the fields of a structure that only one version has.
                let of_its_own = |line: u32| {
                    let record = record_around(text, line).filter(|record| record.inside);
                    let within =
                        |record: Record| record.has_fields() && lines.contains(record.first);
                    only_one && record.is_some_and(within)
                };
                let outer = outer.filter(|&line| !of_its_own(line));
                names.extend(outer.filter_map(|line| Some((id, names_at(text, line)?))));
            }
        }
        (self.names, self.records) = (names, records);
    }
}
