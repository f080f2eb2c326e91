//! The files of each version, which of them correspond, and where their lines differ.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, PathBuf};

use changeling_program::{File, FileId, Program};

use crate::functions::Match;
use crate::keys::hash;
use crate::macros::Macros;
use crate::quiet::Stripped;
use crate::sequence::matching;
use crate::{HunkId, Lines};

/// The texts of one version.
pub struct Version {
    /// The same file may have several numbers.
    pub canonical: Vec<FileId>,
    pub lines: HashMap<FileId, Vec<String>>,
    /// The lines without comments.
    pub code: HashMap<FileId, Vec<String>>,
    pub hunks: HashMap<FileId, Vec<(Lines, HunkId)>>,
    /// Source files of C and C++ that are no headers.
    pub units: HashSet<FileId>,
    pub macros: Macros,
}

impl Version {
    pub fn new(program: &Program, texts: &HashMap<FileId, String>) -> Version {
        let mut first: HashMap<PathBuf, FileId> = HashMap::new();
        let canonical: Vec<FileId> = program
            .files
            .iter()
            .enumerate()
            .map(|(index, file)| *first.entry(tidy(file)).or_insert(FileId::new(index)))
            .collect();
        let mut lines: HashMap<FileId, Vec<String>> = HashMap::new();
        let mut code: HashMap<FileId, Vec<String>> = HashMap::new();
        for (file, text) in texts {
            if let Some(&file) = canonical.get(file.index()) {
                lines.insert(file, text.lines().map(str::to_owned).collect());
                code.insert(file, Stripped::new(text).into_lines());
            }
        }
        let unit = |file: &&FileId| {
            let path = tidy(program.file(**file));
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| UNITS.contains(&extension))
        };
        let units = code.keys().filter(unit).copied().collect();
        Version {
            canonical,
            lines,
            macros: Macros::new(code.values()),
            code,
            units,
            hunks: HashMap::new(),
        }
    }

    /// All lines of a file.
    pub fn whole(&self, file: FileId) -> Lines {
        let count = self.lines.get(&file).map_or(0, Vec::len) as u32;
        let first = 1;
        Lines { file, first, count }
    }

    pub fn code_in(&self, lines: Lines) -> Vec<&str> {
        let all = self.code.get(&lines.file).map_or(&[][..], Vec::as_slice);
        let from = lines.first.saturating_sub(1) as usize;
        let own = all.iter().skip(from).take(lines.count as usize);
        own.map(String::as_str).collect()
    }
}

/// How the names of files end that are compiled by themselves.
const UNITS: [&str; 6] = ["c", "cc", "cpp", "cxx", "C", "c++"];

/// The path without `.` and `..`.
fn tidy(file: &File) -> PathBuf {
    let mut path = PathBuf::new();
    for component in file.path().components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path
}

/// Files that hold the same functions, then those with the most similar paths.
pub fn pair_files(
    base: &Program,
    head: &Program,
    versions: [&Version; 2],
    matches: &[Match],
) -> BTreeMap<FileId, FileId> {
    let mut votes: BTreeMap<(FileId, FileId), u32> = BTreeMap::new();
    for pair in matches {
        let (left, right) = (base.function(pair.base), head.function(pair.head));
        if let (Some(left), Some(right)) = (left.place, right.place) {
            let left = versions[0].canonical[left.file.index()];
            let right = versions[1].canonical[right.file.index()];
            *votes.entry((left, right)).or_default() += 1;
        }
    }
    let mut ranked: Vec<_> = votes
        .into_iter()
        .map(|(pair, votes)| (votes as usize, pair))
        .collect();
    ranked.sort_by_key(|&(votes, pair)| (std::cmp::Reverse(votes), pair));
    let mut alike = Vec::new();
    for &left in versions[0].lines.keys() {
        for &right in versions[1].lines.keys() {
            let (l, r) = (tidy(base.file(left)), tidy(head.file(right)));
            let common = l
                .iter()
                .rev()
                .zip(r.iter().rev())
                .take_while(|(l, r)| l == r)
                .count();
            if common > 0 {
                alike.push((common, (left, right)));
            }
        }
    }
    alike.sort_by_key(|&(common, pair)| (std::cmp::Reverse(common), pair));
    let mut pairs = BTreeMap::new();
    let mut taken = HashSet::new();
    for (_, (left, right)) in ranked.into_iter().chain(alike) {
        let known = versions[0].lines.contains_key(&left) && versions[1].lines.contains_key(&right);
        if known && !pairs.contains_key(&left) && taken.insert(right) {
            pairs.insert(left, right);
        }
    }
    pairs
}

/// Where lines of base differ from lines of head.
pub fn differences(
    (base, base_text): (Lines, &[String]),
    (head, head_text): (Lines, &[String]),
) -> Vec<(Lines, Lines)> {
    let keys = |lines: Lines, text: &[String]| {
        let own = text.iter().skip(lines.first.saturating_sub(1) as usize);
        let own = own.take(lines.count as usize);
        own.map(|line| hash(line.as_str())).collect::<Vec<_>>()
    };
    let (left, right) = (keys(base, base_text), keys(head, head_text));
    let pairs = matching(&left, &right);
    let mut hunks = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (next_i, next_j) in pairs.into_iter().chain([(left.len(), right.len())]) {
        if next_i > i || next_j > j {
            let part = |lines: Lines, from: usize, to: usize| Lines {
                file: lines.file,
                first: lines.first + from as u32,
                count: (to - from) as u32,
            };
            hunks.push((part(base, i, next_i), part(head, j, next_j)));
        }
        (i, j) = (next_i + 1, next_j + 1);
    }
    hunks
}

/// The lines between differences: what base and head have in common, by number.
pub fn in_common((base, head): (Lines, Lines), differences: &[(Lines, Lines)]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let (mut left, mut right) = (base.first, head.first);
    let end = |lines: Lines| lines.first + lines.count;
    let starts = differences.iter().map(|(base, _)| base.first);
    let ends = differences
        .iter()
        .map(|&(base, head)| (end(base), end(head)));
    for (start, next) in starts.chain([end(base)]).zip(ends.chain([(0, 0)])) {
        pairs.extend((left..start).zip(right..));
        (left, right) = next;
    }
    pairs
}

/// What is left of a difference without the lines that were compared with others.
pub fn without(base: Lines, head: Lines, elsewhere: &[(Lines, Lines)]) -> Vec<(Lines, Lines)> {
    let left = rest(base, elsewhere.iter().map(|pair| pair.0));
    let right = rest(head, elsewhere.iter().map(|pair| pair.1));
    let end = |lines: Lines| Lines {
        first: lines.first + lines.count,
        count: 0,
        ..lines
    };
    let of = |parts: &[Lines], n: usize, whole: Lines| parts.get(n).copied().unwrap_or(end(whole));
    (0..left.len().max(right.len()))
        .map(|n| (of(&left, n, base), of(&right, n, head)))
        .filter(|(base, head)| base.count + head.count > 0)
        .collect()
}

/// The parts of the lines that are in none of the others.
fn rest(lines: Lines, others: impl Iterator<Item = Lines>) -> Vec<Lines> {
    if lines.count == 0 {
        return vec![lines];
    }
    let others: Vec<Lines> = others.filter(|other| other.file == lines.file).collect();
    let mut parts: Vec<Lines> = Vec::new();
    for line in lines.first..lines.first + lines.count {
        if others.iter().any(|other| other.contains(line)) {
            continue;
        }
        match parts.last_mut() {
            Some(part) if part.first + part.count == line => part.count += 1,
            _ => parts.push(Lines {
                first: line,
                count: 1,
                ..lines
            }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: usize, first: u32, count: u32) -> Lines {
        let file = FileId::new(file);
        Lines { file, first, count }
    }

    #[test]
    fn lines_in_common() {
        let (base, head) = (lines(0, 10, 5), lines(1, 20, 6));
        let all: Vec<(u32, u32)> = (10..15).zip(20..).collect();
        assert_eq!(in_common((base, lines(1, 20, 5)), &[]), all);
        let differences = [
            (lines(0, 11, 1), lines(1, 21, 0)),
            (lines(0, 13, 0), lines(1, 22, 2)),
        ];
        assert_eq!(
            in_common((base, head), &differences),
            [(10, 20), (12, 21), (13, 24), (14, 25)]
        );
        assert_eq!(in_common((base, head), &[(base, head)]), []);
    }

    #[test]
    fn what_was_compared_elsewhere_is_left_out() {
        let (base, head) = (lines(0, 10, 10), lines(1, 20, 2));
        assert_eq!(without(base, head, &[]), [(base, head)]);
        let moved = [(lines(0, 13, 4), lines(2, 1, 5))];
        let expected = [
            (lines(0, 10, 3), lines(1, 20, 2)),
            (lines(0, 17, 3), lines(1, 22, 0)),
        ];
        assert_eq!(without(base, head, &moved), expected);
        let all = [(lines(0, 1, 40), lines(2, 1, 40))];
        assert_eq!(without(base, head, &all), [(lines(0, 20, 0), head)]);
        assert_eq!(without(base, lines(1, 20, 0), &all), []);
    }
}
