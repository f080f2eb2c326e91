//! Names for the variables of a harness that clash with nothing.

use std::collections::BTreeSet;

/// Names that are taken.
pub struct Names(BTreeSet<String>);

impl Names {
    pub fn new<'a>(taken: impl IntoIterator<Item = &'a str>) -> Names {
        Names(taken.into_iter().map(str::to_owned).collect())
    }

    /// The name itself if it is free, else one like it.
    pub fn free(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.0.insert(name.clone()) {
            name = match number {
                1 => format!("{wanted}_argument"),
                _ => format!("{wanted}_argument{number}"),
            };
            number += 1;
        }
        name
    }
}

/// Whether a name says that it is the length of something beside it.
pub fn says_length(name: &str) -> bool {
    const WORDS: [&str; 13] = [
        "n", "len", "length", "size", "count", "sz", "num", "nbytes", "bytes", "cnt", "nitems",
        "nelem", "nmemb",
    ];
    let lower = name.to_ascii_lowercase();
    let words = lower.split('_').filter(|word| !word.is_empty());
    let ends = ["len", "length", "size", "count"];
    words.into_iter().any(|word| WORDS.contains(&word))
        || ends.iter().any(|end| lower.ends_with(end))
}

/// Whether a name says that it is the end of what is in front of it.
pub fn says_end(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["end", "limit", "last", "stop"].iter().any(|word| {
        lower == *word
            || lower.ends_with(&format!("_{word}"))
            || lower.ends_with(&format!("{word}p"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_clash_get_another_one() {
        let mut names = Names::new(["data", "size"]);
        assert_eq!(names.free("data"), "data_argument");
        assert_eq!(names.free("data"), "data_argument2");
        assert_eq!(names.free("other"), "other");
    }

    #[test]
    fn lengths_are_told_by_their_names() {
        for name in [
            "n",
            "len",
            "buf_len",
            "srcLength",
            "nbytes",
            "data_size",
            "count",
        ] {
            assert!(says_length(name), "{name}");
        }
        for name in ["flags", "seed", "level", "next", "base"] {
            assert!(!says_length(name), "{name}");
        }
    }
}
