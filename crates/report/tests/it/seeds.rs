//! Inputs for and from other tools.

use crate::cases::case;
use crate::sample::{self, stream};
use changeling_report::export::{corpus, ktest::KTest};
use changeling_report::seeds::{self, SeedError};
use changeling_trace::input::{Argument, Input, StreamKind};

#[test]
fn ktest_files_have_the_published_layout() {
    let input = Input {
        streams: vec![
            stream(StreamKind::Argument, "", 3, b"ab"),
            stream(StreamKind::Harness, "", 4, b"\xff"),
        ],
        arguments: vec![Argument::Symbolic(0)],
    };
    let bytes = KTest::of(&input, "p").write();
    let mut expected = b"KTEST\0\0\0\x03\0\0\0\x03".to_vec();
    expected.extend_from_slice(b"\0\0\0\x01p\0\0\0\x09--sym-arg\0\0\0\x013");
    expected.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\0\x03");
    expected.extend_from_slice(b"\0\0\0\x05arg00\0\0\0\x04ab\0\0");
    expected.extend_from_slice(b"\0\0\0\x04data\0\0\0\x01\xff");
    expected.extend_from_slice(b"\0\0\0\x0dmodel_version\0\0\0\x04\x01\0\0\0");
    assert_eq!(bytes, expected);
    assert_eq!(
        KTest::read(&bytes).unwrap().to_input(&input),
        (input, false)
    );
}

/// As KLEE's runtime lays them out, put together here byte by byte: `A-data` is the first symbolic file and its size stands
/// in the structure beside it; arguments and standard input end where KLEE has put zeros.
#[test]
fn ktest_files_of_others_are_read() {
    fn number(value: usize) -> [u8; 4] {
        (value as u32).to_be_bytes()
    }
    fn text(bytes: &[u8]) -> Vec<u8> {
        [&number(bytes.len())[..], bytes].concat()
    }
    let stat = |size: u8| {
        let mut stat = [0; 144];
        stat[24..28].copy_from_slice(&0o100644u32.to_le_bytes());
        stat[48] = size;
        stat
    };
    let (first, second) = (stat(2), stat(3));
    let objects: [(&str, &[u8]); 6] = [
        ("arg00", b"-x\0\0\0"),
        ("A-data", b"\0\xff\0\0"),
        ("A-data-stat", &first),
        ("stdin", b"ab\n\0"),
        ("stdin-stat", &second),
        ("model_version", b"\x01\0\0\0"),
    ];
    let shape = Input {
        streams: vec![
            stream(StreamKind::Argument, "", 4, b""),
            stream(StreamKind::Stdin, "", 4, b""),
            stream(StreamKind::File, "conf", 4, b""),
        ],
        arguments: vec![Argument::Symbolic(0)],
    };
    for (magic, version) in [(&b"KTEST"[..], 3), (b"BOUT\n", 2)] {
        let mut bytes = [magic, &number(version), &number(3)].concat();
        for argument in [&b"tool.bc"[..], b"--sym-arg", b"4"] {
            bytes.extend(text(argument));
        }
        bytes.extend([number(0), number(0), number(objects.len())].concat());
        for (name, contents) in objects {
            bytes.extend([text(name.as_bytes()), text(contents)].concat());
        }
        let (input, cut) = KTest::read(&bytes).unwrap().to_input(&shape);
        let seen: Vec<&[u8]> = input.streams.iter().map(|s| &s.bytes[..]).collect();
        assert_eq!(seen, [&b"-x"[..], b"ab\n", b"\0\xff"]);
        assert!(!cut);
    }
}

#[test]
fn ktest_keeps_the_whole_input_and_refuses_damage() {
    let input = sample::input();
    let bytes = KTest::of(&input, "prog").write();
    let mut shape = input.clone();
    shape
        .streams
        .iter_mut()
        .for_each(|stream| stream.bytes.clear());
    let test = KTest::read(&bytes).unwrap();
    assert_eq!(test.to_input(&shape), (input, false));
    for end in 0..bytes.len() {
        assert!(KTest::read(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert!(
        KTest::read(&newer)
            .unwrap_err()
            .to_string()
            .contains("version 9")
    );
    // A length beyond the file must not be believed.
    let huge = b"KTEST\0\0\0\x03\xff\xff\xff\xff\xff\xff\xff\xff";
    assert!(KTest::read(huge).is_err());
    // What has no stream is reported, not dropped in silence.
    let (_, lost) = test.to_input(&Input {
        streams: vec![stream(StreamKind::Stdin, "", 4, b"")],
        arguments: vec![],
    });
    assert!(lost);
}

#[test]
fn seeds_come_from_files_folders_cases_and_ktests() {
    let folder = tempfile::tempdir().unwrap();
    let case = case(folder.path());
    let mut shape = sample::input();
    shape
        .streams
        .iter_mut()
        .for_each(|stream| stream.bytes.clear());
    let corpus_folder = folder.path().join("corpus");
    let small = Input {
        streams: vec![stream(
            StreamKind::Stdin,
            "",
            99,
            b"a rather long line of input",
        )],
        arguments: vec![],
    };
    let inputs = [("0001", &case.input), ("0002", &small)];
    corpus::write(&corpus_folder, inputs, false).unwrap();
    // Once more they are the same; what is not is only overwritten if that is wanted.
    corpus::write(&corpus_folder, inputs, false).unwrap();
    let other = [("0001", &small)];
    let error = corpus::write(&corpus_folder, other, false).unwrap_err();
    assert!(error.to_string().contains("not overwritten"), "{error}");
    corpus::write(&corpus_folder, other, true).unwrap();
    corpus::write(&corpus_folder, inputs, true).unwrap();
    std::fs::write(
        corpus_folder.join("x.ktest"),
        KTest::of(&case.input, "p").write(),
    )
    .unwrap();
    std::fs::write(corpus_folder.join("README.txt"), "notes of a fuzzer").unwrap();
    let saved = case.write(&corpus_folder).unwrap();

    let found = seeds::load(&corpus_folder, &shape).unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|seed| seed.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "0001",
            saved.file_name().unwrap().to_str().unwrap(),
            "0002",
            "x.ktest"
        ]
    );
    assert_eq!(found[0].input.streams[0].bytes, case.input.streams[0].bytes);
    assert_eq!(found[1].input, case.input);
    assert_eq!(found[2].input.streams[0].bytes, b"a rather long li");
    assert_eq!(found[3].input, case.input);
    let cut: Vec<bool> = found.iter().map(|seed| seed.cut).collect();
    assert_eq!(cut, [false, false, true, false]);

    let nothing = Input::default();
    let error = seeds::load(&corpus_folder.join("0001"), &nothing).unwrap_err();
    assert!(matches!(error, SeedError::NoStream(_)), "{error}");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(
        seeds::load(&empty, &shape),
        Err(SeedError::Empty(_))
    ));
    std::fs::write(empty.join("bad.ktest"), "no").unwrap();
    let error = seeds::load(&empty, &shape).unwrap_err().to_string();
    assert!(
        error.contains("bad.ktest") && error.contains("not a .ktest file"),
        "{error}"
    );
}
