//! Functions as people name them.

use crate::exit::Code;
use crate::failure::Failure;
use crate::settings::distance;
use changeling_program::{FunctionId, FunctionName, Program};
use std::collections::BTreeSet;
use std::path::Path;

/// A function by its symbol, its full name, or the end of it, with or without its file before it.
pub fn find(program: &Program, name: &str) -> Result<FunctionId, Failure> {
    let (ids, name) = match within_file(program, name) {
        Some((ids, name)) => (ids, name),
        None => (program.definitions().collect(), name),
    };
    let alike: Vec<FunctionId> = (ids.iter().copied())
        .filter(|&id| program.function(id).name == name)
        .collect();
    let files: Option<BTreeSet<String>> = alike.iter().map(|&id| file(program, id)).collect();
    if let Some(files) = files.filter(|files| files.len() > 1) {
        let names: Vec<String> = files.iter().map(|file| format!("{file}:{name}")).collect();
        return Err(Failure {
            code: Code::USAGE,
            what: format!("{} functions are called `{name}`", alike.len()),
            place: None,
            help: Some(format!("give the file, too: {}", names.join(", "))),
            output: None,
        });
    }
    let names: Vec<FunctionName> = ids
        .iter()
        .map(|&id| FunctionName {
            symbol: program.function(id).symbol.clone(),
            name: program.function(id).name.clone(),
        })
        .collect();
    let mut functions = program.functions.iter();
    let declared = functions.any(|function| function.symbol == name);
    find_named(&names, name, declared).map(|at| ids[at])
}

/// The functions of a file, and the name among these, of `FILE:NAME`.
fn within_file<'a>(program: &Program, name: &'a str) -> Option<(Vec<FunctionId>, &'a str)> {
    let (wanted, rest) = name.split_once(':')?;
    let is_own =
        |&id: &FunctionId| file(program, id).is_some_and(|own| Path::new(&own).ends_with(wanted));
    let ids: Vec<FunctionId> = program.definitions().filter(is_own).collect();
    (!wanted.is_empty() && !ids.is_empty()).then_some((ids, rest))
}

/// The file that a function is written in, as the compiler was given it.
fn file(program: &Program, id: FunctionId) -> Option<String> {
    let place = program.function(id).place?;
    Some(program.file(place.file).name.clone())
}

/// The same in a list; `declared` if a function of this name comes from elsewhere.
pub fn find_named(names: &[FunctionName], name: &str, declared: bool) -> Result<usize, Failure> {
    let rounds: [&dyn Fn(&FunctionName) -> bool; 4] = [
        &|function| function.symbol == name,
        &|function| function.name == name,
        &|function| bare(&function.name) == name,
        &|function| bare(&function.name).ends_with(&format!("::{name}")),
    ];
    for matches in rounds {
        let found: Vec<usize> = (0..names.len()).filter(|&at| matches(&names[at])).collect();
        match found[..] {
            [] => {}
            [only] => return Ok(only),
            _ => {
                let names: Vec<String> = found
                    .iter()
                    .take(12)
                    .map(|&at| format!("{} ({})", names[at].name, names[at].symbol))
                    .collect();
                return Err(Failure {
                    code: Code::USAGE,
                    what: format!("{} functions are called `{name}`", found.len()),
                    place: None,
                    help: Some(format!(
                        "give the full name or the symbol: {}",
                        names.join("; ")
                    )),
                    output: None,
                });
            }
        }
    }
    let near = nearest(names, name);
    Err(Failure {
        code: Code::USAGE,
        what: match declared {
            true => format!("`{name}` has no body in this program: it comes from a library"),
            false => format!("there is no function `{name}`"),
        },
        place: None,
        help: Some(match near.is_empty() {
            true => "the program has no function with a similar name; a `static` one that nothing uses is not compiled".into(),
            false => format!("similar names: {}", near.join(", ")),
        }),
        output: None,
    })
}

/// Up to five names, the most similar first.
fn nearest(names: &[FunctionName], name: &str) -> Vec<String> {
    let last = |full: &str| bare(full).rsplit("::").next().unwrap_or("").to_owned();
    let wanted = last(name);
    let mut ranked: Vec<(usize, String)> = names
        .iter()
        .map(|function| function.name.clone())
        .map(|full| {
            let own = last(&full);
            let within = own.contains(&wanted) || wanted.contains(&own);
            let far = distance(&wanted, &own).min(distance(name, &full));
            (if within { far.min(2) } else { far }, full)
        })
        .filter(|(far, _)| *far <= 2 + wanted.chars().count() / 3)
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(5).map(|(_, name)| name).collect()
}

/// A name without parameters and unnamed namespaces.
fn bare(full: &str) -> String {
    let full = full.replace("(anonymous namespace)::", "");
    full.split('(').next().unwrap_or("").to_owned()
}
