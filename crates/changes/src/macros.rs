//! What macros say, so that one which takes something from another is not blamed for it.

use std::collections::{HashMap, HashSet};

use crate::declarations::words;
use crate::quiet::tokens;

/// The macros of one version. There may be several definitions of one name, for different
/// conditions; which of them holds is not known.
#[derive(Default)]
pub struct Macros {
    definitions: HashMap<String, HashSet<Vec<String>>>,
    /// Those that only tell the optimiser something about what they are given, such as `likely`.
    hints: HashSet<String>,
}

/// What hints are made of.
const EXPECT: &str = "__builtin_expect";

/// Hints that are made of hints are looked through so far.
const NESTED: usize = 8;

impl Macros {
    /// `texts`: the lines of files without their comments.
    pub fn new<'a>(texts: impl Iterator<Item = &'a Vec<String>>) -> Macros {
        let mut macros = Macros::default();
        for text in texts {
            let mut lines = text.iter();
            while let Some(line) = lines.next() {
                let Some(rest) = defined(line) else { continue };
                let mut whole = rest.to_owned();
                while let Some(part) = whole.strip_suffix('\\') {
                    whole.truncate(part.len());
                    match lines.next() {
                        Some(next) => whole.push_str(next.trim_end()),
                        None => break,
                    }
                }
                let tokens = tokens(&[&whole]);
                if let Some((name, body)) = tokens.split_first() {
                    let known = macros.definitions.entry(name.clone()).or_default();
                    known.insert(body.to_vec());
                }
            }
        }
        macros.find_hints();
        macros
    }

    fn find_hints(&mut self) {
        for _ in 0..NESTED {
            let all = self.definitions.iter();
            let own = all.filter(|(_, known)| known.iter().any(|body| self.is_hint(body)));
            let found: HashSet<String> = own.map(|(name, _)| name.clone()).collect();
            if found == self.hints {
                break;
            }
            self.hints = found;
        }
    }

    /// Whether a macro hands on what it is given, with a hint.
    fn is_hint(&self, body: &[String]) -> bool {
        let list = body.iter().take_while(|token| *token != ")").count();
        let (parameters, rest) = body.split_at(list);
        let words: Vec<&str> = rest.iter().flat_map(|token| words(token)).collect();
        let hints = |word: &str| word == EXPECT || self.hints.contains(word);
        let known = |word: &str| hints(word) || parameters.iter().any(|own| own == word);
        words.iter().any(|word| hints(word)) && words.iter().all(|word| known(word))
    }

    /// Whether the name means something else in the other version, whatever the conditions. A hint means nothing.
    pub fn is_replaced(&self, other: &Macros, name: &str) -> bool {
        let plain = |known: &HashSet<Vec<String>>| -> HashSet<Vec<String>> {
            let hints = |word: &str| self.hints.contains(word) || other.hints.contains(word);
            known.iter().map(|body| without(body, hints)).collect()
        };
        match (self.definitions.get(name), other.definitions.get(name)) {
            (Some(own), Some(others)) => plain(own).is_disjoint(&plain(others)),
            _ => false,
        }
    }

    /// The words of a macro's definitions.
    pub fn words<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let definitions = self.definitions.get(name).into_iter().flatten();
        // Strings are tokens, too, and what they hold names nothing.
        let tokens = definitions
            .flatten()
            .filter(|token| !token.starts_with('"'));
        tokens.flat_map(|token| words(token))
    }
}

/// The tokens without words and the parentheses around what they are given.
fn without(body: &[String], word: impl Fn(&str) -> bool) -> Vec<String> {
    let mut left = Vec::new();
    // For each open parenthesis, whether it stays.
    let mut open = Vec::new();
    let mut tokens = body.iter().peekable();
    while let Some(token) = tokens.next() {
        let stays = match token.as_str() {
            "(" => {
                open.push(true);
                true
            }
            ")" => open.pop().unwrap_or(true),
            own if word(own) && tokens.peek().is_some_and(|next| *next == "(") => {
                tokens.next();
                open.push(false);
                false
            }
            _ => true,
        };
        if stays {
            left.push(token.clone());
        }
    }
    left
}

/// What a line defines, from the name on.
fn defined(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("define")?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn macros(text: &str) -> Macros {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Macros::new([lines].iter())
    }

    #[test]
    fn definitions_are_compared_whatever_their_lines() {
        let old = macros(
            "#define VERSION \"1.2\"\n# define START(s) \\\n  start_((s), VERSION)\n#define SAME 1\n#define GONE 1\n",
        );
        let new = macros(
            "#ifdef P\n#define START p_START\n#define VERSION \"1.3 SAME\"\n#else\n#  define START(s)  start_((s),   VERSION)\n#define SAME 1\n#define SAME 2\n",
        );
        let replaced = |name: &str| old.is_replaced(&new, name);
        assert!(replaced("VERSION"));
        assert!(!replaced("START") && !replaced("SAME") && !replaced("GONE"));
        let words: HashSet<&str> = old.words("START").collect();
        assert_eq!(words, ["s", "start_", "VERSION"].into());
        assert_eq!(new.words("VERSION").count(), 0);
    }

    #[test]
    fn a_hint_replaces_nothing() {
        let hints =
            "#define likely(x) (__builtin_expect(((x) != 0), 1))\n#define l_likely(x) likely(x)\n";
        let old = macros(
            "#define whole(o) (is(o) ? get(o) : 0)\n#define both(a, b) (a && b)\n#define negated(a) no(a)\n#define check(c) ((c) || fail())\n",
        );
        let new = macros(&format!(
            "{hints}#define whole(o) (l_likely(is(o)) ? get(o) : 0)\n#define both(a, b) (likely(a) || b)\n#define negated(a) likely(no(!a))\n#define check(c) (likely(c) || fail())\n"
        ));
        let replaced = |name: &str| (old.is_replaced(&new, name), new.is_replaced(&old, name));
        assert_eq!(replaced("whole"), (false, false));
        assert_eq!(replaced("both"), (true, true));
        assert_eq!(replaced("negated"), (true, true));
        // Other parentheses are another text.
        assert_eq!(replaced("check"), (true, true));
    }
}
