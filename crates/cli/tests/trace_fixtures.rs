//! Every program of `fixtures/transparency`: its traces agree with the plain runs and with themselves.

mod support;

use std::path::{Path, PathBuf};
use support::{fixtures, parallel, trace};

/// Following every flip of every trace would take hours; the first ones of each trace show the same.
const FLIPS: &str = "12";

/// Fixtures of which nothing may be lost but what becomes a number with a fraction.
const FOLLOWED: &str = "iostreams-";
const FRACTION: &str = "floating-point operand";

/// Two runs may order the steps of their threads differently.
const THREADED: &[&str] = &["threads", "workers", "rust-threads", "atomics"];

#[test]
fn fixtures_are_transparent_truthful_and_follow_flips() {
    let folders = folders();
    assert!(folders.len() >= 30, "only {} fixtures", folders.len());
    let problems: Vec<String> = parallel(&folders, |folder| problems_of(folder)).concat();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_symbolic_file_is_followed_through_file_streams() {
    let room = tempfile::tempdir().unwrap();
    let program = r#"
        #include <fstream>
        #include <iostream>
        #include <string>

        int main()
        {
            std::ifstream in("data.txt");
            int number = 0;
            std::string word;
            if (in >> number >> word && number > 40 && word == "go")
                std::cout << "yes " << number << '\n';
            in.clear();
            in.seekg(1);
            std::cout << in.rdbuf()->in_avail() << in.peek() << '\n';
        }
    "#;
    std::fs::write(room.path().join("main.cpp"), program).unwrap();
    std::fs::write(room.path().join("data"), "41 gx").unwrap();
    let arguments = ["main.cpp", "--file", "data.txt=data", "--check"];
    let traced = trace(room.path(), &arguments);
    assert_eq!(traced.text("stdout"), "449\\n", "{}", traced.wrong());
    let check = traced.check();
    for key in ["transparency", "untrue", "strayed"] {
        assert_eq!(
            check[key].as_array().unwrap().len(),
            0,
            "{}",
            traced.wrong()
        );
    }
    assert!(traced.list("losses").is_empty());
    assert!(traced.list("tests").len() > 20);
}

/// A row of a large table, any place of a large table, blocks copied from and to a place, text found by a search without branches,
/// a place in a larger buffer.
#[test]
fn places_that_depend_on_the_input_are_followed_in_large_objects() {
    let room = tempfile::tempdir().unwrap();
    let program = r#"
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>

        struct pair { long first, second; };
        static unsigned rows[8][256];
        static short all[1 << 14];
        static struct pair pairs[64];
        static struct { const char *name; long rest[127]; } names[96];
        static char texts[96][4], buffer[3000];

        int main(void)
        {
            unsigned char c[6];
            struct pair copy;
            if (read(0, c, 6) != 6)
                return 1;
            for (int i = 0; i < 2048; i++)
                rows[i / 256][i % 256] = i * 2654435761u;
            for (int i = 0; i < 1 << 14; i++)
                all[i] = i * 31;
            for (int i = 0; i < 64; i++)
                pairs[i] = (struct pair){ i, i * i };
            for (int i = 0; i < 96; i++) {
                snprintf(texts[i], 4, "%c%c", 'a' + i / 12, 'a' + i % 12);
                names[i].name = texts[i];
            }
            if (rows[3][c[0]] == rows[3][77])
                puts("row");
            if (all[(c[1] << 8 | c[2]) & 0x3fff] == 12345)
                puts("place");
            memcpy(&copy, &pairs[c[3] & 63], sizeof copy);
            copy.second += 5;
            memcpy(&pairs[c[3] >> 2], &copy, sizeof copy);
            if (pairs[9].second == 149)
                puts("pair");
            unsigned first = 0;
            for (unsigned step = 64; step > 0; step /= 2) {
                unsigned next = first + step < 96 ? first + step : first;
                first = __builtin_unpredictable(names[next].name[0] <= (char)c[4]) ? next : first;
            }
            if (first == 35)
                puts("name");
            buffer[c[5] * 8] = 'x';
            puts(buffer + 1600);
        }
    "#;
    std::fs::write(room.path().join("main.c"), program).unwrap();
    std::fs::write(room.path().join("in"), "abcdef").unwrap();
    let arguments = ["main.c", "--flag=-O1", "--stdin", "in", "--check"];
    let traced = trace(room.path(), &arguments);
    let check = traced.check();
    for key in ["transparency", "untrue", "strayed"] {
        let found = check[key].as_array().unwrap();
        assert_eq!(found.len(), 0, "{}", traced.wrong());
    }
    assert!(traced.list("losses").is_empty(), "{}", traced.wrong());
    // One at least for each of the six ways.
    assert!(check["followed"].as_u64().unwrap() >= 20, "{check}");
}

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join("transparency")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

fn problems_of(folder: &Path) -> Vec<String> {
    let room = tempfile::tempdir().unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let expect: toml::Table = std::fs::read_to_string(folder.join("expect.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let source = folder.join(expect["source"].as_str().unwrap());
    let standard = match expect["language"].as_str().unwrap() {
        "c" => "--flag=-std=gnu17",
        "c++" => "--flag=-std=c++20",
        _ => "",
    };
    let mut problems = Vec::new();
    for (number, seed) in expect["seeds"].as_array().unwrap().iter().enumerate() {
        let mut arguments = vec![source.to_str().unwrap().to_owned()];
        if !standard.is_empty() {
            arguments.extend([standard, "--flag=-lm", "--flag=-pthread"].map(String::from));
        }
        arguments.extend(["--check", "--flips", FLIPS, "--run-time", "60"].map(String::from));
        if let Some(stdin) = seed.get("stdin") {
            let file = format!("seed-{number}");
            std::fs::write(room.path().join(&file), bytes(stdin.as_str().unwrap())).unwrap();
            arguments.extend(["--stdin".into(), file]);
        }
        for argument in seed
            .get("args")
            .and_then(|list| list.as_array())
            .into_iter()
            .flatten()
        {
            let text = String::from_utf8(bytes(argument.as_str().unwrap())).unwrap();
            arguments.extend(["--sym-arg".into(), format!("={text}")]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let traced = trace(room.path(), &arguments);
        let mut complain = |what: String| problems.push(format!("{name}[{number}]: {what}"));
        if traced.document.is_none() {
            complain(traced.wrong());
            continue;
        }
        let expected = seed
            .get("status")
            .map_or(0, |status| status.as_integer().unwrap());
        let end = traced.text("end");
        let numbers: Vec<i64> = end
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|text| text.parse().ok())
            .collect();
        if !numbers.contains(&expected.abs()) {
            complain(format!("ended with {end}, expected {expected}"));
        }
        if name.starts_with(FOLLOWED) {
            // A program that opens what it has written may read it again, which is not followed.
            let reopens = expect.get("reads_back").and_then(|value| value.as_str());
            let expected = |loss: &serde_json::Value| {
                let call = loss["call"].as_str().unwrap_or_default();
                loss["reason"] == FRACTION || reopens.is_some_and(|name| call.contains(name))
            };
            for loss in traced.list("losses") {
                if !expected(loss) {
                    complain(format!("lost: {loss}"));
                }
            }
        }
        let check = traced.check();
        let none = |key: &str| check[key].as_array().is_some_and(|list| list.is_empty());
        // Where labels were given up the other way need not be as predicted.
        let may_stray = !traced.list("losses").is_empty() || THREADED.contains(&name);
        if !none("transparency") || !none("untrue") || (!none("strayed") && !may_stray) {
            complain(traced.wrong());
        }
    }
    problems
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len() / 2)
        .map(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}
