use super::*;
use proptest::prelude::*;
use std::process::Command;

/// Reads the escapes of [`printable`] back.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next().unwrap() {
            '\\' => out.push(b'\\'),
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            'r' => out.push(b'\r'),
            'x' => {
                let digits: String = chars.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|&c| c != '}').collect();
                let c = char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap();
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => panic!("unknown escape {other}"),
        }
    }
    out
}

/// Text made of what usually breaks escaping.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<script>alert(1)</script>"),
        Just("]]>"),
        Just("-->"),
        Just("\""),
        Just("'"),
        Just("`"),
        Just("```"),
        Just("|"),
        Just("&lt;"),
        Just("\\"),
        Just("\u{1b}[31m"),
        Just("\u{202e}"),
        Just("\0"),
        Just("\n"),
        Just("# x"),
        Just("@all"),
        Just("![](x)"),
        Just("$(id)"),
        Just("%s"),
        Just("\u{ffff}"),
        Just("ä"),
        Just("??/"),
        Just("../"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn printable_loses_nothing_and_controls_nothing(bytes: Vec<u8>) {
        let text = printable(&bytes);
        prop_assert!(!text.chars().any(is_deceptive));
        prop_assert_eq!(unescape(&text), bytes);
    }

    #[test]
    fn printable_tames_nasty_text(text in nasty()) {
        let shown = printable_str(&text);
        prop_assert!(!shown.chars().any(is_deceptive));
        prop_assert_eq!(unescape(&shown), text.into_bytes());
    }

    #[test]
    fn units_cover_all_bytes(bytes: Vec<u8>) {
        prop_assert_eq!(units(&bytes).map(|unit| unit.length).sum::<usize>(), bytes.len());
    }

    #[test]
    fn html_and_xml_have_no_markup_left(text in nasty()) {
        for out in [html(&text), xml(&text)] {
            prop_assert!(!out.contains(['<', '>', '"', '\'']));
            prop_assert!(!out.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
        }
    }

    #[test]
    fn html_reads_back(text in "[a-z<>&\"' ]{0,20}") {
        let back = html(&text)
            .replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"")
            .replace("&#39;", "'").replace("&amp;", "&");
        prop_assert_eq!(back, text);
    }

    #[test]
    fn markdown_text_has_no_active_characters(text in nasty()) {
        let out = markdown(&text).replace("<!-- -->", "");
        let mut before = ' ';
        for c in out.chars() {
            if "`*_[]!|".contains(c) {
                prop_assert_eq!(before, '\\', "{} in {}", c, out);
            }
            prop_assert!(c != '<' && c != '\n');
            before = if before == '\\' && c == '\\' { ' ' } else { c };
        }
    }

    #[test]
    fn code_spans_end_where_they_should(text in nasty()) {
        let shown = printable_str(&text);
        let span = markdown_code(&shown);
        let fence = span.chars().take_while(|&c| c == '`').count();
        if !shown.is_empty() {
            let inner = &span[fence..span.len() - fence];
            prop_assert!(longest_run(inner, '`') < fence);
            prop_assert!(!inner.starts_with('`') && !inner.ends_with('`'));
        }
        let block = markdown_block(&shown, "");
        let fence = block.chars().take_while(|&c| c == '`').count();
        prop_assert_eq!(longest_run(&block[fence..block.len() - fence - 1], '`') < fence, true);
    }

    #[test]
    fn file_names_are_safe_and_distinct(a in nasty(), b in nasty()) {
        let name = file_name(&a);
        prop_assert!(!name.contains('/') && !name.starts_with('.'));
        prop_assert_eq!(a == b, name == file_name(&b));
    }
}

#[test]
fn the_shell_gives_back_what_was_quoted() {
    let hostile: Vec<u8> = (1..=255).chain(*b"'$(id)`x`\"\\%s").collect();
    let mut script = b"LC_ALL=C; printf %s ".to_vec();
    script.extend(shell(&hostile));
    script.extend_from_slice(b"; printf ");
    let all: Vec<u8> = (0..=255).collect();
    script.extend(printf_format(&all).into_bytes());
    script.extend_from_slice(format!("; printf {}", printf_format(b"--x")).as_bytes());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let output = Command::new("sh").arg(file.path()).output().unwrap();
    assert_eq!(output.stdout, [hostile, all, b"--x".to_vec()].concat());
}

#[test]
fn literals_escape_what_ends_them() {
    assert_eq!(c_literal(b"a\"\\\n\x001?"), r#""a\"\\\n\0001\?""#);
    assert_eq!(rust_literal(b"a\"\\\n\xff?"), r#"b"a\"\\\n\xff?""#);
    assert_eq!(shell(b""), b"''");
}
