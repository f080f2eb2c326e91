//! Types and namespaces that have another name now, as the symbols of what belongs to them tell: a class that is
//! renamed gives another symbol to each of its methods, to every function that takes one, and to its tables.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// In groups of more functions of one form no pairs are looked for.
const LARGEST_GROUP: usize = 64;
/// Functions that have more in common are most likely the same.
const SIMILAR: f64 = 0.5;

/// What base calls a type, and what head does.
#[derive(Default)]
pub struct Renaming(BTreeMap<String, String>);

/// A function that has no partner by name.
pub struct Alone {
    /// Its symbol without what builds make up.
    pub name: String,
    /// What it was made for, as the source has it.
    pub instance: String,
    /// The name as the source has it.
    pub shown: String,
    pub signature: u64,
}

impl Alone {
    fn is_entry(&self) -> bool {
        self.shown.rsplit("::").next() == Some("main")
    }
}

impl Renaming {
    /// Pairs of names that make functions of one version those of the other. `similarity` is that of two functions, by their
    /// places in the lists; `known` are names that functions of the other version have; `distinct` are names
    /// of what is there twice.
    pub fn find(
        [base, head]: [&[Alone]; 2],
        known: [&HashSet<&str>; 2],
        distinct: &HashSet<(String, String)>,
        similarity: impl Fn(usize, usize) -> f64,
    ) -> Renaming {
        let own = [wanted(base, known[1]), wanted(head, known[0])];
        if own.iter().any(BTreeSet::is_empty) {
            return Renaming::default();
        }
        let [left, right] = [forms(base, &own[0]), forms(head, &own[1])];
        let two = distinct.iter();
        let two = two.map(|(old, new)| (old.as_str(), new.as_str()));
        let two: HashSet<(&str, &str)> = two.collect();
        let mut votes: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for (form, left) in &left {
            let Some(right) = right.get(form) else {
                continue;
            };
            if left.len().max(right.len()) > LARGEST_GROUP {
                continue;
            }
            for (l, old) in left {
                for (r, new) in right {
                    let similarity = similarity(*l, *r);
                    // Every program has one, so the name says nothing.
                    if base[*l].is_entry() && similarity < SIMILAR {
                        continue;
                    }
                    let weight = 1.0 + similarity;
                    let pairs: BTreeSet<(&str, &str)> =
                        old.iter().copied().zip(new.iter().copied()).collect();
                    for pair in pairs.into_iter().filter(|pair| !two.contains(pair)) {
                        *votes.entry(pair).or_default() += weight;
                    }
                }
            }
        }
        let mut ranked: Vec<((&str, &str), f64)> = votes.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut renaming = Renaming::default();
        let mut taken = HashSet::new();
        for ((old, new), _) in ranked {
            if !renaming.0.contains_key(old) && taken.insert(new) {
                renaming.0.insert(old.to_owned(), new.to_owned());
            }
        }
        renaming.keep_likely([base, head]);
        renaming
    }

    /// One type that went and another that came share a method or two. The same type has most in common.
    fn keep_likely(&mut self, [base, head]: [&[Alone]; 2]) {
        let renamed: HashSet<(String, String)> = base.iter().map(|own| self.copy(own)).collect();
        let there: HashSet<(String, String)> = head
            .iter()
            .map(|own| (own.name.clone(), own.instance.clone()))
            .collect();
        self.0.retain(|old, new| {
            let of = |list: &[Alone], name: &str| -> usize {
                let mentions = |own: &&Alone| idents(&own.name).any(|ident| ident == name);
                list.iter().filter(mentions).count()
            };
            let mentions = |copy: &&(String, String)| idents(&copy.0).any(|ident| ident == new);
            let both = renamed.intersection(&there).filter(mentions).count();
            both > 0 && 2 * both >= of(base, old) && 2 * both >= of(head, new)
        });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What head calls what base calls so.
    pub fn symbol(&self, name: &str) -> String {
        if self.is_empty() {
            return name.to_owned();
        }
        let mangled = is_mangled(name);
        let parts = parts(name).into_iter().map(|part| match part {
            Part::Ident(ident) => {
                let ident = self.0.get(ident).map_or(ident, String::as_str);
                match mangled {
                    true => format!("{}{ident}", ident.len()),
                    false => ident.to_owned(),
                }
            }
            Part::Other(text) => text.to_owned(),
        });
        parts.collect()
    }

    fn copy(&self, own: &Alone) -> (String, String) {
        (self.symbol(&own.name), self.symbol(&own.instance))
    }
}

/// Names of types and namespaces that only one version has.
fn wanted<'a>(own: &'a [Alone], known: &HashSet<&str>) -> BTreeSet<&'a str> {
    let outer = own.iter().flat_map(|own| scopes(&own.shown));
    outer.filter(|name| !known.contains(name)).collect()
}

/// Names that something belongs to, or that stand among parameters.
fn scopes(shown: &str) -> Vec<&str> {
    let parts = parts(shown);
    let mut depth = 0_i32;
    let mut found = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        match part {
            Part::Ident(ident) => {
                let leads = match parts.get(n + 1) {
                    Some(Part::Other(text)) => text.starts_with("::") || text.starts_with('<'),
                    _ => false,
                };
                if depth > 0 || leads {
                    found.push(*ident);
                }
            }
            Part::Other(text) => {
                for letter in text.chars() {
                    match letter {
                        '<' | '(' => depth += 1,
                        '>' | ')' => depth = (depth - 1).max(0),
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// A function's name with holes for the wanted ones, and its signature.
type Form<'a> = (Vec<Option<&'a str>>, u64);

/// For each form, the functions of it, with what fills the holes.
fn forms<'a>(
    own: &'a [Alone],
    wanted: &BTreeSet<&str>,
) -> BTreeMap<Form<'a>, Vec<(usize, Vec<&'a str>)>> {
    let mut forms: BTreeMap<Form, Vec<(usize, Vec<&str>)>> = BTreeMap::new();
    for (n, own) in own.iter().enumerate() {
        let mut filled = Vec::new();
        let parts = parts(&own.name).into_iter().chain(parts(&own.instance));
        let form = parts.map(|part| match part {
            Part::Ident(ident) if wanted.contains(ident) => {
                filled.push(ident);
                None
            }
            Part::Ident(text) | Part::Other(text) => Some(text),
        });
        let form = (form.collect(), own.signature);
        if !filled.is_empty() {
            forms.entry(form).or_default().push((n, filled));
        }
    }
    forms
}

enum Part<'a> {
    Ident(&'a str),
    Other(&'a str),
}

/// The names that a symbol is made of.
pub fn idents(name: &str) -> impl Iterator<Item = &str> {
    parts(name).into_iter().filter_map(|part| match part {
        Part::Ident(ident) => Some(ident),
        Part::Other(_) => None,
    })
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z")
}

fn parts(name: &str) -> Vec<Part<'_>> {
    let mangled = is_mangled(name);
    let mut parts = Vec::new();
    let mut other = 0;
    let mut at = if mangled { prefix(name) } else { 0 };
    while at < name.len() {
        let rest = &name[at..];
        let found = match mangled {
            true => mangled_ident(rest),
            false => plain_ident(rest),
        };
        match found {
            Found::Ident(skipped, length) => {
                parts.push(Part::Other(&name[other..at]));
                parts.push(Part::Ident(&rest[skipped..skipped + length]));
                at += skipped + length;
                other = at;
            }
            Found::Other(length) => at += length,
        }
    }
    parts.push(Part::Other(&name[other..]));
    parts
}

/// What is found at a place of a name, and how long it is.
enum Found {
    /// Behind so many digits.
    Ident(usize, usize),
    Other(usize),
}

fn plain_ident(rest: &str) -> Found {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    match rest.chars().next() {
        Some(first) if length == 0 => Found::Other(first.len_utf8()),
        _ => Found::Ident(0, length),
    }
}

/// Names stand behind their length; so do not the numbers of substitutions and of constants.
fn mangled_ident(rest: &str) -> Found {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let run = |from: usize, is_part: fn(char) -> bool| {
        let tail = &rest[from..];
        from + tail.find(|letter| !is_part(letter)).unwrap_or(tail.len())
    };
    let digits = run(0, |letter| letter.is_ascii_digit());
    if digits > 0 {
        let length: usize = rest[..digits].parse().unwrap_or(0);
        let ident = rest.get(digits..digits.saturating_add(length));
        let is_name = |ident: &str| {
            ident.starts_with(|letter: char| !letter.is_ascii_digit())
                && ident
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || "_$.".contains(letter))
        };
        return match ident {
            Some(ident) if is_name(ident) => Found::Ident(digits, length),
            _ => Found::Other(digits),
        };
    }
    let number = match rest.as_bytes() {
        [b'S', ..] => run(1, |letter| {
            letter.is_ascii_digit() || letter.is_ascii_uppercase()
        }),
        [b'T', ..] => run(1, |letter| letter.is_ascii_digit()),
        [b'L', b'a'..=b'z', b'n', ..] => run(3, |letter| letter.is_ascii_digit()),
        [b'L', b'a'..=b'z', ..] => run(2, |letter| letter.is_ascii_digit()),
        _ => 0,
    };
    let end = if rest.starts_with('L') { 'E' } else { '_' };
    match number > 0 && rest[number..].starts_with(end) {
        true => Found::Other(number),
        false => Found::Other(first),
    }
}

/// How long what stands before the name itself is: which table of a class it is, or how far a thunk moves.
fn prefix(name: &str) -> usize {
    let behind = |count: usize| {
        let mut numbers = name.match_indices('_').skip(count);
        numbers.next().map_or(name.len(), |(at, _)| at + 1)
    };
    match name.as_bytes() {
        [b'_', b'Z', b'T', b'h', ..] => behind(1),
        [b'_', b'Z', b'T', b'v', ..] => behind(2),
        [b'_', b'Z', b'T' | b'G', b'A'..=b'Z', ..] => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(pairs: &[(&str, &str)], name: &str) -> String {
        let pair = |&(old, new): &(&str, &str)| (old.to_owned(), new.to_owned());
        Renaming(pairs.iter().map(pair).collect()).symbol(name)
    }

    #[test]
    fn symbols_of_two_languages() {
        let pairs = [("Counter", "Tally")];
        let expected = [
            ("_ZN7Counter4stepEi", "_ZN5Tally4stepEi"),
            ("_ZTV7Counter", "_ZTV5Tally"),
            ("_ZThn16_N7CounterD1Ev", "_ZThn16_N5TallyD1Ev"),
            ("_ZTv0_n24_N7CounterD0Ev", "_ZTv0_n24_N5TallyD0Ev"),
            (
                "_Z3useRK7CounterS1_7CounterLi7EN3abcE",
                "_Z3useRK5TallyS1_5TallyLi7EN3abcE",
            ),
            ("_Z9myCounterv", "_Z9myCounterv"),
            ("_ZGVZ4mainE7Counter", "_ZGVZ4mainE5Tally"),
            (
                "<a::Counter as a::Counters>::fmt",
                "<a::Tally as a::Counters>::fmt",
            ),
            ("Counter", "Tally"),
        ];
        for (old, new) in expected {
            assert_eq!(renamed(&pairs, old), new);
        }
        assert_eq!(renamed(&[], "_Z3abc"), "_Z3abc");
    }

    #[test]
    fn names_that_something_belongs_to() {
        assert_eq!(
            scopes("int twice<Counter>(Counter const&)"),
            ["twice", "Counter", "Counter", "const"]
        );
        assert_eq!(
            scopes("shop::Counter::step(int)"),
            ["shop", "Counter", "int"]
        );
        assert_eq!(scopes("shop::Box<T>::get()"), ["shop", "Box", "T"]);
        assert!(scopes("main").is_empty());
    }

    fn alone(name: &str, shown: &str) -> Alone {
        Alone {
            name: name.to_owned(),
            instance: String::new(),
            shown: shown.to_owned(),
            signature: 1,
        }
    }

    fn find(base: &[Alone], head: &[Alone]) -> Vec<(String, String)> {
        find_alike(base, head, 0.0)
    }

    fn find_alike(base: &[Alone], head: &[Alone], similarity: f64) -> Vec<(String, String)> {
        let known = [base, head].map(|all| {
            let names = all.iter().flat_map(|own| idents(&own.name));
            names.collect::<HashSet<&str>>()
        });
        let found = Renaming::find([base, head], known.each_ref(), &HashSet::new(), |_, _| {
            similarity
        });
        found.0.into_iter().collect()
    }

    #[test]
    fn a_class_with_the_same_members_was_renamed() {
        let base = [
            alone("_ZN1A4stepEi", "A::step(int)"),
            alone("_ZN1A4haltEi", "A::halt(int)"),
            alone("_Z3useR1A", "use(A&)"),
        ];
        let head = [
            alone("_ZN1B4stepEi", "B::step(int)"),
            alone("_ZN1B4haltEi", "B::halt(int)"),
            alone("_Z3useR1B", "use(B&)"),
        ];
        assert_eq!(find(&base, &head), [("A".to_owned(), "B".to_owned())]);
    }

    #[test]
    fn a_class_with_one_member_in_common_was_not() {
        let base = [
            alone("_ZN1A4stepEi", "A::step(int)"),
            alone("_ZN1A4haltEi", "A::halt(int)"),
            alone("_ZN1A4moveEi", "A::move(int)"),
        ];
        let head = [
            alone("_ZN1B4stepEi", "B::step(int)"),
            alone("_ZN1B4turnEi", "B::turn(int)"),
            alone("_ZN1B4fallEi", "B::fall(int)"),
        ];
        assert!(find(&base, &head).is_empty());
    }

    #[test]
    fn a_main_of_the_same_name_is_not_enough() {
        let base = [alone("old::main", "old::main")];
        let head = [alone("new::main", "new::main")];
        assert!(find_alike(&base, &head, 0.2).is_empty());
        let renamed = [("old".to_owned(), "new".to_owned())];
        assert_eq!(find_alike(&base, &head, 0.9), renamed);
    }
}
