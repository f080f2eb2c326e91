//! What counts as done when a way turns out to be impossible.

use super::*;
use crate::guide::NoGuide;
use crate::runner::PairRunner;
use crate::state::State;
use crate::tree::NodeId;
use changeling_trace::Op;
use std::sync::Arc;

const FIRST: u32 = 0;
const SECOND: u32 = 1;
const LAST: u32 = 2;

/// Tests three bytes one after another.
fn three_tests(machine: &mut Machine) -> Result<(), Stop> {
    for (site, letter) in [(FIRST, 'p'), (SECOND, 'q'), (LAST, 'r')] {
        let byte = machine.byte(site as usize);
        let is_letter = machine.against(Op::Eq, byte, i64::from(u32::from(letter)));
        machine.branch(site, is_letter);
    }
    Ok(())
}

/// The state after runs, and the last test of each.
fn state_after(inputs: [&[u8; 3]; 3]) -> (State, [NodeId; 3]) {
    let subject = Arc::new(subject(stdin(3, b""), SiteTable::default()));
    let solver = Solver::new(Settings::default());
    let mut state = State::new(subject, solver, Box::new(NoGuide), 0, 1);
    let program: Program = Arc::new(three_tests);
    let mut runner = ToyRunner::new(program.clone(), program);
    let last = inputs.map(|bytes| {
        let input = Arc::new(stdin(3, bytes));
        let runs = runner.pair(&input).unwrap();
        let run = state.absorb(&input, &runs, None).run;
        let mut node = state.corpus[run.0 as usize].end;
        loop {
            (node, _) = state.tree.before(node).expect("the last test");
            if state.tree.decision(node).unwrap().sites[0] == LAST {
                return node;
            }
        }
    });
    (state, last)
}

fn untaken(state: &State, node: NodeId) -> usize {
    let ways = &state.tree.decision(node).unwrap().ways;
    ways.iter().position(|way| way.outcome == 1).unwrap()
}

/// What cannot be done after one thing may be possible after another, and may be what the guide looks for.
#[test]
fn what_is_impossible_after_one_decision_is_not_done_after_another() {
    // Before the last test the first two had the same second decision, the third another one.
    let inputs = [b"...", b"p..", b".q."];
    let (mut state, [here, alike, elsewhere]) = state_after(inputs);
    let way = untaken(&state, here);
    let repeated = |state: &State| [here, alike, elsewhere].map(|node| state.repeated(node, way));
    assert_eq!(repeated(&state), [0, 0, 0]);
    let news = state.novelty_of(here, way);
    state.count_barred(here, way);
    let [first, second, other] = repeated(&state);
    assert!(first > 0);
    assert_eq!((second, other), (first, 0));
    // All the same it is no news any more.
    assert!(state.novelty_of(here, way) > news);

    // What was done is done, whatever came before.
    let (mut state, _) = state_after(inputs);
    state.count_taken(here, way);
    assert_eq!(repeated(&state), [first, first, first]);
}
