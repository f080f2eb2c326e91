use super::*;
use crate::guides::conditions::compare as compare_values;
use changeling_changes::{Sources, compare};
use changeling_program::{Builder, FunctionBuilder};
use changeling_solver::Assignment;

const PREDICATES: [Predicate; 10] = [
    Predicate::Eq,
    Predicate::Ne,
    Predicate::Ugt,
    Predicate::Uge,
    Predicate::Ult,
    Predicate::Ule,
    Predicate::Sgt,
    Predicate::Sge,
    Predicate::Slt,
    Predicate::Sle,
];

fn compared(predicate: Predicate) -> Compared {
    Compared {
        site: Site(1),
        predicate,
        bits: 4,
        constants: [None, None],
    }
}

#[test]
fn nothing_is_between_operands_and_the_outcome_that_they_have() {
    for predicate in PREDICATES {
        for (a, b) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b))) {
            let outcome = compare_values(predicate, a, b, 4).unwrap();
            let compared = compared(predicate);
            assert_eq!(
                compared.distance([a, b], outcome),
                0,
                "{predicate:?} {a} {b}"
            );
            assert_ne!(
                compared.distance([a, b], !outcome),
                0,
                "{predicate:?} {a} {b}"
            );
        }
    }
}

#[test]
fn the_solver_is_asked_for_the_same_distance() {
    let mut arena = Arena::new();
    // Operands come with 64 bits, of which four count.
    let operands = [0, 1].map(|at| arena.input(0, at));
    let operands = operands.map(|byte| arena.zext(byte, 64).unwrap());
    for predicate in PREDICATES {
        let compared = compared(predicate);
        for (outcome, most) in [false, true].into_iter().zip([0, 3]) {
            let within = compared.within(&mut arena, operands, outcome, most);
            let within = within.unwrap();
            for (a, b) in (0..16u64).flat_map(|a| (0..16u64).map(move |b| (a, b))) {
                let mut input = Assignment::default();
                for (offset, value) in [(0, a), (1, b)] {
                    input.set(changeling_solver::Var::Byte { stream: 0, offset }, value);
                }
                let near = compared.distance([a, b], outcome) <= most;
                // Being unequal takes one step, and is asked for as such.
                let near = match compared.demand(outcome) {
                    Demand::Unequal => a != b,
                    _ => near,
                };
                assert_eq!(arena.holds(within, &input), near, "{predicate:?} {a} {b}");
            }
        }
    }
}

/// A function that compares its argument, which is changed on the way, in `main` and in one that is called.
fn program(limit: i32, body: impl Fn(&mut FunctionBuilder<'_>)) -> Program {
    let mut builder = Builder::new();
    let int = builder.integer_type(32);
    let test = builder.declare_typed("test", &[int], int);
    let main = builder.declare("main", 1);
    let mut f = builder.define(test, 3);
    f.start(0);
    let limit = f.int(limit);
    let argument = f.argument(0);
    let less = f.compare(Predicate::Slt, argument, limit);
    let (then, otherwise) = (f.block(1), f.block(2));
    f.branch(less, then, otherwise);
    for (block, result) in [(1, 1), (2, 0)] {
        f.start(block);
        let result = f.int(result);
        f.ret(Some(result));
    }
    body(&mut builder.define(main, 1));
    builder.finish()
}

fn found(base: &Program, head: &Program) -> Vec<Gauge> {
    let changes = compare(base, head, &Sources::default());
    assert!(!changes.changes.is_empty());
    Gauge::find([base, head], &changes)
}

fn calling(by: BinaryOp) -> impl Fn(&mut FunctionBuilder<'_>) {
    move |f: &mut FunctionBuilder<'_>| {
        f.start(0);
        let (argument, two) = (f.argument(0), f.int(2));
        let value = f.binary(by, argument, two);
        let result = f.call(FunctionId(0), &[value]);
        f.ret(Some(result));
    }
}

#[test]
fn a_changed_limit_is_gauged_in_both_versions() {
    let gauges = found(
        &program(4, calling(BinaryOp::Mul)),
        &program(5, calling(BinaryOp::Mul)),
    );
    let [Gauge { compared }] = &gauges[..] else {
        panic!("{gauges:?}");
    };
    let limits = compared.map(|compared| compared.map(|compared| compared.constants));
    assert_eq!(limits, [Some([None, Some(4)]), Some([None, Some(5)])]);
    // The limit is known: there is a probe for the other operand only.
    for side in Side::BOTH {
        let probes: Vec<_> = Gauge::probes(&gauges, side).collect();
        assert_eq!(probes.len(), 1);
        let (_, operand, code) = probes[0];
        assert_eq!((operand, probe::gauged(code)), (0, Some((0, 0))));
    }
}

#[test]
fn what_was_changed_is_followed_into_calls() {
    let gauges = found(
        &program(4, calling(BinaryOp::Mul)),
        &program(4, calling(BinaryOp::Add)),
    );
    assert_eq!(gauges.len(), 1, "{gauges:?}");
}
