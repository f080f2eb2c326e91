//! Functions as people name them.

use crate::exit::Code;
use crate::failure::Failure;
use crate::settings::distance;
use changeling_program::{FunctionId, FunctionName, Program};
use std::collections::BTreeSet;
use std::path::Path;

/// The functions that a name means: all that the compiler has made of one that the source has once, such as what a
/// header defines for each file, the variants of a constructor, and those of a template.
pub fn find_all(program: &Program, name: &str) -> Result<Vec<FunctionId>, Failure> {
    let (ids, own) = candidates(program, name);
    let names = names_of(program, &ids);
    let found: Vec<FunctionId> = matching(&names, own).iter().map(|&at| ids[at]).collect();
    let of = |id: FunctionId| program.function(id);
    let Some(place) = found.first().and_then(|&id| of(id).place) else {
        return find(program, name).map(|id| vec![id]);
    };
    let is_there = |&id: &FunctionId| of(id).place == Some(place);
    // A symbol that is no name of the source means one of them.
    let by_symbol = |&id: &FunctionId| of(id).symbol == own && of(id).name != own;
    if found.iter().any(by_symbol) {
        return Ok(found);
    }
    let known: BTreeSet<&str> = found.iter().map(|&id| of(id).name.as_str()).collect();
    let is_known = |id: &FunctionId| known.contains(of(*id).name.as_str());
    let copies: Vec<FunctionId> = ids.iter().copied().filter(is_known).collect();
    match copies.iter().all(is_there) {
        true => Ok(copies),
        false => find(program, name).map(|id| vec![id]),
    }
}

/// A function by its symbol, its full name, or the end of it, with or without its file before it.
pub fn find(program: &Program, name: &str) -> Result<FunctionId, Failure> {
    let (ids, name) = candidates(program, name);
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
    let names = names_of(program, &ids);
    let mut functions = program.functions.iter();
    let declared = functions.any(|function| function.symbol == name);
    find_named(&names, name, declared).map(|at| ids[at])
}

fn names_of(program: &Program, ids: &[FunctionId]) -> Vec<FunctionName> {
    let name = |&id: &FunctionId| FunctionName {
        symbol: program.function(id).symbol.clone(),
        name: program.function(id).name.clone(),
    };
    ids.iter().map(name).collect()
}

/// The functions among which a name is looked for, and the name without its file.
fn candidates<'a>(program: &Program, name: &'a str) -> (Vec<FunctionId>, &'a str) {
    within_file(program, name).unwrap_or_else(|| (program.definitions().collect(), name))
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
    match matching(names, name)[..] {
        [] => {}
        [only] => return Ok(only),
        ref found => {
            let list: Vec<String> = found
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
                    list.join("; ")
                )),
                output: None,
            });
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

/// The functions that a name fits best: as it is, without parameters, without what templates were made for, and the
/// end of these.
fn matching(names: &[FunctionName], name: &str) -> Vec<usize> {
    let wanted = name.replace(UNNAMED, "");
    let end = format!("::{wanted}");
    let is = |own: &str| own == wanted;
    let ends = |own: &str| own.ends_with(&end);
    let rounds: [&dyn Fn(&FunctionName) -> bool; 7] = [
        &|function| function.symbol == name,
        &|function| function.name == name,
        &|function| is(bare(&function.name).0.as_str()),
        &|function| ends(&bare(&function.name).0),
        &|function| is(&plain(&function.name)),
        &|function| ends(&plain(&function.name)),
        &|function| {
            let (own, parameters) = bare(&function.name);
            let own = own + parameters.trim_end_matches(" const");
            is(&own) || ends(&own)
        },
    ];
    let mut found = rounds.iter().map(|fits| {
        let all = 0..names.len();
        all.filter(|&at| fits(&names[at])).collect::<Vec<usize>>()
    });
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Up to five names, the most similar first.
fn nearest(names: &[FunctionName], name: &str) -> Vec<String> {
    let last = |full: &str| plain(full).rsplit("::").next().unwrap_or("").to_owned();
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

/// What stands for a namespace without a name.
const UNNAMED: &str = "(anonymous namespace)::";

/// A name without unnamed namespaces and what is returned, and its parameters with what follows them.
fn bare(full: &str) -> (String, String) {
    let full = full.replace(UNNAMED, "");
    let operator = operator(&full);
    let from = operator.map_or(0, |(_, end)| end);
    let end = outside(&full[from..], '(').next();
    let (name, parameters) = full.split_at(end.map_or(full.len(), |end| from + end));
    // Of templates it is told what they return, before the name.
    let head = operator.map_or(name, |(start, _)| &name[..start]);
    let start = outside(head, ' ').last().map_or(0, |space| space + 1);
    (name[start..].to_owned(), parameters.to_owned())
}

/// Where the name of an operator begins and ends: it may have brackets.
fn operator(full: &str) -> Option<(usize, usize)> {
    const WORD: &str = "operator";
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut all = full.match_indices(WORD).map(|(start, _)| start);
    let start = all.find(|&start| {
        let rest = &full[start + WORD.len()..];
        !full[..start].ends_with(is_part) && !rest.starts_with(is_part)
    })?;
    let symbol = start + WORD.len();
    let rest = &full[symbol..];
    let length = match rest.strip_prefix("()") {
        Some(_) => 2,
        None => rest.find('(').unwrap_or(rest.len()),
    };
    Some((start, symbol + length))
}

/// Where a character stands outside of brackets.
fn outside(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut depth = 0;
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, c)| {
        let found = depth == 0 && c == wanted;
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            // Of an arrow, in types of functions.
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = c;
        found.then_some(at)
    })
}

/// A name without what its templates were made for. Of a method of a trait it is the one of its type.
fn plain(full: &str) -> String {
    let (name, _) = bare(full);
    if operator(&name).is_some() {
        return name;
    }
    if let Some(rest) = name.strip_prefix('<')
        && let Some(end) = closing(rest)
    {
        let (own, rest) = (&rest[..end], &rest[end + 1..]);
        let mut spaces = outside(own, ' ');
        let end = spaces.find(|&space| own[space..].starts_with(" as "));
        return plain(&own[..end.unwrap_or(own.len())]) + &plain(rest);
    }
    let mut left = String::new();
    let mut rest = name.as_str();
    while let Some(start) = rest.find('<') {
        left.push_str(rest[..start].trim_end_matches("::"));
        let inner = &rest[start + 1..];
        rest = closing(inner).map_or("", |end| &inner[end + 1..]);
    }
    left + rest
}

/// Where the bracket that was opened before is closed.
fn closing(inner: &str) -> Option<usize> {
    let text = format!("<{inner}");
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at - 1);
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_source_has_them() {
        for (full, own, without) in [
            ("main", "main", "main"),
            ("shop::price(int)", "shop::price", "shop::price"),
            ("int pick<int>(int, int)", "pick<int>", "pick"),
            ("Box<int>::get() const", "Box<int>::get", "Box::get"),
            (
                "std::vector<int>& all<a::B<int> >(int (*)(int))",
                "all<a::B<int> >",
                "all",
            ),
            (
                "shop::(anonymous namespace)::hidden(int)",
                "shop::hidden",
                "shop::hidden",
            ),
            (
                "main::$_0::operator()(int) const",
                "main::$_0::operator()",
                "main::$_0::operator()",
            ),
            (
                "bool operator< <int>(Box<int> const&)",
                "operator< <int>",
                "operator< <int>",
            ),
            (
                "A::operator bool() const",
                "A::operator bool",
                "A::operator bool",
            ),
            ("operators::next(int)", "operators::next", "operators::next"),
            (
                "<program::Neg as program::Cmd>::run",
                "<program::Neg as program::Cmd>::run",
                "program::Neg::run",
            ),
            (
                "<alloc::vec::Vec<u8>>::push",
                "<alloc::vec::Vec<u8>>::push",
                "alloc::vec::Vec::push",
            ),
            (
                "core::ops::call::<fn(u8) -> u8>::{closure#0}",
                "core::ops::call::<fn(u8) -> u8>::{closure#0}",
                "core::ops::call::{closure#0}",
            ),
        ] {
            assert_eq!(bare(full).0, own, "{full}");
            assert_eq!(plain(full), without, "{full}");
        }
    }

    #[test]
    fn the_best_fit_goes_first() {
        let all = [
            "int pick<int>(int, int)",
            "double pick<double>(double, double)",
            "Rect::area() const",
            "Square::area() const",
            "<program::Neg as program::Cmd>::run",
        ];
        let names = all.map(|name| FunctionName {
            symbol: format!("_{name}"),
            name: name.into(),
        });
        for (name, found) in [
            ("pick", &[0, 1][..]),
            ("pick<int>", &[0]),
            ("pick<int>(int, int)", &[0]),
            ("area", &[2, 3]),
            ("Rect::area()", &[2]),
            ("Neg::run", &[4]),
            ("ick", &[]),
            ("", &[]),
        ] {
            assert_eq!(matching(&names, name), found, "{name}");
        }
    }
}
