//! Scripts, recordings and external solvers: good ones and bad ones.

use changeling_solver::{
    Answer, Arena, Assignment, Bounds, Expr, External, ExternalError, Layers, Op, Query, Reason,
    Settings, Solver, read_recorded,
};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn read_error(text: &str) -> String {
    Arena::new().read_smt2(text).unwrap_err().to_string()
}

#[test]
fn malformed_scripts_name_the_line() {
    assert_eq!(
        read_error("(assert true)\n(assert (= a b)"),
        "line 2: `(` is not closed"
    );
    assert_eq!(read_error("\n)"), "line 2: `)` without its `(`");
    assert_eq!(
        read_error("(set-info :x \"abc"),
        "line 1: a quote is not closed"
    );
    assert_eq!(
        read_error("(assert\n\n(foo true))"),
        "line 3: `foo` is not defined"
    );
    assert_eq!(
        read_error("(frobnicate)"),
        "line 1: cannot read the command `frobnicate`"
    );
    assert_eq!(
        read_error("(set-info :changeling 99)"),
        "line 1: format 99 is not known; this version reads 1"
    );
    let declare = "(declare-const b0_0 (_ BitVec 8))\n";
    assert!(
        read_error(&format!("{declare}(assert (= b0_0 #x123))")).starts_with("line 2: Eq needs")
    );
    assert!(read_error(&format!("{declare}(assert b0_0)")).contains("expected a condition"));
    assert!(
        read_error(&format!("{declare}(assert (bvult b0_0))"))
            .contains("expected 2 operands, got 1")
    );
    assert!(read_error("(declare-const x (_ BitVec 7))").contains("should be an input byte"));
    assert!(read_error("(declare-const b0_0 (_ BitVec 99999999))").contains("expected the sort"));
    assert!(read_error("(check-sat)").contains("there is no assertion"));
    assert!(read_error(&format!("{declare}(assert {}", "(not ".repeat(5000))).starts_with("line"));
    let deep = format!("(assert {}true{})", "(not ".repeat(5000), ")".repeat(5000));
    assert_eq!(read_error(&deep), "line 1: nested too deeply");
}

/// `stdin[0] * 7 == 91` over 8 bits and a condition on another byte.
fn question(arena: &mut Arena) -> (Vec<Expr>, Expr) {
    let (a, b) = (arena.input(0, 0), arena.input(0, 1));
    let product = arena.binary(Op::Mul, a, b).unwrap();
    let target = arena.constant(8, 91).unwrap();
    let goal = arena.eq(product, target).unwrap();
    let seven = arena.constant(8, 7).unwrap();
    (vec![arena.eq(b, seven).unwrap()], goal)
}

fn ask(settings: Settings) -> (Answer, Solver) {
    let mut arena = Arena::new();
    let (prefix, goal) = question(&mut arena);
    let (hint, bounds) = (Assignment::new(), Bounds::new(vec![4]));
    let mut solver = Solver::new(settings);
    let query = Query {
        prefix: &prefix,
        goal,
        hint: &hint,
        bounds: &bounds,
        soft: &[],
    };
    (solver.solve(&mut arena, &query), solver)
}

/// Only the external solver works.
fn external_only(external: External) -> Settings {
    let layers = Layers {
        simplification: true,
        independence: true,
        reuse: false,
        values: false,
        embedded: false,
    };
    Settings {
        layers,
        external: Some(external),
        time_limit: Duration::from_secs(10),
        ..Settings::default()
    }
}

#[test]
fn z3_can_be_the_back_end() {
    let (answer, solver) = ask(external_only(External::find("z3").unwrap()));
    let Answer::Sat(model) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(model.byte(0, 0).wrapping_mul(model.byte(0, 1)), 91);
    assert_eq!(solver.statistics().external.answered, 1);
}

#[test]
fn floating_point_goes_to_the_external_solver() {
    let mut arena = Arena::new();
    let mut bits = arena.input(0, 0);
    for offset in 1..4 {
        let byte = arena.input(0, offset);
        bits = arena.concat(byte, bits).unwrap();
    }
    let half = arena.constant(32, 0.5f32.to_bits().into()).unwrap();
    let product = arena.binary(Op::FMul, bits, half).unwrap();
    let root = arena.unary(Op::FSqrt, product).unwrap();
    let three = arena.constant(32, 3f32.to_bits().into()).unwrap();
    let goal = arena.binary(Op::FEq, root, three).unwrap();
    let (hint, bounds) = (Assignment::new(), Bounds::new(vec![4]));
    let external = Some(External::find("z3").unwrap());
    let mut solver = Solver::new(Settings {
        external,
        time_limit: Duration::from_secs(60),
        ..Settings::default()
    });
    let query = Query {
        prefix: &[],
        goal,
        hint: &hint,
        bounds: &bounds,
        soft: &[],
    };
    let text = arena.smt2(&query).unwrap();
    let answer = solver.solve(&mut arena, &query);
    let Answer::Sat(model) = answer else {
        panic!("{answer:?}")
    };
    let number = f32::from_le_bytes([0, 1, 2, 3].map(|offset| model.byte(0, offset)));
    assert_eq!((number * 0.5).sqrt(), 3.0);
    // The script can be read back and means the same.
    let mut other = Arena::new();
    let read = other.read_smt2(&text).unwrap();
    assert!(other.holds(read.goal, &model) && !other.holds(read.goal, &hint));
}

#[test]
fn a_missing_solver_says_what_to_do() {
    let error = External::find("no-such-solver").unwrap_err();
    assert_eq!(error, ExternalError::Missing("no-such-solver".into()));
    assert!(error.to_string().contains("install it"));
    assert!(matches!(
        External::find("/etc/passwd"),
        Err(ExternalError::NotExecutable(_))
    ));
}

/// A "solver" that is a shell script.
fn fake(directory: &Path, name: &str, script: &str) -> External {
    let path: PathBuf = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    External::find(path.to_str().unwrap()).unwrap()
}

#[test]
fn lies_and_deaths_are_never_models() {
    let directory = tempfile::tempdir().unwrap();
    let scripts = [
        (
            "liar",
            "echo sat; echo '((b0_0 #x01) (b0_1 #x01))'",
            "wrong",
        ),
        ("partial", "echo sat; echo '((b0_0 #x0d))'", "not what"),
        ("babbler", "echo hello world", "unexpected answer"),
        ("dead", "kill -9 $$", "died"),
        ("silent", "exit 0", "died"),
        ("unsure", "echo unknown", "unknown"),
        ("endless", "exec yes sat", "not what"),
        (
            "wide",
            "echo sat; echo '((b0_0 #xfffffffffffffffffffff) (b0_1 #x07))'",
            "not what",
        ),
    ];
    for (name, script, expected) in scripts {
        let (answer, solver) = ask(external_only(fake(directory.path(), name, script)));
        let wrong = u64::from(expected == "wrong");
        assert_eq!(solver.statistics().wrong_models, wrong, "{name}");
        let Answer::Unknown(Reason::External(text)) = &answer else {
            panic!("{name}: {answer:?}")
        };
        assert!(text.contains(expected), "{name}: {text}");
    }
    let slow = fake(directory.path(), "slow", "exec sleep 60");
    let settings = Settings {
        time_limit: Duration::from_millis(200),
        ..external_only(slow)
    };
    assert_eq!(ask(settings).0, Answer::Unknown(Reason::Time));
}

#[test]
fn recorded_queries_replay() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("queries");
    let (answer, solver) = ask(Settings {
        record: Some(record.clone()),
        ..Settings::default()
    });
    assert!(matches!(answer, Answer::Sat(_)));
    assert_eq!(solver.record_problem(), None);
    let mut arena = Arena::new();
    let queries = read_recorded(&mut arena, &record).unwrap();
    assert_eq!(queries.len(), 1);
    let (_, query) = &queries[0];
    assert_eq!(query.prefix.len(), 1);
    let again = Solver::new(Settings::default()).solve(&mut arena, &query.query());
    assert_eq!(again, answer);

    let empty = tempfile::tempdir().unwrap();
    let error = read_recorded(&mut arena, empty.path()).err().unwrap();
    assert!(error.to_string().contains("no recorded queries"));
    std::fs::write(empty.path().join("q1.smt2"), "(assert").unwrap();
    let error = read_recorded(&mut arena, empty.path()).err().unwrap();
    assert!(error.to_string().contains("q1.smt2: line 1"));
    let file = empty.path().join("q1.smt2");
    let (_, solver) = ask(Settings {
        record: Some(file.join("x")),
        ..Settings::default()
    });
    assert!(solver.record_problem().unwrap().contains("cannot create"));
}
