use super::*;
use crate::guides::plan::{Distances, Goal, GoalId};
use crate::sameness::Sameness;

/// Branches of head: 40 leads to the first change, 41 to the second, 42 to neither.
const TO_FIRST: u32 = 40;
const TO_SECOND: u32 = 41;
const ELSEWHERE: u32 = 42;
/// Blocks in which the changes begin, and where side 0 of `ELSEWHERE` leads.
const FIRST: u32 = 1;
const SECOND: u32 = 2;
const THERE: u32 = 3;

fn table() -> SideTable {
    let goal = |site: u32, block: u32| Goal {
        block: Some(block),
        distances: Distances {
            branches: [(site, (1, 1))].into(),
            calls: HashMap::new(),
        },
        ..Goal::default()
    };
    SideTable {
        plan: Plan {
            goals: vec![goal(TO_FIRST, FIRST), goal(TO_SECOND, SECOND)],
            ..Plan::default()
        },
        switches: HashMap::new(),
        meaning: Meaning {
            changed: [FIRST, SECOND].into(),
            nodes: [(FIRST, vec![0]), (SECOND, vec![1])].into(),
            ..Meaning::default()
        },
        horizon: Horizon::default(),
        leads_to: [((ELSEWHERE, 0), THERE)].into(),
        slices: HashMap::new(),
        watched: vec![FIRST, SECOND],
        blind: HashSet::new(),
        chains: Chains::default(),
    }
}

/// Two changes of head.
fn guided(parts: &str) -> Guided {
    let target = |node: u32, block: u32| Target {
        node,
        ..Target::new(
            Aim::Change,
            Side::Head,
            GoalId(node),
            vec![block],
            Vec::new(),
        )
    };
    let tables = Tables {
        sides: [table(), table()],
        targets: vec![target(0, FIRST), target(1, SECOND)],
        partings: Vec::new(),
        partners: Vec::new(),
        complete: true,
        probed: false,
        gauges: Vec::new(),
        passages: HashMap::new(),
    };
    Guided::new(tables, Choice::parse(parts).expect("guides"), 0)
}

/// The other side of a branch, behind what both versions remember.
fn flip(site: u32, contexts: [Context; 2]) -> Flip {
    Flip {
        owner: Owner::Both,
        kind: TestKind::Branch,
        sites: [site; 2],
        caller: 0,
        within: [0; 2],
        outcome: 1,
        opposite: None,
        after_difference: false,
        sameness: Sameness::Unknown,
        contexts,
        ends: contexts,
        depth: 0,
        novelty: NEWS,
        used: 0,
        shortens: false,
        infected: false,
        masked: false,
    }
}

/// A run through blocks, in this order.
fn run(guide: &mut Guided, blocks: &[u32], differs: bool, given: bool) -> [Context; 2] {
    let contexts = Side::BOTH.map(|side| {
        let enter = |context, block: &u32| guide.enter(side, context, *block);
        blocks.iter().fold(Context(0), enter)
    });
    let mut coverage = [0; 8];
    blocks
        .iter()
        .for_each(|block| coverage[*block as usize] = 1);
    guide.learn(&RunFacts {
        coverage: [&coverage; 2],
        contexts,
        differs,
        given,
        marks_cut: false,
        discarded: false,
    });
    contexts
}

fn tried(guide: &mut Guided, flip: &Flip) -> (u32, Option<Bucket>) {
    match guide.advise(flip) {
        Advice::Try { rank, bucket } => (rank, bucket),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sequences_that_were_shown_to_differ_come_later() {
    for differs in [false, true] {
        let mut guide = guided("csg");
        let [second, first] =
            [SECOND, FIRST].map(|block| run(&mut guide, &[block], differs, false));
        // From the second change to the first nobody has gone, nor the other way round.
        for (contexts, site) in [(second, TO_FIRST), (first, TO_SECOND)] {
            let (rank, bucket) = tried(&mut guide, &flip(site, contexts));
            assert_eq!(bucket, Some(Bucket::Sequence));
            assert_eq!(rank >= LATER, differs, "{rank}");
        }
        let (_, bucket) = tried(&mut guide, &flip(ELSEWHERE, first));
        assert_eq!(bucket, None);
        // Once it was done it leads to nothing that is new.
        run(&mut guide, &[FIRST, SECOND], false, false);
        let (_, bucket) = tried(&mut guide, &flip(TO_SECOND, first));
        assert_eq!(bucket, None);
    }
}

#[test]
fn what_the_inputs_given_have_run_comes_last() {
    for (parts, given, expected) in [
        ("reach,incremental", true, COVERED),
        ("reach,incremental", false, 0),
        ("reach", true, 0),
    ] {
        let mut guide = guided(parts);
        let start = [Context(0); 2];
        assert_eq!(tried(&mut guide, &flip(ELSEWHERE, start)), (0, None));
        run(&mut guide, &[THERE], false, given);
        let found = tried(&mut guide, &flip(ELSEWHERE, start));
        assert_eq!(found, (expected, None), "{parts}, given: {given}");
        // What leads to a change is not put off.
        let (_, bucket) = tried(&mut guide, &flip(TO_FIRST, start));
        assert_eq!(bucket, Some(Bucket::Reach));
    }
}

/// A change that is far away does not keep the others waiting for ever.
#[test]
fn each_change_has_its_turn() {
    let mut guide = guided("reach");
    let start = [Context(0); 2];
    let mut firsts = Vec::new();
    for _ in 0..96 {
        let ranks = [TO_FIRST, TO_SECOND].map(|site| tried(&mut guide, &flip(site, start)).0);
        assert!(ranks[0] < LATER || ranks[1] < LATER);
        firsts.push(ranks[0] < ranks[1]);
        run(&mut guide, &[THERE], false, false);
    }
    let first = firsts.iter().filter(|first| **first).count();
    assert!((32..=64).contains(&first), "{first} of 96");
    run(&mut guide, &[FIRST], false, false);
    for _ in 0..64 {
        assert!(tried(&mut guide, &flip(TO_SECOND, start)).0 < LATER);
        run(&mut guide, &[THERE], false, false);
    }
}
