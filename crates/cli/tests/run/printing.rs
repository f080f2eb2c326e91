//! Rust programs that print numbers.

use crate::room::*;

const FRAME: &str = r#"use std::io::{Read, Write};
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let Ok(n) = text.parse::<u32>() else { return };
    let kind = std::env::args().nth(1).unwrap_or_default();
    let prints = kind != "silent";
    let mut out = std::io::stdout().lock();
    PRINT
}
"#;

/// Straight, through strings and to a locked stream.
const PRINTED: &str = r#"if prints {
        println!("{}", n.wrapping_mul(2));
        let both = format!("{}|{:>4}", n as u8, n as usize);
        print!("{both}");
        writeln!(out, "<{}> {}", i64::from(n) - 500, (n as u16).to_string()).unwrap();
    }"#;

/// The text of a number is looked at.
const LOOKED_AT: &str = r#"let shown = format!("{n}");
    let shape = if shown.len() > 2 { "long" } else if shown.ends_with('7') { "seven" } else { "short" };
    writeln!(out, "{shape} {prints}").unwrap();"#;

fn write(room: &Room, name: &str, print: &str) {
    room.write(&format!("{name}/main.rs"), FRAME.replace("PRINT", print));
}

fn compare(room: &Room, kind: &str) -> Said {
    let versions = ["run", "base/main.rs", "head/main.rs"];
    let search = ["--stdin", "3", "--time", "60s", "--guide", "none"];
    room.changeling(&[&versions[..], &["--arg", kind], &search].concat())
}

#[test]
fn a_printed_number_is_compared_as_a_number() {
    let room = Room::new();
    write(&room, "base", PRINTED);
    // The one input that differs, if asked for, is no path of its own.
    let odd = r#"(n << 1) + if kind == "odd" { (n ^ 977).wrapping_sub(1) >> 31 } else { 0 }"#;
    let head = PRINTED
        .replace("n.wrapping_mul(2)", odd)
        .replace("i64::from(n) - 500", "-500 + i64::from(n)");
    write(&room, "head", &head);
    let said = compare(&room, "same");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert_eq!(results["verdict"], "equivalent", "{}", said.stdout);
    assert_eq!(results["stats"]["concretizations"], 0);
    let paths = results["stats"]["base_paths"].clone();

    // Printing makes no paths.
    let said = compare(&room, "silent");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["stats"]["base_paths"], paths);

    let said = compare(&room, "odd");
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let case = room.path(&room.first_case());
    assert_eq!(std::fs::read(case.join("stdin.bin")).unwrap(), b"977");
}

#[test]
fn text_of_a_number_that_is_looked_at_has_all_sides() {
    let room = Room::new();
    write(&room, "base", LOOKED_AT);
    write(&room, "head", &LOOKED_AT.replace("'7'", "'8'"));
    let said = compare(&room, "");
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let stats = &room.results()["stats"];
    assert_eq!(stats["concretizations"], 0, "{stats}");
    let case = room.path(&room.first_case());
    let input = String::from_utf8(std::fs::read(case.join("stdin.bin")).unwrap()).unwrap();
    let n: u32 = input.parse().unwrap();
    assert!(n < 100 && [7, 8].contains(&(n % 10)), "{input}");
}
