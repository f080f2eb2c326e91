//! Which changes a run enters: the comparison of the two programs, laid over the
//! blocks that runs execute.

use crate::extent::Extent;
use crate::parts::{Part, Texts, parts_of};
use crate::runner::{Occasion, Watcher};
use crate::version::{Version, read_program};
use changeling_build::Built;
use changeling_changes::{Change, ChangeSet, Lines, Sources, compare};
use changeling_explore::guides::Pair;
use changeling_explore::runner::{self, TraceView, TracedRun};
use changeling_program::{FileId, Operation, Program, Site};
use changeling_report::results::{self, LineRange, Side, SourceFile};
use changeling_trace::input::Input;
use changeling_trace::sites::SiteTable;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Lines of source shown around a change.
const CONTEXT: u32 = 4;
/// Inputs remembered with the changes they entered.
const REMEMBERED: usize = 100_000;

/// All changes, ready to be compared with coverage.
#[derive(Default)]
pub struct Regions {
    pub changes: Vec<results::Change>,
    parts: Vec<Part>,
    /// Lines of base and head that are other ones: those of changes, whole, and those in functions that the other version
    /// does not have.
    others: [Vec<(String, LineRange)>; 2],
    /// Source texts of base and head, by name.
    texts: [BTreeMap<String, String>; 2],
    seen: Mutex<Seen>,
}

/// Both programs and what changed between them.
pub struct Compared {
    pub programs: [Program; 2],
    pub set: ChangeSet,
    /// Source texts, by name.
    texts: [BTreeMap<String, String>; 2],
}

impl Compared {
    /// Reads both programs and compares them. The reason if that cannot be done.
    pub fn find(built: [&Built; 2]) -> Result<Compared, Unknown> {
        // A mistake in the comparison must not take the search with it.
        let found = std::panic::catch_unwind(|| Compared::new(built));
        found.unwrap_or_else(|_| Err(Unknown::failed()))
    }

    fn new(built: [&Built; 2]) -> Result<Compared, Unknown> {
        let program = |built: &Built| {
            let read = read_program(built);
            read.map_err(|error| Unknown::Failed(error.to_string()))
        };
        let [base, head] = [program(built[0])?, program(built[1])?];
        let texts = [texts(&base, built[0]), texts(&head, built[1])];
        let sources = Sources {
            base: by_number(&base, &texts[0]),
            head: by_number(&head, &texts[1]),
        };
        let set = compare(&base, &head, &sources);
        if set.foreign {
            return Err(Unknown::Foreign);
        }
        Ok(Compared {
            programs: [base, head],
            set,
            texts,
        })
    }
}

/// Why nothing is known of changes.
pub enum Unknown {
    /// The versions have no function of their own in common.
    Foreign,
    Failed(String),
}

impl Unknown {
    /// A mistake of ours.
    pub fn failed() -> Unknown {
        Unknown::Failed("the comparison failed".into())
    }

    pub fn reason(&self) -> &str {
        match self {
            Unknown::Foreign => "the versions have no function of their own in common",
            Unknown::Failed(reason) => reason,
        }
    }
}

#[derive(Default)]
struct Seen {
    /// All that count.
    searched: u64,
    runs: Vec<u64>,
    /// The number of the first one that entered each change.
    first: Vec<Option<u64>>,
    /// Numbers of the changes that no input can enter.
    unreachable: Vec<u32>,
    entered: HashMap<Vec<Vec<u8>>, Vec<u32>>,
}

impl Regions {
    pub fn new(compared: &Compared, versions: &[Version; 2]) -> Regions {
        let Compared {
            programs,
            set,
            texts,
        } = compared;
        let tables = [&versions[0].sites, &versions[1].sites];
        let programs = programs.each_ref();
        let changes = set
            .changes
            .iter()
            .map(|change| described(change, set, programs, texts));
        let changes: Vec<results::Change> = changes.collect();
        let starts = tables.map(starts);
        let lines = [0, 1].map(|at| Texts::new(programs[at], &texts[at]));
        let pair = Pair {
            programs,
            changes: set,
        };
        let mut parts = Vec::new();
        for (change, shown) in set.changes.iter().zip(&changes) {
            let sides = [&change.base, &change.head];
            let doing = [0, 1].map(|at| doing(programs[at], &sides[at].modified));
            let edges = || runner::Side::BOTH.map(|side| pair.effective(change, side));
            let all = || [0, 1].map(|at| sides[at].modified.clone());
            let is_known = |known: &[Vec<Site>; 2]| known.iter().any(|sites| !sites.is_empty());
            let known = Some(doing).filter(is_known);
            let known = known.or_else(|| Some(edges()).filter(is_known));
            let sites = known.unwrap_or_else(all);
            let blocks = [0, 1].map(|at| by_block(&starts[at], &sites[at]));
            parts.extend(parts_of(change.id.0, shown, &blocks, &lines));
        }
        let others = [0, 1].map(|at| {
            let own = set.changes.iter().filter_map(|change| change.hunk);
            let hunks = own.chain(set.lone.iter().copied());
            let hunks = hunks.map(|hunk| set.hunk(hunk));
            let lines = hunks.map(|hunk| [hunk.base, hunk.head][at]);
            let lines = lines.filter(|lines| lines.count > 0);
            lines
                .map(|lines| (file_name(programs[at], lines), line_range(lines)))
                .collect()
        });
        Regions {
            seen: Mutex::new(Seen {
                runs: vec![0; changes.len()],
                first: vec![None; changes.len()],
                ..Seen::default()
            }),
            changes,
            others,
            parts,
            texts: texts.clone(),
        }
    }

    /// The changes that an input entered when it was run on the pair.
    pub fn entered(&self, input: &Input) -> Vec<results::Change> {
        let parts = Watcher::entered(self, input);
        let entered = self.changes_of(&parts).into_iter();
        entered
            .filter_map(|n| Some((n, self.changes.get(n as usize)?)))
            .map(|(n, change)| {
                let parts = parts
                    .iter()
                    .filter_map(|&part| self.parts.get(part as usize));
                narrowed(change, parts.filter(|part| part.change == n))
            })
            .collect()
    }

    /// The changes that parts belong to, by number, in order.
    fn changes_of(&self, parts: &[u32]) -> Vec<u32> {
        let parts = parts.iter().filter_map(|&n| self.parts.get(n as usize));
        let mut changes: Vec<u32> = parts.map(|part| part.change).collect();
        changes.dedup();
        changes
    }

    /// What names a part of a change whatever line it is in.
    pub fn name(&self, part: u32) -> Option<&str> {
        self.parts.get(part as usize).map(|part| part.name.as_str())
    }

    /// All changes, each with the number of runs that entered it.
    pub fn counted(&self) -> Vec<results::Change> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = self.changes.iter().zip(&seen.runs).zip(0..);
        counted
            .map(|((change, &runs), n)| results::Change {
                runs: Some(runs),
                first_run: seen.first[n as usize],
                unreachable: runs == 0 && seen.unreachable.contains(&n),
                ..change.clone()
            })
            .collect()
    }

    /// Takes note of changes, by number, that no input can enter.
    pub fn are_unreachable(&self, changes: Vec<u32>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.unreachable = changes;
    }

    /// Lines of head that changes touch and that have code, and those executed.
    pub fn changed_lines(&self, tables: [&SiteTable; 2], coverage: &[Vec<u8>; 2]) -> (u64, u64) {
        let lines = executed_lines(tables[1], &coverage[1]);
        let mut all = BTreeMap::new();
        let changes = self
            .changes
            .iter()
            .map(|change| (&change.file, change.lines));
        let others = self.others[1].iter().map(|(file, lines)| (file, *lines));
        for (file, range) in changes.chain(others) {
            for (line, executed) in lines.get(file).into_iter().flatten() {
                if range.contains(*line) {
                    all.insert((file.clone(), *line), *executed);
                }
            }
        }
        (
            all.len() as u64,
            all.values().filter(|executed| **executed).count() as u64,
        )
    }

    /// Source views around the changes, for both versions.
    pub fn views(&self, tables: [&SiteTable; 2], coverage: &[Vec<u8>; 2]) -> Vec<SourceFile> {
        let mut views = Vec::new();
        for (at, side) in [(0, Side::Base), (1, Side::Head)] {
            let lines = executed_lines(tables[at], &coverage[at]);
            let mut changed: BTreeMap<&str, Vec<LineRange>> = BTreeMap::new();
            for change in &self.changes {
                let place = match side {
                    Side::Head => Some((change.file.as_str(), change.lines)),
                    Side::Base => change.base_file.as_deref().zip(change.base_lines),
                };
                if let Some((file, range)) = place {
                    changed.entry(file).or_default().push(range);
                }
            }
            for (file, range) in &self.others[at] {
                changed.entry(file).or_default().push(*range);
            }
            for (file, ranges) in changed {
                let Some(text) = self.texts[at].get(file) else {
                    continue;
                };
                let known = lines.get(file);
                let executable = known.into_iter().flatten().map(|(line, _)| *line).collect();
                let covered: BTreeSet<u32> = known
                    .into_iter()
                    .flatten()
                    .filter(|(_, executed)| **executed)
                    .map(|(line, _)| *line)
                    .collect();
                views.push(SourceFile::around_changes(
                    side,
                    file,
                    text.as_bytes(),
                    &ranges,
                    &executable,
                    &covered,
                    CONTEXT,
                ));
            }
        }
        views
    }

    /// A line of a version's source, without the space around it.
    pub fn line(&self, side: usize, file: &str, line: u32) -> Option<&str> {
        let text = self.texts[side].get(&source_name(file))?;
        text.lines()
            .nth(line.checked_sub(1)? as usize)
            .map(str::trim)
    }
}

impl Watcher for Regions {
    fn entered(&self, input: &Input) -> Vec<u32> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entered.get(&key(input)).cloned().unwrap_or_default()
    }

    fn changes(&self, input: &Input) -> Option<Vec<u32>> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = seen.entered.get(&key(input))?;
        Some(self.changes_of(parts))
    }

    fn ran(&self, input: &Input, runs: &[TracedRun<'_>; 2], occasion: Occasion) {
        if self.parts.is_empty() {
            return;
        }
        let executed = |side: usize, block: &usize| is_covered(&runs[side].trace, *block);
        let entered: Vec<u32> = (0u32..)
            .zip(&self.parts)
            .filter(|(_, part)| {
                (0..2).any(|side| part.blocks[side].iter().any(|block| executed(side, block)))
            })
            .map(|(number, _)| number)
            .collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if occasion == Occasion::Search {
            seen.searched += 1;
            let number = seen.searched;
            for change in self.changes_of(&entered) {
                seen.runs[change as usize] += 1;
                seen.first[change as usize].get_or_insert(number);
            }
        }
        if seen.entered.len() < REMEMBERED {
            seen.entered.insert(key(input), entered);
        }
    }
}

/// Whether a block has begun.
pub fn is_covered(trace: &TraceView<'_>, block: usize) -> bool {
    trace.coverage.get(block).is_some_and(|byte| *byte != 0)
}

fn key(input: &Input) -> Vec<Vec<u8>> {
    input
        .streams
        .iter()
        .map(|stream| stream.bytes.clone())
        .collect()
}

/// The lines of a change that an input entered, where each line of base has become one of head.
fn narrowed<'a>(
    change: &results::Change,
    parts: impl Iterator<Item = &'a Part>,
) -> results::Change {
    let mut narrow = change.clone();
    let (own, Some(base)) = (change.lines, change.base_lines) else {
        return narrow;
    };
    let lines: Vec<&str> = change.hunk.lines().collect();
    if base.count() != own.count() || lines.len() as u64 != 2 * own.count() {
        return narrow;
    }
    let (mut first, mut last) = (u32::MAX, 0);
    for part in parts {
        for (side, range) in [base, own].iter().enumerate() {
            for line in part.lines[side]
                .iter()
                .filter(|line| range.contains(**line))
            {
                let number = line - range.first;
                (first, last) = (first.min(number), last.max(number));
            }
        }
    }
    if first <= last {
        narrow.lines = LineRange::new(own.first + first, own.first + last);
        narrow.base_lines = Some(LineRange::new(base.first + first, base.first + last));
        let (removed, added) = lines.split_at(lines.len() / 2);
        let part = first as usize..=last as usize;
        let kept = removed[part.clone()].iter().chain(&added[part]);
        narrow.hunk = kept.map(|line| format!("{line}\n")).collect();
    }
    narrow
}

/// Where paths meet, instructions that only choose a value are modified along
/// with a branch before them; being there is not entering the change. Where they are all that was modified, the ways
/// count by which another value comes.
fn doing(program: &Program, sites: &[Site]) -> Vec<Site> {
    let chooses =
        |site: &&Site| matches!(program.instruction(**site).operation, Operation::Phi { .. });
    let doing = sites.iter().filter(|site| !chooses(site));
    doing.copied().collect()
}

/// Numbers of the coverage bytes of the blocks that hold these sites.
pub fn blocks_of(table: &SiteTable, sites: &[Site]) -> Vec<usize> {
    by_block(&starts(table), sites).into_keys().collect()
}

/// The first site of each block, and the number of its coverage byte.
fn starts(table: &SiteTable) -> Vec<(u32, usize)> {
    let blocks = table.blocks.iter().enumerate();
    let mut starts: Vec<(u32, usize)> = blocks
        .filter(|(_, block)| block.site != 0)
        .map(|(number, block)| (block.site, number))
        .collect();
    starts.sort_unstable();
    starts
}

/// Sites by the coverage bytes of the blocks that hold them.
fn by_block(starts: &[(u32, usize)], sites: &[Site]) -> BTreeMap<usize, Vec<Site>> {
    let mut blocks: BTreeMap<usize, Vec<Site>> = BTreeMap::new();
    for site in sites {
        let after = starts.partition_point(|(start, _)| *start <= site.0);
        if let Some(at) = after.checked_sub(1) {
            blocks.entry(starts[at].1).or_default().push(*site);
        }
    }
    blocks
}

/// For each source file the lines with code, and whether some run executed them.
fn executed_lines(table: &SiteTable, coverage: &[u8]) -> BTreeMap<String, BTreeMap<u32, bool>> {
    let mut lines: BTreeMap<String, BTreeMap<u32, bool>> = BTreeMap::new();
    let names: Vec<String> = table.files.iter().map(|file| source_name(file)).collect();
    for (number, block) in table.blocks.iter().enumerate() {
        let executed = coverage.get(number).is_some_and(|byte| *byte != 0);
        for &(file, line) in &block.lines {
            let Some(name) = names.get(file as usize).filter(|_| line > 0) else {
                continue;
            };
            let known = lines
                .entry(name.clone())
                .or_default()
                .entry(line)
                .or_default();
            *known |= executed;
        }
    }
    lines
}

/// The name under which a file appears in reports.
pub fn source_name(file: &str) -> String {
    match Built::source_name("", file) {
        Some(path) => path.display().to_string(),
        None => library_name(file).to_owned(),
    }
}

/// `library/core/src/…` of a file of Rust's own library, wherever its compiler was built.
fn library_name(file: &str) -> &str {
    let below = file.strip_prefix("/rustc/");
    let below = below.and_then(|rest| rest.split_once('/'));
    below.map_or(file, |(_, below)| below)
}

/// Texts of the version's own sources, by name.
pub fn texts(program: &Program, built: &Built) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for file in &program.files {
        let Some(name) = Built::source_name(&file.directory, &file.name) else {
            continue;
        };
        let path: PathBuf = built.source_root.join(&name);
        if let Ok(bytes) = std::fs::read(path) {
            texts.insert(
                name.display().to_string(),
                String::from_utf8_lossy(&bytes).into_owned(),
            );
        }
    }
    texts
}

pub fn by_number(program: &Program, texts: &BTreeMap<String, String>) -> HashMap<FileId, String> {
    let files = program.files.iter().enumerate();
    files
        .filter_map(|(number, file)| {
            let name = Built::source_name(&file.directory, &file.name)?;
            let text = texts.get(&name.display().to_string())?;
            Some((FileId::new(number), text.clone()))
        })
        .collect()
}

fn file_name(program: &Program, lines: Lines) -> String {
    let file = &program.files[lines.file.index()];
    match Built::source_name(&file.directory, &file.name) {
        Some(name) => name.display().to_string(),
        None => file.path().display().to_string(),
    }
}

fn line_range(lines: Lines) -> LineRange {
    let first = lines.first.max(1);
    LineRange::new(first, first.max(lines.last()))
}

/// A change as reports show it.
fn described(
    change: &Change,
    set: &ChangeSet,
    programs: [&Program; 2],
    texts: &[BTreeMap<String, String>; 2],
) -> results::Change {
    let mut sides = Extent::of(change, set, programs, texts).lines;
    let hunk = change.hunk.map(|hunk| set.hunk(hunk));
    // Where it would be in head, if there is nothing of it.
    sides[1] = sides[1].or(hunk.map(|hunk| hunk.head));
    let is_written = hunk.is_some() || change.base.lines.or(change.head.lines).is_some();
    let name = |side: usize, lines: Lines| file_name(programs[side], lines);
    let base = sides[0].filter(|lines| lines.count > 0);
    let head = sides[1];
    // What is gone from head shows up where it was.
    let shown = head
        .map(|lines| (1, lines))
        .or(sides[0].map(|lines| (0, lines)));
    let function = change
        .head
        .function
        .map(|id| programs[1].function(id).name.clone())
        .or_else(|| {
            change
                .base
                .function
                .map(|id| programs[0].function(id).name.clone())
        });
    let mut text = String::new();
    for (side, lines, sign) in [(0, sides[0], '-'), (1, sides[1], '+')] {
        let Some(lines) = lines.filter(|lines| lines.count > 0 && is_written) else {
            continue;
        };
        let Some(source) = texts[side].get(&name(side, lines)) else {
            continue;
        };
        let first = lines.first.saturating_sub(1) as usize;
        for line in source.lines().skip(first).take(lines.count as usize) {
            text.push_str(&format!("{sign}{line}\n"));
        }
    }
    results::Change {
        id: change.id.0 + 1,
        file: shown.map_or_else(String::new, |(side, lines)| name(side, lines)),
        lines: shown.map_or(LineRange::new(1, 1), |(_, lines)| line_range(lines)),
        base_file: base.map(|lines| name(0, lines)),
        base_lines: base.map(line_range),
        function: function.unwrap_or_default(),
        hunk: text,
        runs: None,
        first_run: None,
        unreachable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_library_have_short_names() {
        let hash = "59807616e1fa2540724bfbac14d7976d7e4a3860";
        let long = format!("/rustc/{hash}/library/core/src/num/mod.rs");
        assert_eq!(source_name(&long), "library/core/src/num/mod.rs");
        assert_eq!(source_name("/usr/include/stdio.h"), "/usr/include/stdio.h");
        assert_eq!(source_name("/rustc/odd"), "/rustc/odd");
    }
}
