//! Never wrong: random formulas against Z3, against enumeration, and against
//! the reference evaluator.

mod common;

use changeling_solver::{
    Answer, Arena, Assignment, Bounds, Expr, Layers, Op, Query, Settings, Solver, Var,
};
use common::z3::z3;
use common::{Generator, Random, Shape};
use std::time::Duration;

const CAPACITY: u64 = 9;

fn bounds() -> Bounds {
    Bounds::new(vec![CAPACITY])
}

fn hint(random: &mut Random, bytes: u32) -> Assignment {
    let mut hint = Assignment::new();
    for offset in 0..bytes {
        hint.set_byte(0, offset, random.next() as u8);
    }
    hint.set(Var::Length { stream: 0 }, random.below(CAPACITY + 1));
    hint
}

fn wide_shape() -> Shape {
    Shape {
        widths: &[
            1, 2, 3, 7, 8, 8, 8, 13, 16, 16, 24, 32, 32, 32, 33, 64, 64, 65, 100, 128,
        ],
        bytes: 6,
        lengths: true,
        tables: true,
        depth: 3,
        heavy: 8,
    }
}

#[test]
fn twenty_thousand_formulas_agree_with_z3() {
    let (batches, per_batch) = (40, 500);
    let (mut sat, mut unsat, mut unsure) = (0, 0, 0);
    for batch in 0..batches {
        let mut arena = Arena::new();
        let mut solver = Solver::new(Settings::default());
        let mut scripts = Vec::new();
        let mut answers = Vec::new();
        let mut path: Vec<Expr> = Vec::new();
        for number in 0..per_batch {
            let seed = batch * 1_000_003 + number + 1;
            let mut generator = Generator::new(&mut arena, seed, wide_shape());
            let goal = generator.condition(2 + (number % 50 == 0) as u32);
            let hint = hint(&mut generator.random, 6);
            // Prefixes grow and shrink as those of a search do.
            if generator.random.chance(40) {
                path.truncate(generator.random.below(2) as usize);
            }
            let bounds = bounds();
            let query = Query {
                prefix: &path,
                goal,
                hint: &hint,
                bounds: &bounds,
                soft: &[],
            };
            scripts.push(arena.smt2(&query).unwrap());
            let answer = solver.solve(&mut arena, &query);
            check_model(&arena, &query, &answer);
            if matches!(answer, Answer::Sat(_)) && path.len() < 2 {
                path.push(goal);
            }
            answers.push(answer);
        }
        assert_eq!(solver.statistics().wrong_models, 0);
        for ((said, answer), script) in z3(&scripts, 300_000).iter().zip(&answers).zip(&scripts) {
            match (said.as_str(), answer) {
                ("sat", Answer::Sat(_)) => sat += 1,
                ("unsat", Answer::Unsat(_)) => unsat += 1,
                ("unknown" | "timeout", _) => unsure += 1,
                (_, Answer::Unknown(_)) => unsure += 1,
                _ => panic!("z3 says {said}, we say {answer:?}:\n{script}"),
            }
        }
    }
    assert!(unsure < 400, "{unsure} undecided");
    assert!(sat > 5000 && unsat > 1000, "{sat} sat, {unsat} unsat");
}

fn check_model(arena: &Arena, query: &Query, answer: &Answer) {
    let Answer::Sat(model) = answer else { return };
    for &condition in query.prefix.iter().chain([&query.goal]) {
        assert!(
            arena.holds(condition, model),
            "{model:?} does not satisfy {}:\n{}",
            arena.display(condition),
            arena.smt2(query).unwrap()
        );
    }
    assert!(model.length(0) <= CAPACITY);
}

/// With every combination of layers the answer is the same.
#[test]
fn layers_do_not_change_answers() {
    let off = Layers {
        simplification: false,
        independence: false,
        reuse: false,
        values: false,
        embedded: true,
    };
    let variants = [
        off,
        Layers {
            independence: true,
            ..off
        },
        Layers {
            independence: true,
            reuse: true,
            ..off
        },
        Layers {
            independence: true,
            values: true,
            ..off
        },
        Layers::default(),
    ];
    let mut arena = Arena::new();
    let mut solvers: Vec<Solver> = variants
        .map(|layers| {
            Solver::new(Settings {
                layers,
                ..Settings::default()
            })
        })
        .into();
    let mut path: Vec<Expr> = Vec::new();
    let mut decided = 0;
    for seed in 1..400 {
        let mut generator = Generator::new(&mut arena, seed * 77, wide_shape());
        let goal = generator.condition(2);
        let hint = hint(&mut generator.random, 6);
        let bounds = bounds();
        if path.len() > 5 {
            path.truncate(1);
        }
        let query = Query {
            prefix: &path,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        let kinds: Vec<u8> = solvers
            .iter_mut()
            .map(|solver| {
                let answer = solver.solve(&mut arena, &query);
                check_model(&arena, &query, &answer);
                check_core(&mut arena, &query, &answer);
                match answer {
                    Answer::Sat(_) => 0,
                    Answer::Unsat(_) => 1,
                    Answer::Unknown(reason) => panic!("{reason}"),
                }
            })
            .collect();
        assert!(
            kinds.iter().all(|&kind| kind == kinds[0]),
            "{kinds:?} for seed {seed}"
        );
        decided += 1;
        if kinds[0] == 0 {
            path.push(goal);
        }
    }
    assert_eq!(decided, 399);
}

/// The conditions of a core are enough.
fn check_core(arena: &mut Arena, query: &Query, answer: &Answer) {
    let Answer::Unsat(core) = answer else { return };
    let prefix: Vec<Expr> = core
        .iter()
        .map(|&position| query.prefix[position])
        .collect();
    let mut fresh = Solver::new(Settings::default());
    let again = Query {
        prefix: &prefix,
        ..*query
    };
    assert!(matches!(fresh.solve(arena, &again), Answer::Unsat(_)));
}

/// Two bytes have 65,536 values; all are tried for each `unsat`.
#[test]
fn two_thousand_unsats_are_confirmed_by_enumeration() {
    let mut confirmed = 0;
    let mut seed = 0;
    while confirmed < 2000 {
        let mut arena = Arena::new();
        let mut solver = Solver::new(Settings::default());
        for _ in 0..200 {
            seed += 1;
            let shape = Shape {
                widths: &[1, 2, 3, 4, 5, 6],
                bytes: 2,
                lengths: false,
                tables: false,
                depth: 3,
                heavy: 6,
            };
            let mut generator = Generator::new(&mut arena, seed * 13 + 5, shape);
            let goal = generator.condition(3);
            let hint = hint(&mut generator.random, 2);
            let bounds = bounds();
            let query = Query {
                prefix: &[],
                goal,
                hint: &hint,
                bounds: &bounds,
                soft: &[],
            };
            match solver.solve(&mut arena, &query) {
                Answer::Unsat(core) => {
                    assert!(core.is_empty());
                    enumerate(&arena, goal);
                    confirmed += 1;
                }
                Answer::Sat(model) => assert!(arena.holds(goal, &model)),
                Answer::Unknown(reason) => panic!("{reason}"),
            }
        }
        assert!(
            seed < 100_000,
            "too few unsatisfiable formulas: {confirmed}"
        );
    }
}

/// No assignment of the formula's own variables satisfies it.
fn enumerate(arena: &Arena, goal: Expr) {
    let variables = arena.variables(goal);
    // A formula that was simplified to false has no variables left.
    for number in 0..1u32 << (8 * variables.len()) {
        let mut values = Assignment::new();
        for (index, &var) in variables.iter().enumerate() {
            values.set(var, u64::from(number >> (8 * index) & 0xff));
        }
        assert!(!arena.holds(goal, &values));
    }
}

/// Simplified expressions mean what the operators mean: each random operator is
/// built and evaluated, and computed from the values of its operands.
#[test]
fn simplification_keeps_the_meaning() {
    let numbers = Op::Add as u8..=Op::Sle as u8;
    let ops: Vec<Op> = numbers.filter_map(Op::from_u8).collect();
    let mut arena = Arena::new();
    let mut checked = 0;
    for seed in 0..3000 {
        let mut generator = Generator::new(&mut arena, seed + 1, wide_shape());
        let width = generator.random.pick(&[1, 7, 8, 16, 32, 64, 100, 128]);
        let (a, b) = (generator.expr(width, 2), generator.expr(width, 2));
        let op = generator.random.pick(&ops);
        let values = hint(&mut generator.random, 6);
        let whole = arena.binary(op, a, b).unwrap();
        let (x, y) = (arena.evaluate(a, &values), arena.evaluate(b, &values));
        let (x, y) = (
            arena.constant_wide(&x).unwrap(),
            arena.constant_wide(&y).unwrap(),
        );
        let expected = arena.binary(op, x, y).unwrap();
        let expected = arena.constant_value(expected).unwrap();
        assert_eq!(
            arena.evaluate(whole, &values),
            expected,
            "{op:?} seed {seed}"
        );
        checked += 1;
    }
    assert_eq!(checked, 3000);
}

/// What is written can be read back, and means the same.
#[test]
fn scripts_round_trip() {
    for seed in 1..300 {
        let mut arena = Arena::new();
        let mut generator = Generator::new(&mut arena, seed * 31, wide_shape());
        let prefix: Vec<Expr> = (0..3).map(|_| generator.condition(3)).collect();
        let (goal, soft) = (generator.condition(3), [generator.condition(1)]);
        let hint = hint(&mut generator.random, 6);
        let bounds = bounds();
        let query = Query {
            prefix: &prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &soft,
        };
        let script = arena.smt2(&query).unwrap();
        let mut other = Arena::new();
        let read = other
            .read_smt2(&script)
            .unwrap_or_else(|error| panic!("{error}\n{script}"));
        assert_eq!((&read.hint, &read.bounds), (&hint, &bounds));
        assert_eq!(read.prefix.len(), 3);
        let mut random = Random::new(seed);
        for _ in 0..20 {
            let mut values = Assignment::new();
            for offset in 0..6 {
                values.set_byte(0, offset, random.next() as u8);
            }
            values.set(Var::Length { stream: 0 }, random.below(CAPACITY + 1));
            for (&ours, &theirs) in prefix
                .iter()
                .chain([&goal])
                .zip(read.prefix.iter().chain([&read.goal]))
            {
                assert_eq!(
                    arena.holds(ours, &values),
                    other.holds(theirs, &values),
                    "{script}"
                );
            }
            assert_eq!(
                arena.holds(soft[0], &values),
                other.holds(read.soft[0], &values)
            );
        }
    }
}

/// A hard multiplication does not outlive its time limit.
#[test]
fn hard_queries_end_in_unknown() {
    let mut arena = Arena::new();
    let number = |arena: &mut Arena, from: u32| {
        let mut whole = arena.input(0, from);
        for offset in from + 1..from + 8 {
            let byte = arena.input(0, offset);
            whole = arena.concat(whole, byte).unwrap();
        }
        arena.zext(whole, 128).unwrap()
    };
    let (a, b) = (number(&mut arena, 0), number(&mut arena, 8));
    let product = arena.binary(Op::Mul, a, b).unwrap();
    // The product of two primes of 62 bits: the factors are not found by chance.
    let target = 4611686018427387847u128 * 4611686018427387817u128;
    let target = arena
        .constant_wide(&changeling_solver::Value::new(128, target))
        .unwrap();
    let goal = arena.eq(product, target).unwrap();
    let one = arena.constant(128, 1).unwrap();
    let proper = arena.binary(Op::Ult, one, a).unwrap();
    let proper_b = arena.binary(Op::Ult, one, b).unwrap();
    let time_limit = Duration::from_millis(300);
    let mut solver = Solver::new(Settings {
        time_limit,
        ..Settings::default()
    });
    let (hint, bounds) = (Assignment::new(), Bounds::new(vec![16]));
    let query = Query {
        prefix: &[proper, proper_b],
        goal,
        hint: &hint,
        bounds: &bounds,
        soft: &[],
    };
    assert!(matches!(
        solver.solve(&mut arena, &query),
        Answer::Unknown(_)
    ));
    assert_eq!(solver.statistics().unknown, 1);
}
