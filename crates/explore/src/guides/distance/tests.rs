use super::*;
use changeling_analysis::Graphs;
use changeling_program::{
    BinaryOp, BlockId, Builder, FunctionBuilder, Predicate, Program, Shape, Site, Value,
};
use changeling_trace::sites::SiteTable;

/// A branch with its distance and the sides that lead on; all others have no say.
type Found = Vec<(Site, u32, u64)>;

const THEN: u64 = 1;
const OTHERWISE: u64 = 2;

fn distances(program: &Program, goal: Value) -> Found {
    let graphs = Graphs::new(program);
    let table = SiteTable::default();
    let facts = Facts::new(program, &graphs, &table, None).expect("no deadline");
    let block = program.instruction(goal.site().expect("a site")).block;
    let goals = [Spot { block, side: None }];
    let found = Surveyor::new(&facts).distances(&goals, None, None);
    let branches = found.branches.into_iter();
    let mut list: Found = branches
        .map(|(site, (n, sides))| (Site(site), n, sides))
        .collect();
    list.sort_unstable();
    list
}

/// A branch on whether a value is positive.
fn decide(f: &mut FunctionBuilder<'_>, value: Value, then: usize, otherwise: usize) -> Site {
    let zero = f.int(0);
    let condition = f.compare(Predicate::Sgt, value, zero);
    let (then, otherwise): (BlockId, BlockId) = (f.block(then), f.block(otherwise));
    f.branch(condition, then, otherwise);
    Site(condition.site().expect("a site").0 + 1)
}

/// `if(x>0){ y=2; if(x-y>0) o=y; else o=0; } else o=-1; if(x>20) o=10; output(o);` and the way to `y=2`.
#[test]
fn only_the_first_condition_has_a_say() {
    let mut b = Builder::new();
    let output = b.declare("output", 1);
    let main = b.declare("main", 1);
    let [y, o] = ["y", "o"].map(|name| Value::Global(b.global(name, 4, None)));
    let mut f = b.define(main, 8);
    f.start(0);
    let x = f.argument(0);
    let first = decide(&mut f, x, 1, 4);
    f.start(1);
    let (two, twenty) = (f.int(2), f.int(20));
    let goal = f.binary(BinaryOp::Add, two, two);
    f.store(two, y);
    let value = f.load(y);
    let difference = f.binary(BinaryOp::Sub, x, value);
    decide(&mut f, difference, 2, 3);
    for block in [2, 3, 4] {
        f.start(block);
        let number = f.int(block as i32);
        f.store(number, o);
        f.jump(f.block(5));
    }
    f.start(5);
    let difference = f.binary(BinaryOp::Sub, x, twenty);
    decide(&mut f, difference, 6, 7);
    f.start(6);
    f.store(twenty, o);
    f.jump(f.block(7));
    f.start(7);
    let value = f.load(o);
    f.call(output, &[value]);
    f.ret(None);
    assert_eq!(distances(&b.finish(), goal), [(first, 1, THEN)]);
}

/// Steps into functions count nothing, whether they are called by name or through a pointer; the shortest way counts.
#[test]
fn calls_are_no_decisions() {
    let mut b = Builder::new();
    let int = b.integer_type(32);
    let [inner, outer, main] = ["inner", "outer", "main"].map(|name| b.declare(name, 1));
    let pointer = b.global("pointer", 8, Some(Value::Function(outer)));
    let shape = Shape::Function {
        result: int,
        parameters: vec![int],
        variadic: false,
    };
    let signature = b.ty(shape, None);
    let mut f = b.define(inner, 3);
    f.start(0);
    let x = f.argument(0);
    let inside = decide(&mut f, x, 1, 2);
    f.start(1);
    let goal = f.binary(BinaryOp::Add, x, x);
    f.jump(f.block(2));
    f.start(2);
    f.ret(Some(x));
    let mut f = b.define(outer, 1);
    f.start(0);
    let x = f.argument(0);
    let result = f.call(inner, &[x]);
    f.ret(Some(result));
    // Over `outer` if x is positive; else, if it is positive all the same, at once.
    let mut f = b.define(main, 5);
    f.start(0);
    let x = f.argument(0);
    let first = decide(&mut f, x, 1, 2);
    f.start(1);
    let target = f.load_pointer(Value::Global(pointer));
    f.call_pointer(target, signature, &[x]);
    f.jump(f.block(4));
    f.start(2);
    let second = decide(&mut f, x, 3, 4);
    f.start(3);
    f.call(inner, &[x]);
    f.jump(f.block(4));
    f.start(4);
    f.ret(Some(x));
    let expected = [(inside, 1, THEN), (first, 2, THEN), (second, 2, THEN)];
    assert_eq!(distances(&b.finish(), goal), expected);
}

/// `check(x)` leaves if x is positive. The goals are behind the call: where it came back, and where it has thrown.
fn behind_a_call(leave: &str, catches: bool) -> (Program, Site, Vec<Value>) {
    let mut b = Builder::new();
    let leave = b.declare(leave, 1);
    b.no_return(leave);
    let (check, main) = (b.declare("check", 1), b.declare("main", 1));
    let mut f = b.define(check, 3);
    f.start(0);
    let x = f.argument(0);
    let decision = decide(&mut f, x, 1, 2);
    f.start(1);
    f.call(leave, &[x]);
    f.unreachable();
    f.start(2);
    f.ret(Some(x));
    let mut f = b.define(main, 3);
    f.start(0);
    let x = f.argument(0);
    if catches {
        f.invoke(check, &[x], f.block(1), f.block(2));
    } else {
        f.call(check, &[x]);
        f.jump(f.block(1));
    }
    let goals = [1, 2].map(|block| {
        f.start(block);
        let goal = f.binary(BinaryOp::Add, x, x);
        f.ret(Some(goal));
        goal
    });
    (b.finish(), decision, goals.to_vec())
}

#[test]
fn who_leaves_decides_about_what_comes_behind() {
    for leave in ["exit", "longjmp", "__cxa_throw"] {
        let (program, decision, goals) = behind_a_call(leave, false);
        let found = distances(&program, goals[0]);
        assert_eq!(found, [(decision, 1, OTHERWISE)], "{leave}");
    }
    let (program, decision, goals) = behind_a_call("__cxa_throw", true);
    let found = distances(&program, goals[0]);
    assert_eq!(found, [(decision, 1, OTHERWISE)]);
    let found = distances(&program, goals[1]);
    assert_eq!(found, [(decision, 1, THEN)], "it leads to the handler");
}

/// `if (x) b = 1; else b = 0; if (b) c = 1; else c = 0; if (c)` and the way to what follows: only x comes from outside.
#[test]
fn what_was_decided_before_decides_all_the_way() {
    let mut b = Builder::new();
    let main = b.declare("main", 1);
    let mut f = b.define(main, 8);
    f.start(0);
    let (x, zero, one) = (f.argument(0), f.int(0), f.int(1));
    let first = decide(&mut f, x, 1, 2);
    for block in [1, 2] {
        f.start(block);
        f.jump(f.block(3));
    }
    f.start(3);
    let [yes, no] = [1, 2].map(|block| f.block(block));
    let flag = f.phi(&[(one, yes), (zero, no)]);
    let second = decide(&mut f, flag, 5, 4);
    f.start(4);
    f.jump(f.block(5));
    f.start(5);
    let [yes, no] = [3, 4].map(|block| f.block(block));
    let copy = f.phi(&[(one, yes), (zero, no)]);
    let third = decide(&mut f, copy, 6, 7);
    f.start(6);
    let goal = f.binary(BinaryOp::Add, x, x);
    f.jump(f.block(7));
    f.start(7);
    f.ret(Some(x));
    let found = distances(&b.finish(), goal);
    let sides: Vec<_> = found
        .iter()
        .map(|(site, _, sides)| (*site, *sides))
        .collect();
    assert_eq!(sides, [(first, THEN), (second, THEN), (third, THEN)]);
}
