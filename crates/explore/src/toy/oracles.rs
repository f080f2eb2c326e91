//! The worked examples of the specification, with their exact numbers.

use super::pruning::{ENTERED, PASSED};
use super::runner::Log;
use super::*;
use crate::budget::{Budget, Stopped};
use crate::difference::Kind;
use crate::outcome::{Outcome, Verdict};
use crate::runner::Side;
use crate::sameness::{Comparison, Sameness};
use crate::search::Settings;
use changeling_solver::Arena;
use changeling_trace::Op;
use changeling_trace::sites::SiteTable;
use std::sync::Arc;

fn program(body: impl Fn(&mut Machine) -> Result<(), Stop> + Send + Sync + 'static) -> Program {
    Arc::new(body)
}

/// Searches from the given seeds; the inputs run, in order, and the outcome.
fn search(
    base: &Program,
    head: &Program,
    capacity: usize,
    seeds: &[&[u8]],
    budget: Budget,
) -> (Vec<Vec<u8>>, Outcome) {
    let runner = ToyRunner::new(base.clone(), head.clone());
    let log: Log = runner.log.clone();
    let subject = subject(stdin(capacity, seeds[0]), SiteTable::default());
    let inputs = seeds.iter().map(|seed| stdin(capacity, seed)).collect();
    let settings = Settings {
        budget,
        // Smaller inputs are run too, and are no part of the search.
        reduction_tries: 0,
        ..Settings::default()
    };
    let (outcome, _) = explore(vec![runner], subject, inputs, settings);
    let inputs = log.lock().unwrap().clone();
    (inputs, outcome)
}

fn shown(program: &Program, input: &[u8], capacity: usize) -> crate::Observation {
    let mut machine = Machine::new(&stdin(capacity, input));
    let end = program(&mut machine);
    machine.observation(end)
}

fn runs(most: u64) -> Budget {
    Budget {
        runs: Some(most),
        ..Budget::default()
    }
}

/// A number of 32 bits, one signed byte of the input.
fn number(m: &mut Machine, offset: usize) -> Word {
    let byte = m.byte(offset);
    m.sext(byte, 32)
}

/// `result` is what line 10 assigns: y, or a constant.
fn q1(y: i64, result: fn(i64) -> i64) -> Program {
    program(move |m| {
        let x = number(m, 0);
        let positive = m.above(x, 0);
        let mut o = -1;
        if m.branch(7, positive) {
            let difference = m.against(Op::Sub, x, y);
            let above = m.above(difference, 0);
            o = if m.branch(9, above) { result(y) } else { 0 };
        }
        let large = m.above(x, 20);
        if m.branch(16, large) {
            o = 10;
        }
        m.print(&o.to_string());
        Ok(())
    })
}

#[test]
fn q1_is_exposed_in_three_runs_from_any_second_input() {
    for constant in [false, true] {
        let result = if constant { |_| 1 } else { |y| y };
        let (base, head) = (q1(3, result), q1(2, result));
        let (inputs, outcome) = search(&base, &head, 1, &[&[-1i8 as u8]], runs(3));
        assert_eq!(outcome.verdict, Verdict::Differences, "{inputs:?}");
        assert_eq!(inputs[0], [255]);
        assert!((inputs[1][0] as i8) > 0);
        let first = outcome.stats.runs_to_first_difference.unwrap();
        assert!(first == 3 || first == 2 && !constant && (3..=20).contains(&inputs[1][0]));
        if constant {
            assert_eq!(inputs[2], [3]);
        }
        // Whatever the second input is, the third is 3.
        for second in 1..=127u8 {
            let reveals = (3..=20).contains(&second) && (!constant || second == 3);
            if reveals {
                continue;
            }
            let seeds: [&[u8]; 2] = [&[255], &[second]];
            let (inputs, _) = search(&base, &head, 1, &seeds, runs(3));
            assert_eq!(inputs[2], [3], "second input {second}, constant {constant}");
        }
    }
}

#[test]
fn q1_differs_exactly_from_3_to_20() {
    let (base, head) = (q1(3, |y| y), q1(2, |y| y));
    let differing: Vec<i8> = (-128..=127i8)
        .filter(|x| shown(&base, &[*x as u8], 1) != shown(&head, &[*x as u8], 1))
        .collect();
    assert_eq!(differing, (3..=20).collect::<Vec<i8>>());
    let (inputs, outcome) = search(&base, &head, 1, &[&[255]], Budget::default());
    assert_eq!(outcome.stopped, Stopped::Exhausted);
    // x<=0; 1..=2; 3; 4..=20; 21..
    assert_eq!(outcome.stats.pairs, 5);
    assert_eq!(inputs.len(), 5);
    // Eight decisions, each with one other side: four were taken, four cannot be.
    assert_eq!(outcome.stats.flips, 8);
    assert!(outcome.stats.head_paths == 4 && outcome.stats.base_paths == 4);
}

/// T-5: doubling or adding two, shown only if z is 7. The trace has what `y` is at the end of the changed line, for those who ask.
pub fn t5(op: Op) -> Program {
    program(move |m| {
        let (x, z) = (number(m, 0), number(m, 1));
        m.mark(ENTERED);
        let y = m.against(op, x, 2);
        m.probe(0, false, y);
        m.mark(PASSED);
        let seven = m.against(Op::Eq, z, 7);
        if m.branch(1, seven) {
            m.print_number(2, "%d", y);
        } else {
            m.print("0");
        }
        Ok(())
    })
}

#[test]
fn t5_is_found_although_the_first_runs_are_not_infected() {
    let (base, head) = (t5(Op::Mul), t5(Op::Add));
    let (inputs, outcome) = search(&base, &head, 2, &[&[2, 0]], Budget::default());
    assert_eq!(inputs[0], [2, 0]);
    assert_eq!(inputs[1], [2, 7]);
    assert_eq!(outcome.stats.runs_to_first_difference, Some(3));
    assert!(inputs[2][1] == 7 && inputs[2][0] != 2);
    assert_eq!((inputs.len(), outcome.stats.pairs), (3, 2));
    let revealing = (-8..=8i8)
        .flat_map(|x| (0..=9u8).map(move |z| [x as u8, z]))
        .filter(|input| shown(&base, input, 2) != shown(&head, input, 2));
    let revealing: Vec<[u8; 2]> = revealing.collect();
    assert_eq!(revealing.len(), 16);
    assert!(revealing.iter().all(|[x, z]| *z == 7 && *x != 2));
}

/// Q-9 in 8 bits: `y = x & mask; z = y * k; out z`.
fn q9(mask: i64) -> Program {
    program(move |m| {
        let (x, k) = (m.byte(0), m.byte(1));
        let y = m.against(Op::And, x, mask);
        let z = m.binary(Op::Mul, y, k);
        m.putchar(1, z);
        Ok(())
    })
}

#[test]
fn q9_asks_for_exactly_the_revealing_inputs() {
    let (base, head) = (q9(0xff), q9(0xfe));
    let (inputs, outcome) = search(&base, &head, 2, &[&[1, 0]], Budget::default());
    assert_eq!(outcome.stats.runs_to_first_difference, Some(2));
    assert_eq!(inputs.len(), 2);
    let pair = super::pair_of(&base, &head, &stdin(2, &[1, 0]));
    let mut models = 0;
    for x in 0..=255u8 {
        for k in 0..=255u8 {
            let asked = pair.asks_for(&stdin(2, &[x, k]));
            let reveals = shown(&base, &[x, k], 2) != shown(&head, &[x, k], 2);
            assert_eq!(asked, reveals, "x={x} k={k}");
            models += u32::from(asked);
        }
    }
    assert_eq!(models, 32_640);
}

/// `o=0; if(x>limit) o=1; if(z) o=7; out o`.
fn q10(limit: i64) -> Program {
    program(move |m| {
        let (x, z) = (number(m, 0), number(m, 1));
        let mut o = 0;
        let above = m.above(x, limit);
        if m.branch(1, above) {
            o = 1;
        }
        let nonzero = m.against(Op::Ne, z, 0);
        if m.branch(2, nonzero) {
            o = 7;
        }
        m.print(&o.to_string());
        Ok(())
    })
}

#[test]
fn q10_goes_from_6_1_to_6_0() {
    let (base, head) = (q10(5), q10(6));
    let (inputs, outcome) = search(&base, &head, 2, &[&[6, 1]], Budget::default());
    assert_eq!(outcome.stopped, Stopped::Exhausted);
    let differing: Vec<&Vec<u8>> = inputs
        .iter()
        .filter(|input| shown(&base, input, 2) != shown(&head, input, 2))
        .collect();
    assert_eq!(differing, [&vec![6, 0]]);
    assert_eq!(outcome.differences.len(), 1);
    assert_eq!(outcome.stats.pairs, 6);
}

/// O-61 and its variant of O-72, without the unrelated output.
fn o61(limit: i64) -> Program {
    program(move |m| {
        let (x, y) = (number(m, 0), number(m, 1));
        let sum = m.binary(Op::Add, x, y);
        let large = m.above(sum, 10);
        if m.branch(9, large) {
            let difference = m.binary(Op::Sub, x, y);
            let above = m.above(difference, limit);
            let a = if m.branch(5, above) { x } else { y };
            m.print_number(15, "%d", a);
        } else {
            m.print("2");
        }
        Ok(())
    })
}

#[test]
fn o72_has_one_pair_that_can_differ_of_nine() {
    let (base, head) = (o61(0), o61(2));
    // One input per path of each: sum large and x ahead; sum large and x behind; small.
    let bases = [[12, 1], [5, 6], [6, 2]];
    let heads = [[12, 1], [5, 6], [6, 2]];
    let mut satisfiable = Vec::new();
    for (i, b) in bases.iter().enumerate() {
        for (j, h) in heads.iter().enumerate() {
            let pair = super::pair_across(&base, &stdin(2, b), &head, &stdin(2, h));
            if let Some(model) = pair.solve(&stdin(2, b)) {
                let input = &model.streams[0].bytes;
                let (x, y) = (input[0] as i8, input[1] as i8);
                assert!(i32::from(x) - i32::from(y) > 0 && i32::from(x) - i32::from(y) <= 2);
                assert_ne!(shown(&base, input, 2), shown(&head, input, 2));
                satisfiable.push((i + 1, j + 1));
            }
        }
    }
    assert_eq!(satisfiable, [(1, 2)]);
    assert_eq!(shown(&base, &[6, 5], 2).stdout, b"6");
    assert_eq!(shown(&head, &[6, 5], 2).stdout, b"5");
    let (_, outcome) = search(&base, &head, 2, &[&[6, 2]], Budget::default());
    assert_eq!(outcome.verdict, Verdict::Differences);
}

/// Program E; `swapped` is change ch1. Inputs outside 1..=10 are refused.
fn e(swapped: bool) -> Program {
    program(move |m| {
        let (x, y) = (number(m, 0), number(m, 1));
        for (value, site) in [(x, 20), (y, 21)] {
            let low = m.against(Op::Slt, value, 1);
            let high = m.above(value, 10);
            if m.branch(site, low) || m.branch(site + 2, high) {
                return Err(Stop::Exit(2));
            }
        }
        let small = if swapped {
            m.above(x, 2)
        } else {
            m.against(Op::Sle, x, 2)
        };
        let y = if m.branch(1, small) {
            m.against(Op::Add, y, 1)
        } else {
            m.against(Op::Sub, y, 1)
        };
        let above = m.above(y, 2);
        let text = if m.branch(6, above) { "1" } else { "0" };
        m.print(text);
        Ok(())
    })
}

#[test]
fn e_differs_exactly_for_y_2_and_3() {
    let (base, head) = (e(false), e(true));
    let all = (1..=10u8).flat_map(|x| (1..=10u8).map(move |y| [x, y]));
    let differing: Vec<[u8; 2]> = all
        .filter(|input| shown(&base, input, 2) != shown(&head, input, 2))
        .collect();
    assert_eq!(differing.len(), 20);
    assert!(differing.iter().all(|[_, y]| *y == 2 || *y == 3));
    let (inputs, outcome) = search(&base, &head, 2, &[&[1, 1]], Budget::default());
    assert_eq!(outcome.stopped, Stopped::Exhausted);
    let found: Vec<&Vec<u8>> = inputs
        .iter()
        .filter(|input| shown(&base, input, 2) != shown(&head, input, 2))
        .collect();
    assert!(
        found
            .iter()
            .all(|input| differing.contains(&[input[0], input[1]]))
    );
    assert!(found.iter().any(|input| input[0] <= 2) && found.iter().any(|input| input[0] > 2));
}

/// B-1: `old` has no `lhs` and uses v itself.
fn b1(old: bool) -> Program {
    program(move |m| {
        let (mut v, mut init) = (m.constant(8, 0), m.constant(8, 1));
        let mut lhs = false;
        for position in 0.. {
            let Some(c) = m.getchar(position, 2) else {
                break;
            };
            let digit = m.against(Op::Sub, c, i64::from(b'0'));
            let is_digit = m.against(Op::Ult, digit, 10);
            if m.branch(3, is_digit) {
                v = digit;
                lhs = true;
                continue;
            }
            let is_dash = m.against(Op::Eq, c, i64::from(b'-'));
            if m.branch(6, is_dash) {
                let use_v = if old {
                    let nonzero = m.against(Op::Ne, v, 0);
                    m.branch(7, nonzero)
                } else {
                    lhs
                };
                init = if use_v { v } else { m.constant(8, 1) };
                continue;
            }
            return Err(Stop::Exit(1));
        }
        let zero = m.against(Op::Eq, init, 0);
        if m.branch(10, zero) {
            return Err(Stop::Signal(6));
        }
        Ok(())
    })
}

#[test]
fn b1_fails_on_1275_of_5461_strings_and_the_search_finds_the_shortest() {
    let (base, head) = (b1(true), b1(false));
    let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
    let mut last = strings.clone();
    for _ in 0..6 {
        last = last
            .iter()
            .flat_map(|text| {
                b"012-"
                    .iter()
                    .map(move |c| [text.as_slice(), &[*c]].concat())
            })
            .collect();
        strings.extend(last.iter().cloned());
    }
    assert_eq!(strings.len(), 5461);
    let different = |text: &Vec<u8>| {
        let (b, h) = (shown(&base, text, 6), shown(&head, text, 6));
        assert_eq!(b != h, h.end == crate::End::Signal(6));
        b != h
    };
    assert_eq!(strings.iter().filter(|text| different(text)).count(), 1275);
    let budget = Budget {
        groups: Some(1),
        runs: Some(200),
        ..Budget::default()
    };
    let (_, outcome) = search(&base, &head, 6, &[b""], budget);
    assert_eq!(outcome.verdict, Verdict::Differences);
    let difference = &outcome.differences[0];
    assert_eq!(difference.input.streams[0].bytes, b"0-");
    assert_eq!(
        *difference.kind(),
        Kind::Crash {
            side: Side::Head,
            signal: 6
        }
    );
}

#[test]
fn a_rewritten_program_is_equivalent_up_to_the_bound() {
    let base = q1(3, |y| y);
    // The same with its branches the other way round and the constant moved.
    let head = program(|m| {
        let x = number(m, 0);
        let not_positive = m.against(Op::Sle, x, 0);
        let o = if m.branch(1, not_positive) {
            -1
        } else {
            let above = m.above(x, 3);
            if m.branch(2, above) { 3 } else { 0 }
        };
        let limit = m.constant(32, 21);
        let large = m.binary(Op::Sle, limit, x);
        let o = if m.branch(3, large) { 10 } else { o };
        m.print(&o.to_string());
        Ok(())
    });
    let (_, outcome) = search(&base, &head, 1, &[&[255]], Budget::default());
    assert_eq!(outcome.verdict, Verdict::Equivalent, "{:?}", outcome.gaps);
    assert_eq!(outcome.stats.pairs, 4);
    assert_eq!(outcome.bound[0].capacity, 1);
}

/// T-1, one byte per character. The trace has the state behind what is new.
fn testme(new: bool) -> Program {
    program(move |m| {
        let length = m.length();
        let empty = m.against(Op::Eq, length, 0);
        if m.branch(2, empty) {
            m.print("-1");
            return Ok(());
        }
        let mut state = 0;
        for position in 0.. {
            let Some(c) = m.getchar(position, 4) else {
                break;
            };
            let is = |m: &mut Machine, site, wanted: u8| {
                let equal = m.against(Op::Eq, c, wanted.into());
                m.branch(site, equal)
            };
            if is(m, 5, b'[') {
                state = 1;
            } else if state == 1 && is(m, 6, b'{') {
                state = 2;
            } else if state == 2 && is(m, 7, b'<') {
                state = 3;
            } else if state == 3 && is(m, 8, b'*') {
                state = 4;
                m.mark(ENTERED);
                let fifteen = m.against(Op::Eq, length, 15);
                if new && m.branch(10, fifteen) {
                    state += 1;
                }
                let left = m.constant(32, state);
                m.probe(0, false, left);
                m.mark(PASSED);
            }
            if is(m, 12, b' ') {
                m.print(&state.to_string());
                return Ok(());
            }
            let from_a = m.against(Op::Ult, c, i64::from(b'a'));
            let to_z = m.against(Op::Ule, c, i64::from(b'z'));
            if !m.branch(14, from_a) && m.branch(15, to_z) {
                m.print("-1");
                return Ok(());
            }
        }
        let long = m.constant(64, 15);
        let long = m.binary(Op::Ule, long, length);
        if m.branch(16, long) {
            let Some(c) = m.getchar(15, 17) else {
                return Err(Stop::Signal(11));
            };
            let closed = m.against(Op::Eq, c, i64::from(b'}'));
            if m.branch(18, closed) {
                m.print(&state.to_string());
                return Ok(());
            }
        }
        m.print("-1");
        Ok(())
    })
}

/// T-7: occurrence by occurrence, what is left behind in base and in head.
#[test]
fn testme_is_infected_with_fifteen_bytes_only() {
    let (base, head) = (testme(false), testme(true));
    let left_behind = |input: &[u8]| {
        let mut arena = Arena::new();
        let input = stdin(20, input);
        let base = path_of(&mut arena, Side::Base, &base, &input);
        let head = path_of(&mut arena, Side::Head, &head, &input);
        let probes = base.probes.iter().zip(&head.probes);
        let states: Vec<(u64, u64)> = probes.map(|(b, h)| (b.concrete, h.concrete)).collect();
        assert_eq!(states.len(), base.probes.len().max(head.probes.len()));
        let compared = Comparison::new([&base, &head], true).finish(&mut arena);
        let compared = compared.unwrap();
        let infected = compared.open.iter().any(|(_, differs)| *differs);
        (states, compared.sameness, infected)
    };
    assert_eq!(left_behind(b"["), (vec![], Sameness::Alike, false));
    let clean = (vec![(4, 4)], Sameness::Equal, false);
    assert_eq!(left_behind(b"[{<*"), clean);
    let twice = (vec![(4, 4), (4, 4)], Sameness::Equal, false);
    assert_eq!(left_behind(b"[{<*[{<*"), twice);
    let mut fifteen = b"[{<*".to_vec();
    fifteen.resize(15, 0);
    let infected = (vec![(4, 5)], Sameness::Unknown, true);
    assert_eq!(left_behind(&fifteen), infected);
    fifteen[5..9].copy_from_slice(b"[{<*");
    let (states, sameness, infected) = left_behind(&fifteen);
    assert_eq!(states, [(4, 5), (4, 5)]);
    assert!(infected && sameness == Sameness::Unknown);
}

#[test]
fn testme_is_exposed_from_its_suite() {
    let (base, head) = (testme(false), testme(true));
    let mut witness = b"[{<* ".to_vec();
    witness.resize(15, 0);
    assert_eq!(shown(&base, &witness, 20).stdout, b"4");
    assert_eq!(shown(&head, &witness, 20).stdout, b"5");
    let closed = [b"[{<*".as_slice(), &[0; 11], b"}"].concat();
    let suite: [&[u8]; 5] = [b"[{<*", b" ", b"a", &closed, b""];
    let budget = |runs| Budget {
        groups: Some(1),
        runs: Some(runs),
        ..Budget::default()
    };
    let (_, outcome) = search(&base, &head, 20, &suite, budget(20));
    println!(
        "from the suite: {:?}",
        outcome.stats.runs_to_first_difference
    );
    assert_eq!(outcome.verdict, Verdict::Differences);
    assert_eq!(outcome.differences[0].input.streams[0].bytes.len(), 15);
}

#[test]
fn testme_is_exposed_from_nothing() {
    let (base, head) = (testme(false), testme(true));
    let budget = Budget {
        groups: Some(1),
        runs: Some(1000),
        ..Budget::default()
    };
    let (_, outcome) = search(&base, &head, 20, &[b""], budget);
    println!("from nothing: {:?}", outcome.stats.runs_to_first_difference);
    assert_eq!(outcome.verdict, Verdict::Differences);
}
