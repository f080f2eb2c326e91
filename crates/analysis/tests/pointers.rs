//! What pointers point to, and whom calls call.

use changeling_analysis::{Distances, Graphs, Memory, Origin};
use changeling_program::{BinaryOp, Builder, Constant, Operation, Predicate, Site, Value};

#[test]
fn fields_are_kept_apart_and_elements_are_not() {
    let mut b = Builder::new();
    let main = b.declare("main", 1);
    let (x, y) = (b.global("x", 4, None), b.global("y", 4, None));
    let mut f = b.define(main, 1);
    f.start(0);
    let pair = f.alloca(16);
    let second = f.address(pair, 8);
    f.store(Value::Global(x), pair);
    f.store(Value::Global(y), second);
    let first = f.load_pointer(pair);
    let other = f.load_pointer(second);
    let list = f.alloca(16);
    let n = f.argument(0);
    let element = f.indexed(list, n, 8);
    f.store(Value::Global(x), element);
    let fixed = f.address(list, 8);
    f.store(Value::Global(y), fixed);
    let any = f.load_pointer(element);
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    let origins = |value| graphs.pointers.origins(main, value);
    assert_eq!(origins(first), [Origin::Global(x)]);
    assert_eq!(origins(other), [Origin::Global(y)]);
    assert_eq!(origins(any), [Origin::Global(x), Origin::Global(y)]);
}

#[test]
fn calls_through_tables_and_callbacks() {
    let mut b = Builder::new();
    let int = b.integer_type(32);
    let pointer = b.pointer_type();
    let visit = b.declare_typed("visit_all", &[pointer, pointer], int);
    let one = b.declare("one", 1);
    let two = b.declare("two", 1);
    let other = b.declare("other", 2);
    let handler = b.declare_typed("handler", &[pointer], int);
    let main = b.declare("main", 1);
    let shape = changeling_program::Shape::Array {
        element: pointer,
        length: 2,
    };
    let table_type = b.ty(shape, Some(16));
    let elements = vec![Value::Function(one), Value::Function(two)];
    let contents = b.constant(Constant::Aggregate {
        ty: table_type,
        elements,
    });
    let table = b.global("table", 16, Some(contents));
    for id in [one, two, other, handler] {
        let mut f = b.define(id, 1);
        f.start(0);
        let zero = f.int(0);
        f.ret(Some(zero));
    }
    let signature = {
        let program_type = changeling_program::Shape::Function {
            result: int,
            parameters: vec![int],
            variadic: false,
        };
        b.ty(program_type, None)
    };
    let mut f = b.define(main, 1);
    f.start(0);
    let n = f.argument(0);
    let slot = f.indexed(Value::Global(table), n, 8);
    let target = f.load_pointer(slot);
    let call = f
        .call_pointer(target, signature, &[n])
        .site()
        .expect("a call");
    let data = f.alloca(8);
    let walk = f
        .call(visit, &[data, Value::Function(handler)])
        .site()
        .expect("a call");
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    assert_eq!(graphs.calls.callees(call).collect::<Vec<_>>(), [one, two]);
    assert_eq!(
        graphs.calls.callees(walk).collect::<Vec<_>>(),
        [visit, handler]
    );
    let given = graphs.pointers.origins(handler, Value::Argument(0));
    assert!(given.contains(&Origin::Stack(data.site().expect("a site"))));
    assert!(graphs.calls.unresolved.is_empty());
}

/// A call goes where its pointer can point to, if the functions there take what it passes; if nobody knows where that is,
/// to all functions of its type whose address is taken.
#[test]
fn calls_go_where_their_pointer_and_their_type_let_them() {
    let mut b = Builder::new();
    let int = b.integer_type(32);
    let pointer = b.pointer_type();
    let own = [("one", 1), ("two", 2), ("other", 1), ("untaken", 1)];
    let [one, two, other, untaken] = own.map(|(name, parameters)| b.declare(name, parameters));
    let main = b.declare("main", 1);
    let names = ["first", "second", "third"];
    let mut functions = names.into_iter().zip([one, two, other]);
    let [first, second, _] = std::array::from_fn(|_| {
        let (name, function) = functions.next().expect("three");
        b.global(name, 8, Some(Value::Function(function)))
    });
    let unknown = b.global("unknown", 8, None);
    let shape = changeling_program::Shape::Function {
        result: int,
        parameters: vec![int],
        variadic: false,
    };
    let signature = b.ty(shape, None);
    for id in [one, two, other, untaken] {
        let mut f = b.define(id, 1);
        f.start(0);
        let zero = f.int(0);
        f.ret(Some(zero));
    }
    let mut f = b.define(main, 4);
    f.start(0);
    let (n, zero) = (f.argument(0), f.int(0));
    let some = f.compare(Predicate::Slt, n, zero);
    f.branch(some, f.block(1), f.block(2));
    let (mut loaded, mut incoming) = (Vec::new(), Vec::new());
    for (block, variable) in [(1, first), (2, second)] {
        f.start(block);
        loaded.push(f.load_pointer(Value::Global(variable)));
        incoming.push(f.block(block));
        f.jump(f.block(3));
    }
    f.start(3);
    let known = f.load_pointer(Value::Global(first));
    let either = f.emit(Operation::Phi { incoming }, pointer, loaded);
    let nowhere = f.load_pointer(Value::Global(unknown));
    let calls = [known, either, nowhere].map(|target| {
        let call = f.call_pointer(target, signature, &[n]);
        call.site().expect("a call")
    });
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    let callees = calls.map(|call| graphs.calls.callees(call).collect::<Vec<_>>());
    assert_eq!(callees, [vec![one], vec![one], vec![one, other]]);
    assert!(graphs.calls.unresolved.is_empty());
    assert_eq!(graphs.calls.callers(other).collect::<Vec<_>>(), [calls[2]]);
    assert_eq!(graphs.calls.callers(two).count(), 0);
}

#[test]
fn what_a_callee_writes_is_seen_behind_the_call() {
    let mut b = Builder::new();
    let int = b.integer_type(32);
    let pointer = b.pointer_type();
    let set = b.declare_typed("set", &[pointer], int);
    let main = b.declare("main", 0);
    let mut f = b.define(set, 1);
    f.start(0);
    let (place, seven) = (f.argument(0), f.int(7));
    f.store(seven, place);
    f.ret(Some(seven));
    let mut f = b.define(main, 1);
    f.start(0);
    let (mine, others) = (f.alloca(4), f.alloca(4));
    let zero = f.int(0);
    f.store(zero, mine);
    f.store(zero, others);
    let call = f.call(set, &[mine]).site().expect("a call");
    let load = f.load(mine).site().expect("a load");
    let untouched = f.load(others).site().expect("a load");
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
    let sources = |site: Site| {
        let cell = memory.access(site).expect("an access").reads[0];
        memory.sources(
            &program,
            &mut memory.trail(&program, &graphs.calls, main, cell),
            Some(site),
        )
    };
    assert_eq!(sources(load).calls, [call]);
    assert!(sources(untouched).calls.is_empty());
    assert_eq!(sources(untouched).definitions.len(), 1);
}

#[test]
fn ten_thousand_blocks_in_one_function() {
    let mut b = Builder::new();
    let main = b.declare("main", 1);
    let count = 10_000;
    let mut f = b.define(main, count + 1);
    let mut branches = Vec::new();
    for n in 0..count {
        f.start(n);
        let (x, bound) = (f.argument(0), f.int(n as i32));
        let condition = f.compare(Predicate::Slt, x, bound);
        // Each condition may leave at once, so each decides about the next.
        f.branch(condition, f.block(n + 1), f.block(count));
        branches.push(Site(condition.site().expect("a site").0 + 1));
    }
    f.start(count);
    f.ret(None);
    let program = b.finish();
    let graphs = Graphs::new(&program);
    let target = branches[count - 1];
    let distances = Distances::new(&program, &graphs, &[target]);
    for (n, &site) in branches[..count - 1].iter().enumerate() {
        assert_eq!(
            distances.of_branch(&graphs, site),
            Some((count - 1 - n) as u32)
        );
    }
    let reach = changeling_analysis::Reach::new(&program, &graphs, &[target]);
    assert!(branches[..count - 1].iter().all(|&site| {
        reach.can_follow(&program, &graphs, site, 0)
            && !reach.can_follow(&program, &graphs, site, 1)
    }));
}

/// Who gets hold of a function may call it when it likes: the loader by its lists, a library by memory that it was given.
#[test]
fn code_outside_calls_what_it_knows_of() {
    /// How the function becomes known.
    #[derive(Clone, Copy, PartialEq)]
    enum Known {
        Nowhere,
        Constructor,
        Section,
        Given(&'static str),
        Inside(&'static str),
        Variable,
        Used,
        Exported,
        Assembler,
    }
    let always = |known: Known| {
        let mut b = Builder::new();
        let (own, main) = (b.declare("own", 1), b.declare("main", 1));
        let pointer = b.pointer_type();
        let (int, void) = (b.integer_type(32), b.void_type());
        let register = match known {
            Known::Given(name) | Known::Inside(name) => b.declare_typed(name, &[pointer], int),
            _ => b.declare_typed("puts", &[pointer], void),
        };
        let list = match known {
            Known::Constructor => "llvm.global_ctors",
            Known::Used => "llvm.compiler.used",
            _ => "list",
        };
        let address = Value::Function(own);
        let listed = [Known::Constructor, Known::Section, Known::Used].contains(&known);
        let contents = listed.then_some(address);
        let list = b.global(list, 8, contents);
        let mut f = b.define(own, 1);
        f.start(0);
        let x = f.argument(0);
        let changed = f.binary(BinaryOp::Add, x, x);
        f.ret(Some(changed));
        let mut f = b.define(main, 3);
        f.start(0);
        let (x, zero) = (f.argument(0), f.int(0));
        match known {
            Known::Given(_) => {
                f.call(register, &[address]);
            }
            Known::Inside(_) => {
                let memory = f.alloca(16);
                let field = f.address(memory, 8);
                f.store(address, field);
                f.call(register, &[memory]);
            }
            Known::Variable => f.store(address, Value::Global(list)),
            _ => {}
        }
        let condition = f.compare(Predicate::Slt, x, zero);
        let decision = Site(condition.site().expect("a site").0 + 1);
        f.branch(condition, f.block(1), f.block(2));
        for block in [1, 2] {
            f.start(block);
            f.ret(Some(zero));
        }
        let mut program = b.finish();
        let list = &mut program.globals[list.index()];
        if known == Known::Section {
            list.section = Some(".init_array.00099".into());
        }
        if known == Known::Variable {
            // It belongs to a library.
            list.initialiser = None;
        }
        if known == Known::Exported {
            program.exported = vec![own];
        }
        if known == Known::Assembler {
            program.assembler = ".globl other\nother: call own\nret\n".into();
        }
        let graphs = Graphs::new(&program);
        let target = changed.site().expect("a site");
        let reach = changeling_analysis::Reach::new(&program, &graphs, &[target]);
        let follows = reach.can_follow(&program, &graphs, decision, 0);
        assert_eq!(follows, reach.can_precede(&graphs, decision));
        // Only of what nobody can call it is said that it never runs.
        assert_eq!(follows, graphs.calls.live(&program)[own.index()]);
        follows
    };
    assert!(!always(Known::Nowhere));
    assert!(!always(Known::Given("puts")));
    for known in [
        Known::Constructor,
        Known::Section,
        Known::Variable,
        Known::Used,
        Known::Exported,
        Known::Assembler,
        Known::Given("library_function"),
        Known::Inside("library_function"),
        Known::Given("qsort"),
        Known::Inside("sigaction"),
        Known::Given("__cxa_throw"),
    ] {
        assert!(always(known));
    }
}

/// Nothing in the program calls the function that decides.
#[test]
fn what_is_called_from_outside_comes_back_to_what_follows() {
    for (known, expected) in [("qsort", true), ("exported", true), ("puts", false)] {
        let mut b = Builder::new();
        let (own, main) = (b.declare("own", 1), b.declare("main", 1));
        let pointer = b.pointer_type();
        let int = b.integer_type(32);
        let register = b.declare_typed(
            if known == "qsort" { known } else { "puts" },
            &[pointer],
            int,
        );
        let mut f = b.define(own, 3);
        f.start(0);
        let (x, zero) = (f.argument(0), f.int(0));
        let condition = f.compare(Predicate::Slt, x, zero);
        let decision = Site(condition.site().expect("a site").0 + 1);
        f.branch(condition, f.block(1), f.block(2));
        for block in [1, 2] {
            f.start(block);
            f.ret(Some(zero));
        }
        let mut f = b.define(main, 1);
        f.start(0);
        f.call(register, &[Value::Function(own)]);
        let x = f.argument(0);
        let changed = f.binary(BinaryOp::Add, x, x);
        f.ret(Some(changed));
        let mut program = b.finish();
        if known == "exported" {
            program.exported = vec![own];
        }
        let graphs = Graphs::new(&program);
        let changed = changed.site().expect("a site");
        let reach = changeling_analysis::Reach::new(&program, &graphs, &[changed]);
        for side in [0, 1] {
            let follows = reach.can_follow(&program, &graphs, decision, side);
            assert_eq!(follows, expected, "{known}");
        }
        assert_eq!(reach.can_precede(&graphs, decision), expected, "{known}");
    }
}
