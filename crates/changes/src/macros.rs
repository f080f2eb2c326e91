//! What macros say, so that one which takes something from another is not blamed for it.

use std::collections::{HashMap, HashSet};

use crate::declarations::words;
use crate::quiet::tokens;

/// The macros of one version. There may be several definitions of one name, for different
/// conditions; which of them holds is not known.
#[derive(Default)]
pub struct Macros {
    definitions: HashMap<String, HashSet<Vec<String>>>,
}

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
        macros
    }

    /// Whether the name means something else in the other version, whatever the conditions.
    pub fn is_replaced(&self, other: &Macros, name: &str) -> bool {
        match (self.definitions.get(name), other.definitions.get(name)) {
            (Some(own), Some(others)) => own.is_disjoint(others),
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
}
