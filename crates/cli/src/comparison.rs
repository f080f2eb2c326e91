//! Two versions, built, read and compared; and the comparison in words.

use crate::exit::Code;
use crate::extent::{Extent, of_function};
use crate::failure::Failure;
use crate::regions::{by_number, texts};
use crate::version::read_program;
use crate::versions::Named;
use changeling_analysis::{Graphs, Passage};
use changeling_build::{BuildOptions, Built, Source, build};
use changeling_changes::quiet::{self, Part, Stripped};
use changeling_changes::{
    Change, ChangeKind, ChangeSet, FunctionMatch, Hunk, Lines, Reason, Sources, Subject, compare,
    own_functions,
};
use changeling_explore::Side;
use changeling_program::{File, FileId, FunctionId, Place, Program, Site, demangle};
use changeling_report::wording;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

pub struct Compared {
    pub programs: [Program; 2],
    /// Source texts, by name.
    pub texts: [BTreeMap<String, String>; 2],
    pub set: ChangeSet,
}

impl Compared {
    pub fn new(sides: &[Named; 2], options: &BuildOptions) -> Result<Compared, Failure> {
        let [base, head] = std::thread::scope(|scope| {
            let sides = [&sides[0], &sides[1]];
            let reads = sides.map(|side| scope.spawn(|| load(&side.source, options)));
            reads.map(|read| match read.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        });
        let of = |side: usize, name: &str, failure: Failure| Failure {
            what: format!("{} ({name}, {})", failure.what, sides[side].label),
            ..failure
        };
        let (base, base_texts) = base.map_err(|failure| of(0, "base", failure))?;
        let (head, head_texts) = head.map_err(|failure| of(1, "head", failure))?;
        let sources = Sources {
            base: by_number(&base, &base_texts),
            head: by_number(&head, &head_texts),
        };
        let set = compare(&base, &head, &sources);
        if set.foreign {
            let side = |at: usize| {
                let (program, texts) = [(&base, &sources.base), (&head, &sources.head)][at];
                Stranger::new(&sides[at].label, program, texts)
            };
            return Err(nothing_in_common(&side(0), &side(1)));
        }
        Ok(Compared {
            programs: [base, head],
            texts: [base_texts, head_texts],
            set,
        })
    }
}

/// A version that is none of the other's program.
struct Stranger<'a> {
    label: &'a str,
    /// Names of functions.
    own: Vec<String>,
}

impl<'a> Stranger<'a> {
    fn new(label: &'a str, program: &Program, texts: &HashMap<FileId, String>) -> Stranger<'a> {
        let own = own_functions(program, texts).into_iter();
        let mut own: Vec<String> = own.map(|id| program.function(id).name.clone()).collect();
        own.sort_unstable();
        own.dedup();
        Stranger { label, own }
    }

    fn text(&self) -> String {
        const SHOWN: usize = 4;
        let mut names = self.own.iter().take(SHOWN).cloned().collect::<Vec<_>>();
        if self.own.len() > SHOWN {
            names.push("…".into());
        }
        let count = wording::plural(self.own.len() as u64, "function", "functions");
        format!("{} has {count} ({})", self.label, names.join(", "))
    }
}

fn nothing_in_common(base: &Stranger<'_>, head: &Stranger<'_>) -> Failure {
    Failure {
        code: Code::NOTHING_IN_COMMON,
        what: format!(
            "{} and {} have no function of their own in common: these are two programs, not two versions of one",
            base.label, head.label
        ),
        place: Some(format!("{}; {}", base.text(), head.text())),
        help: Some(
            "see whether both versions are meant, and the same program of each (--program); \
             `changeling run` compares any two programs by what they do"
                .into(),
        ),
        output: None,
    }
}

/// Builds a version and reads its program and sources.
pub fn load(
    source: &Source,
    options: &BuildOptions,
) -> Result<(Program, BTreeMap<String, String>), Failure> {
    let options = BuildOptions {
        code_only: options.harness.is_none(),
        ..options.clone()
    };
    let built = build(source, &options)?;
    let program = read_program(&built).map_err(|error| Failure {
        code: Code::CANNOT_RUN,
        what: format!("the program cannot be read: {error}"),
        place: Some(built.bitcode.display().to_string()),
        help: Some("remove the cache directory and try again".into()),
        output: None,
    })?;
    let mut program = program;
    let mut texts = texts(&program, &built);
    add_headers(&mut program, &mut texts, &built.source_root);
    Ok((program, texts))
}

/// Files that sources include and that left no code, such as headers with macros:
/// debug information does not name them.
fn add_headers(program: &mut Program, texts: &mut BTreeMap<String, String>, root: &Path) {
    let mut work: Vec<String> = texts.keys().cloned().collect();
    while let Some(name) = work.pop() {
        let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
        let included: Vec<PathBuf> = texts[&name]
            .lines()
            .filter_map(|line| {
                let rest = line.trim_start().strip_prefix('#')?.trim_start();
                let rest = rest.strip_prefix("include")?.trim_start();
                let path = rest.strip_prefix('"')?.split('"').next()?;
                Some(folder.join(path))
            })
            .collect();
        for path in included {
            let tidy = Built::source_name(".", &path.display().to_string());
            let Some(tidy) = tidy.map(|path| path.display().to_string()) else {
                continue;
            };
            if texts.contains_key(&tidy) {
                continue;
            }
            if let Ok(bytes) = std::fs::read(root.join(&tidy)) {
                texts.insert(tidy.clone(), String::from_utf8_lossy(&bytes).into_owned());
                program.files.push(File {
                    name: tidy.clone(),
                    directory: ".".into(),
                });
                work.push(tidy);
            }
        }
    }
}

/// All that `changeling diff` says.
#[derive(Serialize)]
pub struct Report {
    pub format: u32,
    pub base: String,
    pub head: String,
    pub changes: Vec<Entry>,
    /// Functions whose name or file differs and whose code does not.
    pub renamed: Vec<Renamed>,
    /// Functions that only one version uses, and whose text both have.
    pub demanded: Vec<Demanded>,
    /// Functions of Rust's library that are taken for the same although their code differs: one copy may
    /// come compiled, or flags of the compiler may be others.
    pub assumed: Vec<String>,
    /// Textual differences without effect on the code.
    pub quiet: Vec<QuietEntry>,
}

#[derive(Serialize)]
pub struct Entry {
    /// The change's number in reports of `run`; functions that only one version
    /// has are no changes by themselves there.
    pub id: Option<u32>,
    pub kind: ChangeKind,
    pub subject: What,
    pub name: String,
    pub base: Option<Range>,
    pub head: Option<Range>,
    /// Lines of base with `-` and of head with `+`.
    pub hunk: String,
    /// Code that the lines act on, if it is elsewhere.
    pub affects: Vec<Affected>,
    /// Whether a run can come there, in either version.
    pub reachable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Code,
    Variable,
    Function,
}

#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Range {
    pub file: String,
    pub first: u32,
    /// Before `first` if there are no lines: then it is the place before `first`.
    pub last: u32,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Affected {
    pub function: String,
    pub file: String,
    pub line: u32,
}

#[derive(Serialize)]
pub struct Renamed {
    pub base: String,
    pub head: String,
}

#[derive(Serialize)]
pub struct Demanded {
    pub name: String,
    /// The version that uses it, `base` or `head`.
    pub by: Side,
}

#[derive(Serialize)]
pub struct QuietEntry {
    pub base: Range,
    pub head: Range,
    pub reason: quiet::Quiet,
    pub hunk: String,
}

impl Compared {
    pub fn report(&self, labels: [&str; 2]) -> Report {
        let mut changes: Vec<Entry> = Vec::new();
        let live = (!self.is_unchanged()).then(|| {
            [0, 1].map(|side| {
                let graphs = Graphs::new(&self.programs[side]);
                let passage = Passage::new(&self.programs[side], &graphs);
                (graphs, passage)
            })
        });
        let is_live = |side: usize, sites: &[Site]| {
            live.as_ref().is_none_or(|live| {
                let (graphs, passage) = &live[side];
                sites.iter().any(|&site| passage.is_live(graphs, site))
            })
        };
        for change in &self.set.changes {
            let entry = |side: Option<Site>| side.into_iter().collect::<Vec<_>>();
            let reachable = is_live(0, &change.base.modified)
                || is_live(1, &change.head.modified)
                || is_live(1, &entry(change.head.entry));
            changes.push(self.entry(change, reachable));
        }
        let lone = [
            (0, ChangeKind::Deleted, &self.set.deleted),
            (1, ChangeKind::Added, &self.set.added),
        ];
        for (side, kind, functions) in lone {
            let demanded = &self.set.demanded[side];
            for &id in functions.iter().filter(|id| !demanded.contains(id)) {
                let first = self.programs[side].function(id).first_site;
                changes.push(self.lone(side, kind, id, is_live(side, &[first])));
            }
        }
        Report {
            format: 1,
            base: labels[0].to_owned(),
            head: labels[1].to_owned(),
            changes,
            renamed: self.renamed(),
            demanded: self.demanded(),
            assumed: self.assumed(),
            quiet: self.quiet(),
        }
    }

    pub fn is_unchanged(&self) -> bool {
        let set = &self.set;
        set.changes.is_empty() && set.added.is_empty() && set.deleted.is_empty()
    }

    fn entry(&self, change: &Change, reachable: bool) -> Entry {
        let sides = [&change.base, &change.head];
        // A hunk may go over several functions; each shows its own part.
        let Extent { lines, inside } =
            Extent::of(change, &self.set, self.programs.each_ref(), &self.texts);
        let is_written = change.hunk.is_some() || sides.iter().any(|side| side.lines.is_some());
        let affected = |side: usize| {
            let program = &self.programs[side];
            let places = sides[side].modified.iter().filter_map(|&site| {
                let place = program.place(site)?;
                let function = program.function(program.function_of(site));
                let within = inside || matches(self, side, place, lines[side]);
                (!within).then(|| Affected {
                    function: function.name.clone(),
                    file: self.file(side, place),
                    line: place.line,
                })
            });
            places.collect::<BTreeSet<_>>()
        };
        let mut affects = affected(1);
        if affects.is_empty() {
            affects = affected(0);
        }
        let function = |side: usize| {
            let id = sides[side].function?;
            Some(self.programs[side].function(id).name.clone())
        };
        let (subject, name) = match &change.subject {
            Subject::Global { name, .. } => (What::Variable, demangle(name)),
            Subject::Code => {
                let name = function(1).or_else(|| function(0));
                (What::Code, name.unwrap_or_default())
            }
        };
        Entry {
            id: Some(change.id.0 + 1),
            kind: change.kind,
            subject,
            name,
            base: lines[0].map(|lines| self.range(0, lines)),
            head: lines[1].map(|lines| self.range(1, lines)),
            hunk: match is_written {
                true => self.hunk_text(lines),
                false => String::new(),
            },
            affects: affects.into_iter().collect(),
            reachable,
        }
    }

    fn lone(&self, side: usize, kind: ChangeKind, id: FunctionId, reachable: bool) -> Entry {
        let lines = of_function(&self.programs[side], id);
        let mut ranges = [None, None];
        ranges[side] = lines;
        Entry {
            id: None,
            kind,
            subject: What::Function,
            name: self.programs[side].function(id).name.clone(),
            base: ranges[0].map(|lines| self.range(0, lines)),
            head: ranges[1].map(|lines| self.range(1, lines)),
            hunk: self.hunk_text(ranges),
            affects: Vec::new(),
            reachable,
        }
    }

    fn renamed(&self) -> Vec<Renamed> {
        let pairs = self.set.functions.iter();
        let of_library: HashSet<FunctionId> = self.set.library[0].iter().copied().collect();
        let is_renamed = |pair: &&FunctionMatch| match pair.reason {
            Reason::Similarity => true,
            // Made for a type that has another name now: nobody renamed it.
            Reason::Renamed => !of_library.contains(&pair.base),
            Reason::Name | Reason::NameOnly => false,
        };
        let renamed = pairs.filter(|pair| is_renamed(pair) && pair.unchanged);
        // What initialises the variables of a file in C++ has a name by that file, which nobody gave it.
        let is_made_up = |pair: &&FunctionMatch| {
            let symbol = &self.programs[0].function(pair.base).symbol;
            symbol.starts_with("_GLOBAL__")
        };
        renamed
            .filter(|pair| !is_made_up(pair))
            .map(|pair| Renamed {
                base: self.programs[0].function(pair.base).name.clone(),
                head: self.programs[1].function(pair.head).name.clone(),
            })
            .collect()
    }

    fn demanded(&self) -> Vec<Demanded> {
        let both = Side::BOTH.into_iter();
        let all = both.flat_map(|by| {
            let program = &self.programs[by.index()];
            let own = self.set.demanded[by.index()].iter();
            own.map(move |&id| Demanded {
                name: program.function(id).name.clone(),
                by,
            })
        });
        all.collect()
    }

    fn assumed(&self) -> Vec<String> {
        let functions = self.set.assumed.iter();
        let mut names: Vec<String> = functions
            .map(|&id| self.programs[0].function(id).name.clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn quiet(&self) -> Vec<QuietEntry> {
        let mut files: [HashMap<String, Stripped>; 2] = [HashMap::new(), HashMap::new()];
        for (side, files) in files.iter_mut().enumerate() {
            for (name, text) in &self.texts[side] {
                files.insert(name.clone(), Stripped::new(text));
            }
        }
        let part = |side: usize, lines: Lines| {
            let file = files[side].get(&self.file_of(side, lines))?;
            Some(Part {
                file,
                first: lines.first,
                count: lines.count,
            })
        };
        let parts = |hunk: &Hunk| Some((part(0, hunk.base)?, part(1, hunk.head)?));
        let all: Vec<_> = self.set.hunks.iter().filter_map(parts).collect();
        let mut quiet = Vec::new();
        for hunk in self.set.quiet_hunks() {
            let Some((base, head)) = parts(hunk) else {
                continue;
            };
            quiet.push(QuietEntry {
                base: self.range(0, hunk.base),
                head: self.range(1, hunk.head),
                reason: quiet::reason(base, head, &all),
                hunk: self.hunk_text([Some(hunk.base), Some(hunk.head)]),
            });
        }
        quiet
    }

    pub fn file(&self, side: usize, place: Place) -> String {
        file_name(&self.programs[side], place)
    }

    fn file_of(&self, side: usize, lines: Lines) -> String {
        let (file, line) = (lines.file, lines.first);
        self.file(side, Place { file, line })
    }

    fn range(&self, side: usize, lines: Lines) -> Range {
        Range {
            file: self.file_of(side, lines),
            first: lines.first,
            last: lines.last(),
        }
    }

    fn hunk_text(&self, sides: [Option<Lines>; 2]) -> String {
        let mut text = String::new();
        for (side, sign) in [(0, '-'), (1, '+')] {
            let Some(lines) = sides[side].filter(|lines| lines.count > 0) else {
                continue;
            };
            let Some(source) = self.texts[side].get(&self.file_of(side, lines)) else {
                continue;
            };
            let first = lines.first.saturating_sub(1) as usize;
            for line in source.lines().skip(first).take(lines.count as usize) {
                text.push_str(&format!("{sign}{line}\n"));
            }
        }
        text
    }
}

/// Whether a place lies in the lines.
fn matches(compared: &Compared, side: usize, place: Place, lines: Option<Lines>) -> bool {
    lines.is_some_and(|lines| {
        lines.contains(place.line) && compared.file_of(side, lines) == compared.file(side, place)
    })
}

/// The name under which a file appears.
pub fn file_name(program: &Program, place: Place) -> String {
    let file = program.file(place.file);
    match Built::source_name(&file.directory, &file.name) {
        Some(name) => name.display().to_string(),
        None => file.path().display().to_string(),
    }
}
