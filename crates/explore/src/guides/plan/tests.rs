use super::*;
use crate::guides::outcomes::FURTHEST;
use changeling_program::Predicate;

/// A state that must go from 0 over 1 and 2 to 3, as in `TestMe`: goal n sets it to n
/// and needs n - 1; goal 0 is the target and needs 3.
fn machine() -> Plan {
    let need = |value: u32| Need {
        web: Web(0),
        test: Test::OneOf(vec![value.into()]),
        by: vec![(GoalId(value), Effect::Set(value.into()))],
    };
    let goal = |needs: Vec<Need>, block: u32, site: u32| Goal {
        behind: BTreeMap::new(),
        block: Some(block),
        needs,
        guards: Vec::new(),
        callers: Vec::new(),
        via: None,
        distances: Distances {
            branches: [(site, (1, 1)), (99, (3, 1))].into(),
            calls: HashMap::new(),
        },
    };
    Plan {
        goals: vec![
            goal(vec![need(3)], 10, 40),
            goal(vec![], 11, 41),
            goal(vec![need(1)], 12, 42),
            goal(vec![need(2)], 13, 43),
        ],
        initial: vec![Some(0)],
        effects: (11..14u32)
            .map(|block| (block, vec![(Web(0), Effect::Set(u64::from(block) - 10))]))
            .collect(),
        ..Plan::default()
    }
}

fn judge(plan: &Plan, state: u64, site: u32) -> Option<Key> {
    let situation = plan.situation(GoalId(0), &vec![Some(state)]);
    let place = Place {
        site,
        caller: 0,
        within: 0,
        side: Some(0),
    };
    plan.judge(GoalId(0), place, &situation, |_| false)
}

#[test]
fn goals_are_counted_from_where_the_path_is() {
    let plan = machine();
    let left = |state| plan.estimate(GoalId(0), &vec![Some(state)]);
    assert_eq!([0, 1, 2, 3].map(left), [Some(3), Some(2), Some(1), Some(0)]);
    // An unknown value may be the right one.
    assert_eq!(plan.estimate(GoalId(0), &vec![None]), Some(0));
}

#[test]
fn a_flip_is_good_if_it_reaches_the_next_goal() {
    let plan = machine();
    let key = |goals, distance| Some(Key { goals, distance });
    assert_eq!(judge(&plan, 0, 41), key(3, 2));
    assert_eq!(judge(&plan, 1, 42), key(2, 2));
    // The loop's condition is further away from the same goal.
    assert_eq!(judge(&plan, 1, 99), key(2, 6));
    assert_eq!(judge(&plan, 3, 40), key(0, 2));
    // At state 2, going back to 1 is no progress; it has no say.
    assert_eq!(judge(&plan, 2, 41), None);
}

/// The target needs a count of three; goal 1 counts, goal 2 begins anew.
#[test]
fn counting_takes_its_time() {
    let count = Effect::Add { by: 1, bits: 32 };
    let need = Need {
        web: Web(0),
        test: Test::Compare {
            predicate: Predicate::Sge,
            constant: 3,
            bits: 32,
            outcome: true,
        },
        by: vec![(GoalId(1), count), (GoalId(2), Effect::Set(0))],
    };
    let goal = |block, needs| Goal {
        behind: BTreeMap::new(),
        block: Some(block),
        needs,
        ..Goal::default()
    };
    let plan = Plan {
        goals: vec![goal(1, vec![need]), goal(2, vec![]), goal(3, vec![])],
        initial: vec![Some(0)],
        effects: [
            (2, vec![(Web(0), count)]),
            (3, vec![(Web(0), Effect::Set(0))]),
        ]
        .into(),
        ..Plan::default()
    };
    let left = |value: i32| plan.estimate(GoalId(0), &vec![Some(u64::from(value as u32))]);
    assert_eq!(
        [-1, 0, 2, 3].map(left),
        [Some(6), Some(5), Some(1), Some(0)]
    );
    // Back to the beginning is nearer.
    assert_eq!(left(-100), Some(6));
    let mut values = plan.initial.clone();
    plan.enter(&mut values, 2);
    plan.enter(&mut values, 2);
    assert_eq!(values, [Some(2)]);
    plan.enter(&mut values, 3);
    assert_eq!(values, [Some(0)]);
    // Far away it is not known any more.
    values = vec![Some(FURTHEST)];
    plan.enter(&mut values, 2);
    assert_eq!(values, [None]);
}

/// A block that makes the first variable 7 if the second is 1, and 8 otherwise.
#[test]
fn one_variable_may_decide_what_becomes_of_another() {
    let plan = Plan {
        initial: vec![Some(0), Some(0)],
        effects: [
            (
                1,
                vec![(Web(0), Effect::Choose(0)), (Web(1), Effect::Set(1))],
            ),
            (2, vec![(Web(1), Effect::Unknown)]),
        ]
        .into(),
        alternatives: vec![Alternative {
            web: Web(1),
            test: Test::OneOf(vec![1]),
            yes: Effect::Set(7),
            no: Effect::Set(8),
        }],
        ..Plan::default()
    };
    let mut values = plan.initial.clone();
    plan.enter(&mut values, 1);
    assert_eq!(values, [Some(8), Some(1)]);
    plan.enter(&mut values, 1);
    assert_eq!(values, [Some(7), Some(1)]);
    plan.enter(&mut values, 2);
    plan.enter(&mut values, 1);
    assert_eq!(values, [None, Some(1)]);
}

#[test]
fn without_an_order_of_goals_the_distance_remains() {
    let mut plan = machine();
    plan.goals[3].needs[0].by.clear();
    assert_eq!(plan.estimate(GoalId(0), &vec![Some(0)]), None);
    assert_eq!(judge(&plan, 0, 99).map(|key| key.goals), Some(UNPLANNED));
}

/// What two goals need is done once.
#[test]
fn what_several_need_is_counted_once() {
    let need = |web: u32, by: u32| Need {
        web: Web(web),
        test: Test::OneOf(vec![1]),
        by: vec![(GoalId(by), Effect::Set(1))],
    };
    let goal = |block, needs| Goal {
        behind: BTreeMap::new(),
        block: Some(block),
        needs,
        ..Goal::default()
    };
    let set = |web| vec![(Web(web), Effect::Set(1))];
    // The target needs 0 and 1; either needs 2.
    let plan = Plan {
        goals: vec![
            goal(1, vec![need(0, 1), need(1, 2)]),
            goal(2, vec![need(2, 3)]),
            goal(3, vec![need(2, 3)]),
            goal(4, vec![]),
        ],
        initial: vec![Some(0); 3],
        effects: [(2, set(0)), (3, set(1)), (4, set(2))].into(),
        ..Plan::default()
    };
    assert_eq!(plan.estimate(GoalId(0), &plan.initial), Some(3));
    assert_eq!(plan.costs(&plan.initial)[0], 4);
}

/// A function that is called from two places hands back 1 in block 5: only the call that a decision
/// stands for tells what is gained by it.
#[test]
fn results_of_calls_are_told_apart() {
    let goal = |via: Option<u32>, block, needs| Goal {
        behind: BTreeMap::new(),
        block: Some(block),
        needs,
        via: via.map(|call| Via {
            call,
            sites: (50, 60),
        }),
        distances: Distances {
            branches: [(55, (1, 1))].into(),
            calls: HashMap::new(),
        },
        ..Goal::default()
    };
    let need = |web: u32, by: u32| Need {
        web: Web(web),
        test: Test::OneOf(vec![1]),
        by: vec![(GoalId(by), Effect::Set(1))],
    };
    let mut plan = Plan {
        goals: vec![
            goal(None, 1, vec![need(0, 1)]),
            goal(Some(10), 5, vec![]),
            goal(Some(20), 5, vec![]),
        ],
        initial: vec![Some(0), Some(0)],
        effects: [(5, vec![(Web(0), Effect::Set(1)), (Web(1), Effect::Set(1))])].into(),
        momentary: [(Web(0), Some(10)), (Web(1), Some(20))].into(),
        ..Plan::default()
    };
    plan.goals[0].distances.branches.clear();
    // What the function handed back last says nothing.
    let mut values = plan.initial.clone();
    plan.enter(&mut values, 5);
    assert_eq!(values, plan.initial);
    let situation = plan.situation(GoalId(0), &values);
    let judged = |within: u32| {
        let place = Place {
            site: 55,
            caller: 0,
            within,
            side: Some(0),
        };
        plan.judge(GoalId(0), place, &situation, |_| false)
    };
    let key = |goals, distance| Some(Key { goals, distance });
    assert_eq!(judged(10), key(1, 2));
    assert_eq!(judged(20), None);
}

/// Who makes the last decision before a goal has come past all that guards it, whatever is remembered.
#[test]
fn the_last_decision_before_a_goal_counts_for_itself() {
    let plan = machine();
    let key = |goals, distance| Some(Key { goals, distance });
    assert_eq!(judge(&plan, 0, 43), key(1, 2));
    assert_eq!(judge(&plan, 0, 40), key(0, 2));
}

/// The count needs something that it undoes: that is known once it was seen.
#[test]
fn what_it_takes_to_count_again_is_learnt() {
    let count = Effect::Add { by: 1, bits: 32 };
    let ready = Need {
        web: Web(1),
        test: Test::OneOf(vec![1]),
        by: vec![(GoalId(2), Effect::Set(1))],
    };
    let enough = Need {
        web: Web(0),
        test: Test::OneOf(vec![2]),
        by: vec![(GoalId(1), count)],
    };
    let goal = |block, needs| Goal {
        behind: BTreeMap::new(),
        block: Some(block),
        needs,
        ..Goal::default()
    };
    let plan = Plan {
        goals: vec![goal(1, vec![enough]), goal(2, vec![ready]), goal(3, vec![])],
        initial: vec![Some(0), Some(1)],
        effects: [
            (2, vec![(Web(0), count)]),
            (3, vec![(Web(1), Effect::Set(1))]),
        ]
        .into(),
        ..Plan::default()
    };
    let mut plan = plan.finish();
    assert_eq!(plan.counters(2), [GoalId(1)]);
    assert_eq!(plan.estimate(GoalId(0), &plan.initial), Some(3));
    assert!(plan.came_by(GoalId(1), &vec![Some(1), Some(0)]));
    assert_eq!(plan.estimate(GoalId(0), &plan.initial), Some(4));
    assert!(!plan.came_by(GoalId(1), &vec![Some(1), Some(0)]));
}
