use super::*;
use changeling_changes::{Sources, compare};
use changeling_program::{BinaryOp, Builder, FunctionBuilder, Predicate};

/// A function of one number, with a variable and a function of somebody else's.
fn program(blocks: usize, body: impl Fn(&mut FunctionBuilder<'_>, Value, FunctionId)) -> Program {
    let mut builder = Builder::new();
    let pointer = builder.pointer_type();
    let int = builder.integer_type(32);
    let variable = Value::Global(builder.global("variable", 64, None));
    let show = builder.declare_typed("show", &[int, pointer], int);
    let main = builder.declare("main", 1);
    body(&mut builder.define(main, blocks), variable, show);
    builder.finish()
}

fn lockstep(base: &Program, head: &Program) -> Lockstep {
    let changes = compare(base, head, &Sources::default());
    assert!(!changes.changes.is_empty());
    Lockstep::new([base, head], &changes).unwrap()
}

/// (operand, decides) of each probe.
fn probes(lockstep: &Lockstep) -> Vec<(u32, bool)> {
    let probes = lockstep.probes.iter();
    probes.map(|probe| (probe.operand, probe.decides)).collect()
}

fn sees_all(lockstep: &Lockstep) -> bool {
    lockstep.blind.iter().all(BTreeSet::is_empty)
}

#[test]
fn values_are_compared_where_they_are_stored_handed_over_and_returned() {
    let text = |operation: BinaryOp| {
        program(1, move |f, variable, show| {
            f.start(0);
            let two = f.int(2);
            let argument = f.argument(0);
            let changed = f.binary(operation, argument, two);
            let more = f.binary(BinaryOp::Xor, changed, two);
            f.store(more, variable);
            f.call(show, &[changed, variable]);
            f.store(two, variable);
            f.ret(Some(more));
        })
    };
    let found = lockstep(&text(BinaryOp::Mul), &text(BinaryOp::Add));
    assert_eq!(probes(&found), [(0, false); 3]);
    assert!(sees_all(&found));
    // Two values, three uses; what is stored in the end has nothing to do with it.
    assert_eq!(found.resting.each_ref().map(BTreeSet::len), [5, 5]);
}

#[test]
fn conditions_are_compared_and_lead_to_the_same_blocks() {
    let text = |limit: i32, swapped: bool| {
        program(3, move |f, variable, _| {
            f.start(0);
            let limit = f.int(limit);
            let argument = f.argument(0);
            let less = f.compare(Predicate::Slt, argument, limit);
            let (then, otherwise) = (f.block(1), f.block(2));
            match swapped {
                false => f.branch(less, then, otherwise),
                true => f.branch(less, otherwise, then),
            }
            f.start(1);
            let one = f.int(1);
            f.store(one, variable);
            f.ret(Some(one));
            f.start(2);
            let zero = f.int(0);
            f.ret(Some(zero));
        })
    };
    let found = lockstep(&text(10, false), &text(11, false));
    assert_eq!(probes(&found), [(0, true)]);
    assert!(sees_all(&found));
    let found = lockstep(&text(10, false), &text(10, true));
    assert!(
        found
            .blind
            .iter()
            .all(|blocks| blocks.contains(&BlockId(0)))
    );
}

#[test]
fn what_is_done_elsewhere_or_by_one_version_only_is_blind() {
    let text = |index: i32, extra: bool| {
        program(1, move |f, variable, _| {
            f.start(0);
            let index = f.int(index);
            let argument = f.argument(0);
            let place = f.binary(BinaryOp::Add, argument, index);
            let address = f.indexed(variable, place, 4);
            f.store(argument, address);
            if extra {
                f.store(index, variable);
            }
            f.ret(Some(argument));
        })
    };
    for (base, head) in [((1, false), (2, false)), ((1, false), (1, true))] {
        let found = lockstep(&text(base.0, base.1), &text(head.0, head.1));
        assert!(found.blind.iter().all(|blocks| blocks.len() == 1));
        // Nothing of a blind block counts as compared.
        assert_eq!(probes(&found), []);
    }
}

/// A pointer to contents that were changed tells nothing about them.
#[test]
fn changed_contents_are_seen_only_by_what_reads_them_here() {
    let text = |contents: i32, hands: bool| {
        let mut builder = Builder::new();
        let pointer = builder.pointer_type();
        let int = builder.integer_type(32);
        let contents = builder.integer(contents);
        let table = Value::Global(builder.global("table", 4, Some(contents)));
        let show = builder.declare_typed("show", &[int, pointer], int);
        let main = builder.declare("main", 1);
        let mut f = builder.define(main, 1);
        f.start(0);
        let found = f.load(table);
        if hands {
            f.call(show, &[found, table]);
        }
        f.ret(Some(found));
        builder.finish()
    };
    let found = lockstep(&text(1, false), &text(2, false));
    assert_eq!(probes(&found), [(0, false)]);
    assert!(sees_all(&found));
    let found = lockstep(&text(1, true), &text(2, true));
    assert!(found.blind.iter().all(|blocks| blocks.len() == 1));
}
