//! Source texts: their differences, and which of them code belongs to.

mod hunks;

use std::collections::{HashMap, HashSet};

use changeling_program::{DebugValue, FileId, FunctionId, Place, Program, Site};

use crate::declarations::{COMMON, Names, words};
use crate::records::{Record, record_around};
use crate::statements::{STATEMENT, assigns, declaration_length, ends_statement};
use crate::versions::Version;
use crate::{Hunk, HunkId, Lines};

/// Contents of source files, by each program's own file numbers. Files may be
/// missing; without any, changes have no hunks.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub base: HashMap<FileId, String>,
    pub head: HashMap<FileId, String>,
}

/// The textual differences, searchable by line.
pub struct Text {
    pub hunks: Vec<Hunk>,
    base: Version,
    head: Version,
    /// The files that were compared.
    compared: [HashSet<FileId>; 2],
    /// Lines of base that head has, too, and where.
    unchanged: HashMap<Place, Place>,
    /// Names that changed lines outside of functions define or mention.
    names: Vec<(HunkId, Names)>,
    /// Structures that changed lines are part of.
    records: Vec<(HunkId, Record)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Base,
    Head,
}

impl Text {
    /// The line of head that a line of base is in common with.
    pub fn unchanged(&self, place: Place) -> Option<Place> {
        let place = self.canonical(Which::Base, place);
        self.unchanged.get(&place).copied()
    }

    /// Whether what a hunk declares can be known at a place. What is written in a source file of C or
    /// C++ is known in that file only.
    fn is_known_at(&self, hunk: HunkId, which: Which, file: FileId) -> bool {
        let hunk = &self.hunks[hunk.0 as usize];
        let own = match which {
            Which::Base => hunk.base.file,
            Which::Head => hunk.head.file,
        };
        own == file || !self.version(which).units.contains(&own)
    }

    fn version(&self, which: Which) -> &Version {
        match which {
            Which::Base => &self.base,
            Which::Head => &self.head,
        }
    }

    pub fn canonical(&self, which: Which, place: Place) -> Place {
        let file = self.version(which).canonical[place.file.index()];
        Place {
            file,
            line: place.line,
        }
    }

    /// The hunk that contains the line.
    pub fn hunk_at(&self, which: Which, place: Place) -> Option<HunkId> {
        let place = self.canonical(which, place);
        let hunks = self.version(which).hunks.get(&place.file)?;
        hunks
            .iter()
            .find(|(lines, _)| lines.contains(place.line))
            .map(|&(_, id)| id)
    }

    /// Hunks in the further lines of a statement that starts at the place.
    pub fn hunks_behind(&self, which: Which, place: Place) -> Vec<HunkId> {
        let place = self.canonical(which, place);
        let version = self.version(which);
        let (Some(text), Some(hunks)) = (
            version.code.get(&place.file),
            version.hunks.get(&place.file),
        ) else {
            return Vec::new();
        };
        let from = place.line.saturating_sub(1) as usize;
        let lines = text.iter().skip(from).take(STATEMENT);
        let Some(length) = lines.into_iter().position(|line| ends_statement(line)) else {
            return Vec::new();
        };
        let last = place.line + length as u32;
        let within = |lines: &Lines| lines.first <= last && lines.last() >= place.line;
        let own = hunks.iter().filter(|(lines, _)| within(lines));
        own.map(|&(_, id)| id).collect()
    }

    /// The lines of a declaration, with all that its variable starts with.
    pub fn declaration(&self, which: Which, place: Place) -> Lines {
        let place = self.canonical(which, place);
        let text = self.version(which).code.get(&place.file);
        let from = place.line.saturating_sub(1) as usize;
        let behind = text.and_then(|text| text.get(from..)).unwrap_or_default();
        Lines {
            file: place.file,
            first: place.line,
            count: declaration_length(behind) as u32,
        }
    }

    /// Hunks that touch the lines.
    pub fn hunks_within(&self, which: Which, own: Lines) -> Vec<HunkId> {
        let hunks = self.version(which).hunks.get(&own.file);
        let touching = hunks.into_iter().flatten().filter(|(lines, _)| {
            let inside = own.first < lines.first && lines.first <= own.last();
            lines.meets(own) || lines.count == 0 && inside
        });
        touching.map(|&(_, id)| id).collect()
    }

    /// A changed macro or other declaration that the line mentions; of macros all that have a say.
    pub fn hunks_named(&self, which: Which, place: Place) -> Vec<HunkId> {
        let place = self.canonical(which, place);
        let words = self.words_at(which, place);
        let mentions = |names: &Names| match names {
            Names::Macro(name) => words.contains(name.as_str()),
            Names::Words(names) => names.iter().any(|name| words.contains(name.as_str())),
            Names::Imported(_) => false,
        };
        let named = |macros: bool| {
            let of_kind = self
                .names
                .iter()
                .filter(move |(_, names)| matches!(names, Names::Macro(_)) == macros);
            of_kind
                .filter(|(id, _)| self.is_known_at(*id, which, place.file))
                .filter(|(_, names)| mentions(names))
                .map(|&(id, _)| id)
                .next()
        };
        match named(true) {
            // A macro that says what it said before may take from one that does not.
            Some(hunk) => match self.hunks_of_macros(which, place, &words) {
                found if found.is_empty() => vec![hunk],
                found => found,
            },
            None => named(false).into_iter().collect(),
        }
    }

    /// A changed `use` of something that the line mentions. Most of these only follow a change elsewhere.
    pub fn hunk_imported(&self, which: Which, place: Place) -> Option<HunkId> {
        let place = self.canonical(which, place);
        let words = self.words_at(which, place);
        let imported = self.names.iter().find(|(id, names)| match names {
            Names::Imported(names) => {
                let mut names = names.iter();
                names.any(|name| words.contains(name.as_str()))
                    && self.is_known_at(*id, which, place.file)
            }
            Names::Macro(_) | Names::Words(_) => false,
        });
        imported.map(|&(id, _)| id)
    }

    /// Macros that mean something else now and that those which the line mentions are made of.
    pub fn hunks_behind_macros(&self, which: Which, place: Place) -> Vec<HunkId> {
        let place = self.canonical(which, place);
        self.hunks_of_macros(which, place, &self.words_at(which, place))
    }

    fn words_at(&self, which: Which, place: Place) -> HashSet<&str> {
        let lines = self.version(which).code.get(&place.file);
        let at = (place.line as usize).checked_sub(1);
        let line = lines.and_then(|lines| lines.get(at?));
        line.map_or_else(HashSet::new, |line| words(line).collect())
    }

    /// Hunks with lines of a structure in which one of these words stands, in either version.
    pub fn hunks_in_record(&self, name: &str, wanted: &[&str]) -> Vec<HunkId> {
        let is_in = |which: Which, lines: Lines| {
            let text = &self.version(which).code[&lines.file];
            let file = lines.file;
            let mut numbers = lines.first..lines.first + lines.count;
            numbers.any(|line| {
                let own = self.words_at(which, Place { file, line });
                // Looking for the structure around takes longer than looking at a line.
                let around = wanted.iter().any(|word| own.contains(word));
                let record = around.then(|| record_around(text, line)).flatten();
                record.is_some_and(|record| record.inside && record.names.contains(name))
            })
        };
        let hunks = (0u32..).map(HunkId).zip(&self.hunks);
        let hunks = hunks.filter(|(_, hunk)| !self.is_cosmetic(hunk));
        let own = hunks
            .filter(|(_, hunk)| is_in(Which::Base, hunk.base) || is_in(Which::Head, hunk.head));
        own.map(|(id, _)| id).collect()
    }

    /// The hunks of macros that mean something else now: of these, and of those that these take
    /// something from. A macro that still says what it said before changes nothing by itself, though
    /// its lines may be part of a hunk.
    fn hunks_of_macros(
        &self,
        which: Which,
        place: Place,
        mentioned: &HashSet<&str>,
    ) -> Vec<HunkId> {
        let macros = &self.version(which).macros;
        let mut seen = mentioned.clone();
        let mut level: Vec<&str> = mentioned.iter().copied().collect();
        let mut found = Vec::new();
        for _ in 0..NESTED {
            let replaced = level.iter().filter(|name| self.is_replaced(name));
            found.extend(replaced.filter_map(|name| {
                let mut own = self.names.iter().filter(|(_, names)| match names {
                    Names::Macro(own) => own == name,
                    Names::Words(_) | Names::Imported(_) => false,
                });
                let known = own.find(|(id, _)| self.is_known_at(*id, which, place.file));
                known.map(|&(id, _)| id)
            }));
            let next = level.iter().flat_map(|name| macros.words(name));
            level = next.filter(|name| seen.insert(name)).collect();
        }
        found
    }

    fn is_replaced(&self, name: &str) -> bool {
        self.base.macros.is_replaced(&self.head.macros, name)
    }

    /// Hunks that change the structure with a name: its fields, if there are such.
    pub fn hunks_of_record(&self, name: &str) -> impl Iterator<Item = HunkId> + '_ {
        let ids = |inside: bool| -> HashSet<HunkId> {
            let records = self.records.iter();
            let own = records.filter(|(_, record)| record.names.contains(name));
            let own = own.filter(|(_, record)| record.inside == inside);
            own.map(|(id, _)| *id).collect()
        };
        let fields = ids(true);
        let found = match fields.is_empty() {
            true => ids(false),
            false => fields,
        };
        found.into_iter()
    }

    /// Hunks that change a structure which the line mentions.
    pub fn hunks_of_records_at(&self, which: Which, place: Place) -> Vec<HunkId> {
        let place = self.canonical(which, place);
        self.words_at(which, place)
            .into_iter()
            .filter(|word| !COMMON.contains(word))
            .flat_map(|word| self.hunks_of_record(word))
            .filter(|id| self.is_known_at(*id, which, place.file))
            .collect()
    }

    /// The only changed declaration outside of functions, if there is just one.
    pub fn only_outer_hunk(&self) -> Option<HunkId> {
        let ids: HashSet<HunkId> = self.names.iter().map(|&(id, _)| id).collect();
        (ids.len() == 1).then(|| ids.into_iter().next()).flatten()
    }

    /// Hunks that touch the function, with their lines on that side.
    pub fn hunks_in(
        &self,
        which: Which,
        program: &Program,
        function: FunctionId,
    ) -> Vec<(Lines, HunkId)> {
        let Some((file, from, to)) = self.extent(which, program, function) else {
            return Vec::new();
        };
        let hunks = self
            .version(which)
            .hunks
            .get(&file)
            .map_or(&[][..], Vec::as_slice);
        let touches = |lines: &Lines| match lines.count {
            0 => from < lines.first && lines.first <= to,
            _ => lines.first <= to && lines.last() >= from,
        };
        hunks
            .iter()
            .filter(|(lines, _)| touches(lines))
            .copied()
            .collect()
    }

    /// Whether the text of a function is in both versions.
    pub fn is_in_both(&self, which: Which, function: FunctionId, program: &Program) -> bool {
        let Some((file, ..)) = self.extent(which, program, function) else {
            return false;
        };
        self.compared[which as usize].contains(&file)
            && self.hunks_in(which, program, function).is_empty()
    }

    /// Where a variable got its value. Compilers keep no line of an assignment
    /// that left no instruction; then it is the last line before the next
    /// instruction, and behind the one before, that assigns the variable.
    pub fn assignment(&self, which: Which, program: &Program, known: &DebugValue) -> Option<Place> {
        let block = program.block(program.instruction(known.before).block);
        let location = known.location.map(|id| &program.locations[id.index()]);
        if let Some(location) = location.filter(|location| location.line != 0) {
            return Some(Place {
                file: location.file,
                line: location.line,
            });
        }
        let end = block.first.0 + block.count;
        let next = (known.before.0..end).find_map(|n| program.place(Site(n)))?;
        let before = (block.first.0..known.before.0).rev();
        let before = before.filter_map(|n| program.place(Site(n))).next();
        let start = program.function(block.function).place?;
        let from = match before {
            Some(before) if before.file == next.file && before.line <= next.line => before.line,
            _ => start.line,
        };
        let place = self.canonical(which, next);
        let lines = self.version(which).code.get(&place.file)?;
        let name = &program.variables[known.variable.index()].name;
        let line = (from..=next.line).rev().find(|&line| {
            let text = lines.get(line.saturating_sub(1) as usize);
            text.is_some_and(|text| assigns(text, name))
        })?;
        Some(Place {
            file: next.file,
            line,
        })
    }

    /// Hunks of the function that assign the variable, on that side. For assignments of which nothing else is left.
    pub fn hunks_assigning(
        &self,
        which: Which,
        program: &Program,
        function: FunctionId,
        name: &str,
    ) -> Vec<HunkId> {
        let text = |version: &Version, lines: Lines| -> Vec<String> {
            let all = version.code.get(&lines.file).map_or(&[][..], Vec::as_slice);
            let from = lines.first.saturating_sub(1) as usize;
            let own = all.iter().skip(from).take(lines.count as usize);
            own.cloned().collect()
        };
        let bare = |lines: Vec<String>| -> String {
            let text = lines.concat();
            text.chars().filter(|c| !c.is_whitespace()).collect()
        };
        let mut found = Vec::new();
        for (lines, id) in self.hunks_in(which, program, function) {
            let hunk = &self.hunks[id.0 as usize];
            let own = text(self.version(which), lines);
            let assigns = own.iter().any(|line| assigns(line, name));
            if assigns && bare(text(&self.base, hunk.base)) != bare(text(&self.head, hunk.head)) {
                found.push(id);
            }
        }
        found
    }

    /// File, first and last line of a function's source, as far as its
    /// instructions tell.
    fn extent(
        &self,
        which: Which,
        program: &Program,
        function: FunctionId,
    ) -> Option<(FileId, u32, u32)> {
        let function = program.function(function);
        let start = self.canonical(which, function.place?);
        let own = |location: &&changeling_program::Location| {
            location.scope == function.symbol || location.scope == function.name
        };
        let last = function
            .sites()
            .filter_map(|site| program.location(site))
            .filter(own)
            .map(|location| Place {
                file: location.file,
                line: location.line,
            })
            .map(|place| self.canonical(which, place))
            .filter(|place| place.file == start.file)
            .map(|place| place.line)
            .max();
        Some((
            start.file,
            start.line,
            last.unwrap_or(start.line).max(start.line),
        ))
    }
}

/// Macros that are made of macros are looked through so far.
const NESTED: usize = 8;
