//! Which blocks of a change an input enters together, and what names them.

use changeling_build::Built;
use changeling_program::{FileId, Program, Site};
use changeling_report::files::content_name;
use changeling_report::results;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Blocks of a change that are entered together. Lines beside each other are one change, but the paths of two inputs
/// may each enter one of them, and then they show two differences.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the change.
    pub change: u32,
    /// The blocks of base and of head that were modified.
    pub blocks: [Vec<usize>; 2],
    /// The lines of base and of head that they act on.
    pub lines: [Vec<u32>; 2],
    /// What names it whatever line it is in.
    pub name: String,
}

/// A change of more blocks is one part: the paths through it are too many to tell apart.
const MOST_PARTS: usize = 32;

/// Lines of a version's source by number.
pub struct Texts<'a> {
    program: &'a Program,
    lines: HashMap<FileId, Vec<&'a str>>,
}

impl<'a> Texts<'a> {
    pub fn new(program: &'a Program, texts: &'a BTreeMap<String, String>) -> Texts<'a> {
        let files = program.files.iter().enumerate();
        let lines = files.filter_map(|(number, file)| {
            let name = Built::source_name(&file.directory, &file.name)?;
            let text = texts.get(&name.display().to_string())?;
            Some((FileId::new(number), text.lines().collect()))
        });
        Texts {
            program,
            lines: lines.collect(),
        }
    }

    fn numbers(&self, sites: &[Site]) -> Vec<u32> {
        let places = sites.iter().filter_map(|site| self.program.place(*site));
        places.map(|place| place.line).collect()
    }

    /// The lines that sites are in, from the top.
    fn of(&self, sites: &[Site]) -> Vec<&'a str> {
        let places = sites.iter().filter_map(|site| self.program.place(*site));
        let places: BTreeSet<(FileId, u32)> =
            places.map(|place| (place.file, place.line)).collect();
        let lines = places.into_iter().filter_map(|(file, line)| {
            let lines = self.lines.get(&file)?;
            lines.get(line.checked_sub(1)? as usize).copied()
        });
        lines.collect()
    }
}

pub fn parts_of(
    number: u32,
    change: &results::Change,
    blocks: &[BTreeMap<usize, Vec<Site>>; 2],
    texts: &[Texts<'_>; 2],
) -> Vec<Part> {
    if blocks[0].len() + blocks[1].len() > MOST_PARTS {
        let lines = change.hunk.lines();
        return vec![Part {
            change: number,
            blocks: blocks.each_ref().map(|side| side.keys().copied().collect()),
            // All of them.
            lines: [Vec::new(), Vec::new()],
            name: part_name(&change.function, lines.filter_map(|line| line.get(1..))),
        }];
    }
    let mut parts = Vec::new();
    for at in [0, 1] {
        for (&block, sites) in &blocks[at] {
            let mut own = [Vec::new(), Vec::new()];
            own[at].push(block);
            let mut lines = [Vec::new(), Vec::new()];
            lines[at] = texts[at].numbers(sites);
            parts.push(Part {
                change: number,
                blocks: own,
                lines,
                name: part_name(&change.function, texts[at].of(sites).into_iter()),
            });
        }
    }
    parts
}

/// The function, the first line, and a sum of all lines if there are more: if one of them becomes another, so does the name.
fn part_name<'a>(function: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match lines.as_slice() {
        [] => function.to_owned(),
        [line] => format!("{function}: {line}"),
        [line, ..] => {
            let sum = content_name(lines.iter().map(|line| line.as_bytes()));
            // The last bytes of a text are found only in the lower digits.
            format!("{function}: {line} … {}", &sum[24..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_say_all_lines() {
        let name = |lines: &[&'static str]| part_name("f", lines.iter().copied());
        assert_eq!(name(&["  puts(1);", " "]), "f: puts(1);");
        assert_ne!(name(&["a", "b"]), name(&["a", "c"]));
        assert!(name(&["a", "b"]).starts_with("f: a … "));
    }
}
