//! Names for people, and names that stay the same from one build to the next.

/// The name the source gave, for C++ and Rust symbols; other symbols as they are.
pub fn demangle(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if symbol.starts_with("_Z")
        && let Ok(parsed) = cpp_demangle::Symbol::new(symbol)
        && let Ok(name) = parsed.demangle()
    {
        // As other tools call it.
        let table = name.strip_prefix("{vtable(");
        let class = table.and_then(|rest| rest.strip_suffix(")}"));
        return class.map_or(name.clone(), |class| format!("vtable for {class}"));
    }
    symbol.to_owned()
}

/// The same without the number that linking gives to one of several local functions of a name.
pub fn source_name(symbol: &str, local: bool) -> String {
    demangle(if local { unnumbered(symbol) } else { symbol })
}

fn unnumbered(symbol: &str) -> &str {
    match symbol.rsplit_once('.') {
        Some((stem, suffix)) => {
            let numbered = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit());
            match numbered && !stem.is_empty() {
                true => unnumbered(stem),
                false => symbol,
            }
        }
        None => symbol,
    }
}

/// A symbol without the parts that builds and linking make up: hashes of Rust
/// symbols and the numbers given to local names that clash.
pub fn stable_name(symbol: &str, local: bool) -> String {
    let symbol = if local { unnumbered(symbol) } else { symbol };
    if is_rust(symbol) {
        return demangle(symbol);
    }
    symbol.to_owned()
}

/// Whether a function was written in Rust, by its symbol.
pub fn is_rust(symbol: &str) -> bool {
    rustc_demangle::try_demangle(symbol).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_three_languages() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangle("_ZTVN3foo3barE"), "vtable for foo::bar");
        assert_eq!(source_name("helper.12", true), "helper");
        assert_eq!(source_name("_ZN3foo3barEi.3", true), "foo::bar(int)");
        assert_eq!(source_name("helper.12", false), "helper.12");
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    }

    #[test]
    fn stable_names_forget_hashes_and_numbers() {
        assert_eq!(
            stable_name("_ZN1a1f17h0123456789abcdefE", false),
            stable_name("_ZN1a1f17hfedcba9876543210E", false)
        );
        assert_eq!(stable_name("helper.12", true), "helper");
        assert_eq!(stable_name("helper.12.3", true), "helper");
        assert_eq!(stable_name("helper.12", false), "helper.12");
        assert_eq!(stable_name(".str.4", true), ".str");
        assert_eq!(
            stable_name("_ZN1a1f17h0123456789abcdefE.7", true),
            stable_name("_ZN1a1f17hfedcba9876543210E.12", true)
        );
        assert_eq!(stable_name("_ZN3foo3barEi", false), "_ZN3foo3barEi");
    }
}
