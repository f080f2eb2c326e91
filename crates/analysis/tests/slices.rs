//! Slices across calls: through parameters, results, memory and decisions.

use std::collections::BTreeSet;

use changeling_analysis::{Graphs, Memory, Slicer};
use changeling_program::{BinaryOp, Builder, Predicate, Program, Site};

/// `set` writes where it is told to and returns something else; `tell` prints if it is given a positive number.
fn program() -> Program {
    let mut builder = Builder::new();
    let int = builder.integer_type(32);
    let pointer = builder.pointer_type();
    let input = builder.declare("input", 0);
    let print = builder.declare("print", 1);
    let set = builder.declare_typed("set", &[pointer, int], int);
    let tell = builder.declare("tell", 1);
    let main = builder.declare("main", 0);

    let mut f = builder.define(set, 1);
    f.start(0).line(10);
    let (place, v, one) = (f.argument(0), f.argument(1), f.int(1));
    let more = f.binary(BinaryOp::Add, v, one);
    f.store(more, place);
    f.line(11);
    let twice = f.binary(BinaryOp::Mul, v, v);
    f.ret(Some(twice));

    let mut f = builder.define(tell, 3);
    f.start(0).line(20);
    let (x, zero) = (f.argument(0), f.int(0));
    let positive = f.compare(Predicate::Sgt, x, zero);
    f.branch(positive, f.block(1), f.block(2));
    f.start(1).line(21);
    f.call(print, &[one]);
    f.jump(f.block(2));
    f.start(2).line(0);
    f.ret(Some(zero));

    let mut f = builder.define(main, 1);
    f.start(0).line(0);
    let m = f.alloca(4);
    f.line(1);
    let a = f.call(input, &[]);
    f.line(2);
    let b = f.call(input, &[]);
    f.line(3);
    let r = f.call(set, &[m, a]);
    f.line(4);
    let o = f.load(m);
    f.line(5);
    f.call(print, &[r]);
    f.line(6);
    f.call(print, &[o]);
    f.line(7);
    f.call(tell, &[b]);
    f.line(8);
    f.call(print, &[b]);
    f.line(0);
    f.ret(None);
    builder.finish()
}

fn lines(program: &Program, sites: &BTreeSet<Site>) -> Vec<u32> {
    let places = sites.iter().filter_map(|&site| program.place(site));
    let lines: BTreeSet<u32> = places.map(|place| place.line).collect();
    lines.into_iter().collect()
}

#[test]
fn what_goes_into_functions_and_out_of_them() {
    let program = program();
    let graphs = Graphs::new(&program);
    let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
    let slicer = Slicer::new(&program, &graphs, &memory);
    let at = |line: u32| -> Vec<Site> {
        let own = |site: &Site| program.place(*site).is_some_and(|place| place.line == line);
        program.sites().filter(own).collect()
    };
    let forward = |line| lines(&program, &slicer.forward(&at(line)));
    let backward = |line| lines(&program, &slicer.backward(&at(line)));
    assert_eq!(forward(1), [1, 3, 4, 5, 6, 10, 11]);
    assert_eq!(forward(2), [2, 7, 8, 20, 21]);
    assert_eq!(forward(10), [4, 6, 10]);
    assert_eq!(forward(11), [3, 5, 11]);
    assert_eq!(forward(20), [20, 21]);
    assert_eq!(backward(5), [1, 3, 5, 11], "and nothing of what is written");
    assert_eq!(backward(6), [1, 3, 4, 6, 10], "nor of what is returned");
    assert_eq!(backward(21), [2, 7, 20, 21]);
    assert_eq!(backward(8), [2, 8]);
}
