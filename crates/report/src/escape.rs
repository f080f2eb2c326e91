//! Making hostile bytes harmless, once for each format they go into.

/// Text for people: printable characters as they are, everything else as a
/// backslash escape. No two different byte strings give the same text, and the
/// result has no control character, line break or direction mark.
pub fn printable(bytes: &[u8]) -> String {
    units(bytes).map(|unit| unit.text).collect()
}

/// Like [`printable`] for text that is already a string.
pub fn printable_str(text: &str) -> String {
    printable(text.as_bytes())
}

/// One character, or one byte that belongs to none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its escaped form.
    pub text: String,
    /// Number of bytes it stands for.
    pub length: usize,
}

/// The smallest parts that [`printable`] maps one by one.
pub fn units(bytes: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| Unit {
            text: printable_char(c),
            length: c.len_utf8(),
        });
        let invalid = chunk.invalid().iter().map(|byte| Unit {
            text: format!("\\x{byte:02x}"),
            length: 1,
        });
        valid.chain(invalid)
    })
}

fn printable_char(c: char) -> String {
    match c {
        '\\' => "\\\\".into(),
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\r' => "\\r".into(),
        c if c.is_ascii_control() => format!("\\x{:02x}", c as u32),
        c if is_deceptive(c) => format!("\\u{{{:x}}}", c as u32),
        c => c.into(),
    }
}

/// Source text for people: as it is, with tabs as spaces, but with no control
/// character and nothing that changes the direction of reading.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\\' => out.push(c),
            c => out.push_str(&printable_char(c)),
        }
    }
    out
}

/// Characters that show nothing, or change how their neighbours show.
pub fn is_deceptive(c: char) -> bool {
    let n = c as u32;
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(n, 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e)
        || matches!(n, 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb)
        || matches!(n, 0x300..=0x36f | 0xe000..=0xf8ff | 0xe0000..=0x10ffff)
}

/// For element content and quoted attributes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// For element content and quoted attributes of XML 1.0, which has no way to
/// write most control characters.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// Running text in Markdown, on one line. Mentions and issue numbers are taken
/// apart with an empty comment, since they are found after escapes are gone.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '@' => out.push_str("@<!-- -->"),
            '#' => out.push_str("#<!-- -->"),
            ':' => out.push_str(":<!-- -->"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '.' if out.ends_with("www") || out.ends_with("WWW") => out.push_str(".<!-- -->"),
            c if c.is_ascii_punctuation() && !matches!(c, ',' | '.' | ';' | '/' | '%') => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() || is_deceptive(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A Markdown code span for a table cell or running text; `text` is printable.
pub fn markdown_code(text: &str) -> String {
    let flat: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if flat.is_empty() {
        return "*empty*".into();
    }
    let fence = "`".repeat(longest_run(&flat, '`') + 1);
    // Inside a table a pipe ends the cell even in code.
    let flat = flat.replace('|', "\\|");
    let pad = if flat.starts_with('`') || flat.ends_with('`') || flat.trim() != flat {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{flat}{pad}{fence}")
}

/// A fenced Markdown block; `text` may have line breaks but no other controls.
pub fn markdown_block(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// One word of a POSIX shell command. Bytes other than NUL stand for themselves.
pub fn shell(bytes: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./,:+@%".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return bytes.to_vec();
    }
    let mut out = vec![b'\''];
    for &byte in bytes {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            0 => {}
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
    out
}

/// As [`shell`], for text.
pub fn shell_str(text: &str) -> String {
    String::from_utf8(shell(text.as_bytes())).expect("quoting text adds only ASCII")
}

/// The format argument of `printf`, quoted, that prints exactly these bytes.
pub fn printf_format(bytes: &[u8]) -> String {
    let mut out = String::from("'");
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            // Not an option.
            b'-' if at == 0 => out.push_str("\\055"),
            b'%' => out.push_str("%%"),
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' if byte != b'\'' && byte != b'\\' => out.push(byte as char),
            byte => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('\'');
    out
}

/// A C string literal. Three octal digits end an escape whatever follows.
pub fn c_literal(bytes: &[u8]) -> String {
    literal(bytes, |byte| match byte {
        b'\n' => "\\n".into(),
        // No trigraphs.
        b'?' => "\\?".into(),
        byte => format!("\\{byte:03o}"),
    })
}

/// A Rust byte-string literal.
pub fn rust_literal(bytes: &[u8]) -> String {
    let quoted = literal(bytes, |byte| match byte {
        b'\n' => "\\n".into(),
        b'?' => "?".into(),
        byte => format!("\\x{byte:02x}"),
    });
    format!("b{quoted}")
}

fn literal(bytes: &[u8], special: impl Fn(u8) -> String) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            b' '..=b'~' if byte != b'?' => out.push(byte as char),
            byte => out.push_str(&special(byte)),
        }
    }
    out.push('"');
    out
}

/// A name for a file that stands for `name`, whatever that is. Different names
/// give different results, none of which has a slash or begins with a dot.
pub fn file_name(name: &str) -> String {
    let mut out = String::new();
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'.' if at > 0 => out.push('.'),
            b'_' | b'-' => out.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests;
