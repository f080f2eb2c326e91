//! What is in memory where control goes on that does not come back: stores that follow have not run.

use changeling_analysis::{Graphs, Memory, Slicer};
use changeling_program::{Builder, Constant, FunctionId, Operation, Program, Site, Value};

/// Whether the only store of a function influences what is seen, told from either end.
fn influences(program: &Program, function: FunctionId, seen: Value) -> bool {
    let graphs = Graphs::new(program);
    let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
    let slicer = Slicer::new(program, &graphs, &memory);
    let is_store =
        |site: &Site| matches!(program.instruction(*site).operation, Operation::Store(_));
    let store = program.function(function).sites().find(is_store);
    let (store, seen) = (store.expect("a store"), seen.site().expect("a load"));
    let influences = slicer.forward(&[store]).contains(&seen);
    assert_eq!(slicer.backward(&[seen]).contains(&store), influences);
    influences
}

/// `main` calls `enter`, which calls `fail` and then clears what `fail` has stored; `main` looks at it where `fail` leaves for.
fn seen_past_a_clearing(jumps: bool) -> bool {
    let mut b = Builder::new();
    let leave = b.declare(if jumps { "longjmp" } else { "__cxa_throw" }, 0);
    let setjmp = b.declare("_setjmp", 0);
    let (fail, enter) = (b.declare("fail", 1), b.declare("enter", 1));
    let main = b.declare("main", 1);
    let x = b.global("x", 4, None);
    let mut f = b.define(fail, 3);
    f.start(0);
    let given = f.argument(0);
    f.store(given, Value::Global(x));
    f.branch(given, f.block(1), f.block(2));
    f.start(1);
    f.call(leave, &[]);
    f.unreachable();
    f.start(2);
    f.ret(None);
    let mut f = b.define(enter, 1);
    f.start(0);
    let given = f.argument(0);
    f.call(fail, &[given]);
    let zero = f.int(0);
    f.store(zero, Value::Global(x));
    f.ret(None);
    let mut f = b.define(main, 3);
    f.start(0);
    let given = f.argument(0);
    if jumps {
        let came = f.call(setjmp, &[]);
        f.branch(came, f.block(1), f.block(2));
        f.start(2);
        f.call(enter, &[given]);
        let none = f.int(0);
        f.ret(Some(none));
    } else {
        f.invoke(enter, &[given], f.block(2), f.block(1));
        f.start(2);
        let none = f.int(0);
        f.ret(Some(none));
    }
    f.start(1);
    let seen = f.load(Value::Global(x));
    f.ret(Some(seen));
    let program = b.finish();
    influences(&program, fail, seen)
}

#[test]
fn what_leaves_takes_memory_along() {
    assert!(seen_past_a_clearing(true));
    assert!(seen_past_a_clearing(false));
}

/// A variable of four bytes is filled, so many of its bits are cleared, and it is looked at.
fn seen_past_a_clearing_of(bits: u32) -> bool {
    let mut b = Builder::new();
    let main = b.declare("main", 1);
    let fill = b.declare("fill", 1);
    let x = b.global("x", 4, None);
    let ty = b.integer_type(bits);
    let zero = b.constant(Constant::Integer { ty, bits: 0 });
    let mut f = b.define(fill, 1);
    f.start(0);
    let given = f.argument(0);
    f.store(given, Value::Global(x));
    f.ret(None);
    let mut f = b.define(main, 1);
    f.start(0);
    let given = f.argument(0);
    f.call(fill, &[given]);
    f.store(zero, Value::Global(x));
    let seen = f.load(Value::Global(x));
    f.ret(Some(seen));
    influences(&b.finish(), fill, seen)
}

#[test]
fn what_is_replaced_in_part_is_still_there() {
    assert!(!seen_past_a_clearing_of(32));
    assert!(seen_past_a_clearing_of(8));
}
