//! Whether two programs are versions of one: which functions of their own they have in common.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use changeling_program::{FileId, Function, FunctionId, Place, Program, is_rust};

use crate::functions::Match;
use crate::libraries::{OWN_CRATES, compiler_root};
use crate::{Reason, Sources};

/// Functions under other names must be this part of the smaller version: some are always alike.
const SHARE: f64 = 0.5;

/// Whether a function of the program has the same name in both, or a good part of one is in the other
/// under other names. What both have from libraries does not count.
pub fn are_versions_of_one(
    (base, head): (&Program, &Program),
    sources: &Sources,
    matches: &[Match],
) -> bool {
    let own = [
        own_functions(base, &sources.base),
        own_functions(head, &sources.head),
    ];
    let size = |program: &Program, id: FunctionId| program.function(id).site_count;
    let mut alike = 0;
    for pair in matches {
        if !own[0].contains(&pair.base) || !own[1].contains(&pair.head) {
            continue;
        }
        match pair.reason {
            Reason::Name | Reason::NameOnly => return true,
            Reason::Renamed | Reason::Similarity => {
                alike += size(base, pair.base).min(size(head, pair.head));
            }
        }
    }
    let whole = |program: &Program, own: &BTreeSet<FunctionId>| -> u32 {
        own.iter().map(|&id| size(program, id)).sum()
    };
    let smaller = whole(base, &own[0]).min(whole(head, &own[1]));
    alike > 0 && f64::from(alike) >= SHARE * f64::from(smaller)
}

/// The functions that are written in a version itself, not in a library. `texts`: the version's own files.
pub fn own_functions(program: &Program, texts: &HashMap<FileId, String>) -> BTreeSet<FunctionId> {
    let is_own = |function: &Function| match function.place {
        Some(place) if texts.is_empty() => {
            compiler_root(&program.file(place.file).path()).is_none()
        }
        Some(place) => texts.contains_key(&place.file),
        // What a compiler makes up, such as the `main` around that of a Rust program, stands nowhere.
        None => texts.is_empty() && !is_of_rusts_library(function),
    };
    let defined = program.definitions();
    defined.filter(|&id| is_own(program.function(id))).collect()
}

fn is_of_rusts_library(function: &Function) -> bool {
    let name = function.name.trim_start_matches(['<', '&']);
    let leads = |part: &str| {
        let rest = name.strip_prefix(part);
        rest.is_some_and(|rest| rest.starts_with("::"))
    };
    is_rust(&function.symbol) && OWN_CRATES.into_iter().any(leads)
}

/// Whether a function was written in Rust. Code of other languages is never similar but by chance.
pub fn is_in_rust(program: &Program, function: &Function) -> bool {
    let extension = |place: Place| {
        let name = &program.file(place.file).name;
        Path::new(name).extension().is_some_and(|end| end == "rs")
    };
    is_rust(&function.symbol) || function.place.is_some_and(extension)
}
