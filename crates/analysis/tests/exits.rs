//! Calls that do not come back in an ordinary way: what runs behind them depends on what was decided inside.

use changeling_analysis::{Distances, Graphs, Memory, Reach, Slicer};
use changeling_program::{
    BinaryOp, Builder, FunctionBuilder, FunctionId, Operation, Predicate, Program, Site, Value,
};

/// How a function leaves if what it is given is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Exits,
    Throws,
    Jumps,
}

impl Way {
    const ALL: [Way; 3] = [Way::Exits, Way::Throws, Way::Jumps];

    fn symbol(self) -> &'static str {
        match self {
            Way::Exits => "exit",
            Way::Throws => "__cxa_throw",
            Way::Jumps => "longjmp",
        }
    }
}

struct Example {
    program: Program,
    check: FunctionId,
    main: FunctionId,
    /// The branch inside of `check`; its side 0 leaves.
    decision: Site,
    /// The sites that `main` has marked.
    marked: Vec<Site>,
}

/// `check(x)` leaves if x is negative; `main` as given.
fn example(
    way: Way,
    blocks: usize,
    main: impl Fn(&mut FunctionBuilder<'_>, FunctionId, FunctionId) -> Vec<Value>,
) -> Example {
    let mut b = Builder::new();
    let leave = b.declare(way.symbol(), 1);
    b.no_return(leave);
    let setjmp = b.declare("setjmp", 1);
    let check = b.declare("check", 1);
    let own = b.declare("main", 1);
    let mut f = b.define(check, 3);
    f.start(0);
    let (x, zero) = (f.argument(0), f.int(0));
    let negative = f.compare(Predicate::Slt, x, zero);
    f.branch(negative, f.block(1), f.block(2));
    let decision = Site(negative.site().expect("a site").0 + 1);
    f.start(1);
    f.call(leave, &[x]);
    f.unreachable();
    f.start(2);
    f.ret(Some(zero));
    let marked = main(&mut b.define(own, blocks), check, setjmp);
    let sites = marked.iter().map(|value| value.site().expect("a site"));
    Example {
        marked: sites.collect(),
        program: b.finish(),
        check,
        main: own,
        decision,
    }
}

/// Calls `check` and then adds.
fn plain(way: Way) -> Example {
    example(way, 1, |f, check, _| {
        f.start(0);
        let x = f.argument(0);
        f.call(check, &[x]);
        let sum = f.binary(BinaryOp::Add, x, x);
        f.ret(Some(sum));
        vec![sum]
    })
}

/// What `check` throws is caught: block 1 runs if it came back, 2 if not, 3 behind both.
fn caught() -> Example {
    example(Way::Throws, 4, |f, check, _| {
        f.start(0);
        let x = f.argument(0);
        f.invoke(check, &[x], f.block(1), f.block(2));
        let mut sums = Vec::new();
        for block in [1, 2] {
            f.start(block);
            if block == 2 {
                let none = f.int(0);
                // Its type says nothing here.
                f.emit(
                    Operation::LandingPad { cleanup: false },
                    changeling_program::TypeId::new(0),
                    vec![none],
                );
            }
            sums.push(f.binary(BinaryOp::Add, x, x));
            f.jump(f.block(3));
        }
        f.start(3);
        sums.push(f.binary(BinaryOp::Sub, x, x));
        f.ret(Some(x));
        sums
    })
}

fn deciders(example: &Example, graphs: &Graphs, site: Site) -> Vec<(Site, u32)> {
    let flow = graphs.flow.function(example.main);
    let node = flow.node(graphs.flow.segment_of(site));
    let found = graphs.control(example.main).controllers(node);
    let last = |from| graphs.flow.segment(flow.segment(from)).last;
    let found = found.iter();
    found.map(|one| (last(one.from), one.side)).collect()
}

#[test]
fn code_behind_a_call_depends_on_what_was_decided_inside() {
    for way in Way::ALL {
        let example = plain(way);
        let program = &example.program;
        let graphs = Graphs::new(program);
        for function in [example.check, example.main] {
            let exits = graphs.calls.exits(function);
            assert_eq!(exits.halts, way == Way::Exits, "{way:?}");
            assert_eq!(exits.throws, way == Way::Throws, "{way:?}");
            assert_eq!(exits.jumps, way == Way::Jumps, "{way:?}");
        }
        let target = example.marked[0];
        let call = Site(target.0 - 1);
        assert_eq!(deciders(&example, &graphs, target), [(call, 0)], "{way:?}");
        assert_eq!(deciders(&example, &graphs, call), [], "{way:?}");
        let distances = Distances::new(program, &graphs, &[target]);
        let distance = distances.of_branch(&graphs, example.decision);
        assert_eq!(distance, Some(1), "{way:?}");

        let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
        let slicer = Slicer::new(program, &graphs, &memory);
        let back = slicer.backward(&[target]);
        assert!(back.contains(&example.decision), "{way:?}: {back:?}");
        assert!(slicer.forward(&[example.decision]).contains(&target));

        // Who leaves does not come to the target, unless a jump could end in front of it.
        let reach = Reach::new(program, &graphs, &[target]);
        assert!(!reach.can_follow_inside(program, &graphs, example.decision, 0));
        assert!(reach.can_follow(program, &graphs, example.decision, 1));
        assert!(reach.can_follow_return(&graphs, call));
    }
}

#[test]
fn both_ways_out_of_a_call_that_may_throw_depend_on_it() {
    let example = caught();
    let program = &example.program;
    let graphs = Graphs::new(program);
    assert!(graphs.calls.exits(example.check).throws);
    assert!(!graphs.calls.exits(example.main).any(), "all is caught");
    let [back, thrown, behind] = example.marked[..] else {
        panic!("three places");
    };
    let entry = program.function(example.main).first_block;
    let call = program.terminator(entry);
    assert_eq!(deciders(&example, &graphs, back), [(call, 0)]);
    assert_eq!(deciders(&example, &graphs, thrown), [(call, 1)]);
    assert_eq!(deciders(&example, &graphs, behind), []);

    let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
    let slicer = Slicer::new(program, &graphs, &memory);
    for (target, expected) in [(back, Some(1)), (thrown, Some(1)), (behind, None)] {
        let distances = Distances::new(program, &graphs, &[target]);
        let distance = distances.of_branch(&graphs, example.decision);
        assert_eq!(distance, expected, "{target:?}");
        let decides = expected.is_some();
        let forward = slicer.forward(&[example.decision]);
        assert_eq!(forward.contains(&target), decides, "{target:?}");
        let backward = slicer.backward(&[target]);
        assert_eq!(backward.contains(&example.decision), decides, "{target:?}");
    }
    // What is thrown in `check` goes on in the handler and behind it.
    for target in [thrown, behind] {
        let reach = Reach::new(program, &graphs, &[target]);
        assert!(reach.can_follow(program, &graphs, example.decision, 0));
    }
    let reach = Reach::new(program, &graphs, &[thrown]);
    assert!(!reach.can_precede(&graphs, example.decision));
}

/// A jump goes on behind the `setjmp`, on the side that the first return did not take.
#[test]
fn a_jump_goes_on_behind_its_beginning() {
    let example = example(Way::Jumps, 3, |f, check, setjmp| {
        f.start(0);
        let (x, zero) = (f.argument(0), f.int(0));
        let again = f.call(setjmp, &[x]);
        let first = f.compare(Predicate::Eq, again, zero);
        f.branch(first, f.block(1), f.block(2));
        f.start(1);
        f.call(check, &[x]);
        let came_back = f.binary(BinaryOp::Add, x, x);
        f.ret(Some(came_back));
        f.start(2);
        let jumped = f.binary(BinaryOp::Sub, x, x);
        f.ret(Some(jumped));
        vec![first, came_back, jumped]
    });
    let program = &example.program;
    let graphs = Graphs::new(program);
    let [first, came_back, jumped] = example.marked[..] else {
        panic!("three places");
    };
    let branch = Site(first.0 + 1);
    let call = Site(came_back.0 - 1);
    assert_eq!(deciders(&example, &graphs, call), [(branch, 0)]);
    assert_eq!(deciders(&example, &graphs, came_back), [(call, 0)]);
    assert_eq!(deciders(&example, &graphs, jumped), [(branch, 1)]);
    let reach = Reach::new(program, &graphs, &[jumped]);
    assert!(reach.can_follow(program, &graphs, example.decision, 0));
    // The branch behind `setjmp` runs again after the call.
    let reach = Reach::new(program, &graphs, &[call]);
    assert!(reach.can_precede(&graphs, branch));
    assert!(reach.can_precede(&graphs, example.decision));
}
