//! Worked examples: what a search asks, with literal expectations.

use changeling_solver::{
    Answer, Arena, Assignment, Bounds, Expr, Op, Query, Reason, Settings, Solver, TypeError, Var,
};
use changeling_trace::Node;
use changeling_trace::input::{Input, Stream, StreamKind};
use changeling_trace::node::{A_CONST, B_CONST};

fn input(bytes: &[u8], capacity: usize) -> Input {
    let stream = Stream {
        kind: StreamKind::Stdin,
        name: String::new(),
        capacity,
        bytes: bytes.to_vec(),
    };
    Input {
        streams: vec![stream],
        arguments: vec![],
    }
}

fn solve(arena: &mut Arena, shape: &Input, prefix: &[Expr], goal: Expr, soft: &[Expr]) -> Answer {
    let (hint, bounds) = (Assignment::from_input(shape), Bounds::from_input(shape));
    let mut solver = Solver::new(Settings::default());
    let answer = solver.solve(
        arena,
        &Query {
            prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft,
        },
    );
    assert_eq!(solver.statistics().wrong_models, 0);
    answer
}

fn bytes(answer: Answer, shape: &Input) -> Vec<u8> {
    match answer {
        Answer::Sat(model) => model.to_input(shape).streams[0].bytes.clone(),
        other => panic!("expected a model, got {other:?}"),
    }
}

fn compare(arena: &mut Arena, op: Op, e: Expr, value: u64) -> Expr {
    let constant = arena.constant(arena.width(e), value).unwrap();
    arena.binary(op, e, constant).unwrap()
}

/// `n = 10 * n + (c - '0')` over the first `count` bytes, 32 bits.
fn atoi(arena: &mut Arena, count: u32) -> Expr {
    let mut value = arena.constant(32, 0).unwrap();
    for offset in 0..count {
        let byte = arena.input(0, offset);
        let digit = arena.zext(byte, 32).unwrap();
        let zero = arena.constant(32, 48).unwrap();
        let digit = arena.binary(Op::Sub, digit, zero).unwrap();
        let ten = arena.constant(32, 10).unwrap();
        let scaled = arena.binary(Op::Mul, value, ten).unwrap();
        value = arena.binary(Op::Add, scaled, digit).unwrap();
    }
    value
}

fn digits(arena: &mut Arena, count: u32) -> Vec<Expr> {
    (0..count)
        .map(|offset| {
            let byte = arena.input(0, offset);
            let zero = arena.constant(8, 48).unwrap();
            let digit = arena.binary(Op::Sub, byte, zero).unwrap();
            compare(arena, Op::Ult, digit, 10)
        })
        .collect()
}

#[test]
fn unconstrained_bytes_keep_their_values() {
    let mut arena = Arena::new();
    let shape = input(b"hello", 8);
    let byte = arena.input(0, 1);
    let goal = compare(&mut arena, Op::Eq, byte, b'a'.into());
    assert_eq!(
        bytes(solve(&mut arena, &shape, &[], goal, &[]), &shape),
        b"hallo"
    );
}

#[test]
fn a_number_is_found_through_its_digits() {
    let mut arena = Arena::new();
    let shape = input(b"0000x", 8);
    let prefix = digits(&mut arena, 4);
    let value = atoi(&mut arena, 4);
    let goal = compare(&mut arena, Op::Eq, value, 1234);
    assert_eq!(
        bytes(solve(&mut arena, &shape, &prefix, goal, &[]), &shape),
        b"1234x"
    );
    let goal = compare(&mut arena, Op::Eq, value, 12345);
    assert!(matches!(
        solve(&mut arena, &shape, &prefix, goal, &[]),
        Answer::Unsat(_)
    ));
}

#[test]
fn the_core_names_only_what_contradicts() {
    let mut arena = Arena::new();
    let shape = input(b"abc", 8);
    let [a, b, c] = [0, 1, 2].map(|offset| arena.input(0, offset));
    let prefix = [
        compare(&mut arena, Op::Ult, a, b'z'.into()),
        compare(&mut arena, Op::Ult, b, b'k'.into()),
        compare(&mut arena, Op::Ult, c, b'k'.into()),
    ];
    let goal = compare(&mut arena, Op::Eq, b, b'q'.into());
    assert_eq!(
        solve(&mut arena, &shape, &prefix, goal, &[]),
        Answer::Unsat(vec![1])
    );
    let opposite = arena.not(prefix[2]);
    assert_eq!(
        solve(&mut arena, &shape, &prefix, opposite, &[]),
        Answer::Unsat(vec![2])
    );
}

#[test]
fn lengths_change_as_little_as_possible() {
    let mut arena = Arena::new();
    let shape = input(b"abc", 8);
    let length = arena.length(0);
    let longer = {
        let least = arena.constant(64, 4).unwrap();
        arena.binary(Op::Ult, least, length).unwrap()
    };
    assert_eq!(
        bytes(solve(&mut arena, &shape, &[], longer, &[]), &shape),
        b"abcAA"
    );
    let shorter = compare(&mut arena, Op::Ult, length, 2);
    assert_eq!(
        bytes(solve(&mut arena, &shape, &[], shorter, &[]), &shape),
        b"a"
    );
    let beyond = {
        let most = arena.constant(64, 8).unwrap();
        arena.binary(Op::Ult, most, length).unwrap()
    };
    assert_eq!(
        solve(&mut arena, &shape, &[], beyond, &[]),
        Answer::Unsat(vec![])
    );
}

/// The length is found by the embedded solver when it is tied to a byte.
#[test]
fn lengths_tied_to_bytes() {
    let mut arena = Arena::new();
    let shape = input(b"abc", 20);
    let (length, byte) = (arena.length(0), arena.input(0, 0));
    let wide = arena.zext(byte, 64).unwrap();
    let product = arena.binary(Op::Mul, length, wide).unwrap();
    let goal = compare(&mut arena, Op::Eq, product, 13 * 17);
    let answer = solve(&mut arena, &shape, &[], goal, &[]);
    let Answer::Sat(model) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(model.length(0) * u64::from(model.byte(0, 0)), 13 * 17);
}

#[test]
fn soft_conditions_are_kept_in_order() {
    let mut arena = Arena::new();
    let shape = input(b"zz", 2);
    let byte = arena.input(0, 0);
    let digit = {
        let zero = arena.constant(8, 48).unwrap();
        let shifted = arena.binary(Op::Sub, byte, zero).unwrap();
        compare(&mut arena, Op::Ult, shifted, 10)
    };
    let five = compare(&mut arena, Op::Eq, byte, b'5'.into());
    let seven = compare(&mut arena, Op::Eq, byte, b'7'.into());
    let letter = compare(&mut arena, Op::Eq, byte, b'a'.into());
    let answer = solve(&mut arena, &shape, &[], digit, &[letter, seven, five]);
    assert_eq!(bytes(answer, &shape), b"7z");
}

#[test]
fn several_solutions_are_distinct_and_complete() {
    let mut arena = Arena::new();
    let shape = input(b"0", 1);
    let byte = arena.input(0, 0);
    let goal = compare(&mut arena, Op::Ult, byte, 5);
    let (hint, bounds) = (Assignment::from_input(&shape), Bounds::from_input(&shape));
    let query = Query {
        prefix: &[],
        goal,
        hint: &hint,
        bounds: &bounds,
        soft: &[],
    };
    let mut solver = Solver::new(Settings::default());
    let mut found: Vec<u8> = solver
        .solutions(&mut arena, &query, 10)
        .iter()
        .map(|model| model.byte(0, 0))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [0, 1, 2, 3, 4]);
}

#[test]
fn a_hint_that_violates_the_prefix_is_mended() {
    let mut arena = Arena::new();
    let shape = input(b"abc", 3);
    let [a, c] = [0, 2].map(|offset| arena.input(0, offset));
    let prefix = [compare(&mut arena, Op::Eq, a, b'x'.into())];
    let goal = compare(&mut arena, Op::Eq, c, b'y'.into());
    assert_eq!(
        bytes(solve(&mut arena, &shape, &prefix, goal, &[]), &shape),
        b"xby"
    );
}

#[test]
fn a_checksum_over_a_table_is_matched() {
    let mut arena = Arena::new();
    let shape = input(b"abcd\0", 5);
    let table: Vec<u8> = (0..=255u8).map(|n| n.wrapping_mul(31) ^ n >> 3).collect();
    let table = arena.add_table(&table, None).unwrap();
    let mut sum = arena.constant(8, 0x5a).unwrap();
    for offset in 0..4 {
        let byte = arena.input(0, offset);
        let mixed = arena.binary(Op::Xor, sum, byte).unwrap();
        let index = arena.zext(mixed, 64).unwrap();
        sum = arena.read(table, index, 8).unwrap();
    }
    let stored = arena.input(0, 4);
    let goal = arena.eq(sum, stored).unwrap();
    let answer = solve(&mut arena, &shape, &[], goal, &[]);
    let Answer::Sat(model) = answer else {
        panic!("{answer:?}")
    };
    assert!(arena.holds(goal, &model));
}

#[test]
fn floating_point_without_an_external_solver_is_unknown() {
    let mut arena = Arena::new();
    let shape = input(&[0; 8], 8);
    let mut bits = arena.input(0, 0);
    for offset in 1..8 {
        let byte = arena.input(0, offset);
        bits = arena.concat(byte, bits).unwrap();
    }
    let one = arena.constant(64, 1f64.to_bits()).unwrap();
    let sum = arena.binary(Op::FAdd, bits, one).unwrap();
    let four = arena.constant(64, 4f64.to_bits()).unwrap();
    let goal = arena.binary(Op::FEq, sum, four).unwrap();
    let answer = solve(&mut arena, &shape, &[], goal, &[]);
    assert_eq!(answer, Answer::Unknown(Reason::Float));
}

#[test]
fn ill_typed_expressions_are_errors() {
    let mut arena = Arena::new();
    let (byte, length) = (arena.input(0, 0), arena.length(0));
    let error = arena.binary(Op::Add, byte, length).unwrap_err();
    assert_eq!(
        error,
        TypeError::Widths {
            op: Op::Add,
            left: 8,
            right: 64
        }
    );
    assert_eq!(
        error.to_string(),
        "Add needs operands of equal width, got 8 and 64 bits"
    );
    assert!(arena.extract(byte, 4, 5).is_err());
    assert!(arena.extract(byte, u32::MAX, 2).is_err());
    assert!(arena.zext(length, 8).is_err());
    assert!(arena.ite(byte, byte, byte).is_err());
    assert!(arena.constant(0, 0).is_err());
    assert!(arena.constant(70_000, 0).is_err());
    assert!(arena.binary(Op::FAdd, byte, byte).is_err());
    assert!(arena.binary(Op::Ite, byte, byte).is_err());
    assert!(arena.unary(Op::Add, byte).is_err());
    let table = arena.add_table(&[1, 2, 3], None).unwrap();
    assert!(arena.read(table, byte, 8).is_err());
    assert!(arena.read(table, length, 12).is_err());
    assert!(arena.add_table(&[1, 2], Some(&[byte])).is_err());
    let shape = input(b"", 1);
    assert_eq!(
        solve(&mut arena, &shape, &[byte], byte, &[]),
        Answer::Unknown(Reason::NotACondition)
    );
}

fn node(op: Op, width: u16, a: u32, b: u32, flags: u8, imm: u64) -> Node {
    Node {
        op: op as u8,
        flags,
        width,
        a,
        b,
        c: 0,
        imm,
        value: 0,
    }
}

#[test]
fn nodes_become_simplified_expressions() {
    let mut arena = Arena::new();
    let nodes = [
        Node::default(),
        node(Op::Input, 8, 0, 0, 0, 3),
        node(Op::ZExt, 32, 1, 0, 0, 0),
        node(
            Op::Add,
            32,
            2,
            0,
            B_CONST,
            48u64.wrapping_neg() & 0xffff_ffff,
        ),
        node(Op::Ult, 1, 3, 0, B_CONST, 10),
        node(Op::Concat, 40, 0, 2, A_CONST, 0x7f),
        node(Op::Read, 8, 7, 0, 0, 0),
        node(Op::ZExt, 64, 1, 0, 0, 0),
        node(Op::Read, 8, 7, 0, 0, 0),
    ];
    // A table of 4 bytes whose second byte is byte 0 of label 1.
    let mut tables = Vec::new();
    tables.extend(4u32.to_le_bytes());
    tables.extend(1u32.to_le_bytes());
    tables.extend([10, 11, 12, 13]);
    for cell in [0u32, 1, 0, 0] {
        tables.extend(cell.to_le_bytes());
    }
    let map = arena.import(&nodes, &tables, &[4, 5, 8]).unwrap();
    assert_eq!(
        arena.display(map.get(4).unwrap()),
        "in0[3] >= '0' && in0[3] < ':'"
    );
    assert_eq!(arena.width(map.get(5).unwrap()), 40);
    assert_eq!(map.get(6), None);
    assert_eq!(
        arena.variables(map.get(8).unwrap()),
        [Var::Byte {
            stream: 0,
            offset: 3
        }]
    );
    let mut values = Assignment::new();
    for (byte, expected) in [(1u8, 1), (2, 12), (9, 0)] {
        values.set_byte(0, 3, byte);
        assert_eq!(
            arena.evaluate(map.get(8).unwrap(), &values).low_u64(),
            expected
        );
    }
}

#[test]
fn broken_traces_are_errors() {
    let mut arena = Arena::new();
    let bad = |arena: &mut Arena, nodes: &[Node], root: u32| {
        arena
            .import(nodes, &[1, 0, 0], &[root])
            .unwrap_err()
            .to_string()
    };
    let leaf = node(Op::Input, 8, 0, 0, 0, 0);
    let zero = Node::default();
    assert!(bad(&mut arena, &[zero], 9).contains("no such node"));
    assert!(bad(&mut arena, &[zero, Node { op: 200, ..leaf }], 1).contains("unknown operator 200"));
    assert!(
        bad(&mut arena, &[zero, node(Op::ZExt, 16, 1, 0, 0, 0)], 1)
            .contains("does not come before")
    );
    assert!(bad(&mut arena, &[zero, leaf, node(Op::Add, 16, 1, 1, 0, 0)], 2).contains("width"));
    assert!(
        bad(
            &mut arena,
            &[zero, leaf, node(Op::Add, 8, 1, 0, A_CONST | B_CONST, 0)],
            2
        )
        .len()
            > 5
    );
    assert!(
        bad(
            &mut arena,
            &[
                zero,
                leaf,
                node(Op::ZExt, 64, 1, 0, 0, 0),
                node(Op::Read, 8, 2, 0, 0, 0)
            ],
            3
        )
        .contains("no table at offset 0")
    );
    assert!(
        bad(
            &mut arena,
            &[zero, leaf, node(Op::Extract, 8, 1, 0, 0, 4)],
            2
        )
        .contains("bits 4..12")
    );
}

/// The byte of the goal lies behind the hint's end and already has the value
/// that the goal needs: filling up the new bytes must leave it alone.
#[test]
fn growing_keeps_bytes_of_the_goal() {
    let shape = input(b"abc", 9);
    let mut hint = Assignment::from_input(&shape);
    hint.set_byte(0, 4, 2);
    hint.set_byte(0, 5, 7);
    let mut arena = Arena::new();
    let length = arena.length(0);
    let long = compare(&mut arena, Op::Eq, length, 6);
    let byte = arena.input(0, 4);
    let same = compare(&mut arena, Op::Eq, byte, 2);
    let goal = arena.binary(Op::And, long, same).unwrap();
    let query = Query {
        prefix: &[],
        goal,
        hint: &hint,
        bounds: &Bounds::from_input(&shape),
        soft: &[],
    };
    let mut solver = Solver::new(Settings::default());
    let Answer::Sat(model) = solver.solve(&mut arena, &query) else {
        panic!("a length of 6 is a solution");
    };
    assert!(arena.holds(goal, &model), "{model:?}");
    assert_eq!(model.length(0), 6);
    assert_eq!((model.byte(0, 3), model.byte(0, 5)), (b'A', b'A'));
}

/// The bounds of a number of ten digits leave one value for each digit, and no SAT solver is needed.
#[test]
fn numbers_at_their_limit_are_sums_of_digits() {
    let mut arena = Arena::new();
    let shape = input(b"1111111111", 12);
    let mut prefix = digits(&mut arena, 10);
    // 64 bits, so that nothing wraps around.
    let mut value = arena.constant(64, 0).unwrap();
    for offset in 0..10 {
        let byte = arena.input(0, offset);
        let digit = arena.zext(byte, 64).unwrap();
        let zero = arena.constant(64, 48).unwrap();
        let digit = arena.binary(Op::Sub, digit, zero).unwrap();
        let ten = arena.constant(64, 10).unwrap();
        let scaled = arena.binary(Op::Mul, value, ten).unwrap();
        value = arena.binary(Op::Add, scaled, digit).unwrap();
    }
    let small = compare(&mut arena, Op::Sle, value, i32::MAX as u64);
    prefix.push(small);
    let below = compare(&mut arena, Op::Sle, value, i32::MAX as u64 - 1);
    let goal = arena.not(below);
    let (hint, bounds) = (Assignment::from_input(&shape), Bounds::from_input(&shape));
    let mut settings = Settings::default();
    settings.layers.embedded = false;
    let mut solver = Solver::new(settings);
    let mut ask = |arena: &mut Arena, prefix: &[Expr], goal: Expr| {
        let query = Query {
            prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        solver.solve(arena, &query)
    };
    let answer = ask(&mut arena, &prefix, goal);
    assert_eq!(bytes(answer, &shape), b"2147483647");
    // With ten digits there is none above 9999999999, and the tenth power needs all of them.
    let above = compare(&mut arena, Op::Ult, value, 10_000_000_000);
    let above = arena.not(above);
    let answer = ask(&mut arena, &prefix[..10], above);
    assert_eq!(answer, Answer::Unsat((0..10).collect()));
}

/// What a goal contradicts is remembered: everything that the contradiction rests on must be in it, also what
/// only bounds a product.
#[test]
fn bounds_of_products_are_reasons() {
    let mut arena = Arena::new();
    let shape = input(b"\x01\x01", 2);
    let (hint, bounds) = (Assignment::from_input(&shape), Bounds::from_input(&shape));
    let bytes = [0, 1].map(|offset| arena.input(0, offset));
    let small = bytes.map(|byte| compare(&mut arena, Op::Ult, byte, 10));
    let wide = bytes.map(|byte| arena.zext(byte, 32).unwrap());
    let product = arena.binary(Op::Mul, wide[0], wide[1]).unwrap();
    let hundred = arena.constant(32, 100).unwrap();
    let goal = arena.binary(Op::Ult, hundred, product).unwrap();
    let mut solver = Solver::new(Settings::default());
    let mut ask = |prefix: &[Expr]| {
        let query = Query {
            prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        solver.solve(&mut arena, &query)
    };
    match ask(&small) {
        Answer::Unsat(core) => assert_eq!(core, [0, 1]),
        other => panic!("nine times nine is 81, got {other:?}"),
    }
    assert!(matches!(ask(&[]), Answer::Sat(_)));
}

/// `accounts[i].balance` where each balance is what a digit has left of it: none of them is below -250, whichever `i` is.
#[test]
fn what_stands_in_an_array_has_bounds() {
    let mut arena = Arena::new();
    let shape = input(b"\x01\x01", 2);
    let (hint, bounds) = (Assignment::from_input(&shape), Bounds::from_input(&shape));
    let [place, digit] = [0, 1].map(|offset| arena.input(0, offset));
    let prefix = [
        compare(&mut arena, Op::Ult, place, 4),
        compare(&mut arena, Op::Ult, digit, 10),
    ];
    let zero = arena.constant(64, 0).unwrap();
    let digit = arena.zext(digit, 64).unwrap();
    let left = arena.binary(Op::Sub, zero, digit).unwrap();
    let mut cells = Vec::new();
    for account in 0..4 {
        let owner = compare(&mut arena, Op::Eq, place, account);
        let balance = arena.ite(owner, left, zero).unwrap();
        cells.extend((0..8).map(|byte| arena.extract(balance, 8 * byte, 8).unwrap()));
        // Other fields, whose values are anything.
        let mut others = (0..16).map(|_| arena.input(0, 1));
        cells.extend(others.by_ref());
    }
    let table = arena
        .add_table(&vec![0; cells.len()], Some(&cells))
        .unwrap();
    let index = arena.zext(place, 64).unwrap();
    let stride = arena.constant(64, 24).unwrap();
    let index = arena.binary(Op::Mul, index, stride).unwrap();
    let balance = arena.read(table, index, 64).unwrap();
    let mut settings = Settings::default();
    settings.layers.embedded = false;
    let mut solver = Solver::new(settings);
    let mut ask = |arena: &mut Arena, least: i64| {
        let least = arena.constant(64, least as u64).unwrap();
        let goal = arena.binary(Op::Slt, balance, least).unwrap();
        let query = Query {
            prefix: &prefix,
            goal,
            hint: &hint,
            bounds: &bounds,
            soft: &[],
        };
        solver.solve(arena, &query)
    };
    assert_eq!(ask(&mut arena, -250), Answer::Unsat(vec![0, 1]));
    assert!(matches!(ask(&mut arena, -8), Answer::Sat(_)));
}

#[test]
fn places_between_those_of_an_array_are_none() {
    let mut arena = Arena::new();
    let byte = arena.input(0, 0);
    let index = arena.sext(byte, 64).unwrap();
    let stride = arena.constant(64, 24).unwrap();
    let offset = arena.binary(Op::Mul, index, stride).unwrap();
    let between = compare(&mut arena, Op::Eq, offset, 8);
    assert_eq!(arena.truth(between), Some(false));
    let third = compare(&mut arena, Op::Eq, offset, 72);
    assert_eq!(third, compare(&mut arena, Op::Eq, byte, 3));
}
