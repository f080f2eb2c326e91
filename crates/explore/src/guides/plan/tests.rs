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
    let situation = plan.situation(GoalId(0), &vec![Some(state)], &mut Lefts::default());
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
    let left = |state| plan.left(&vec![Some(state)])[0];
    assert_eq!([0, 1, 2, 3].map(left), [Some(3), Some(2), Some(1), Some(0)]);
    // An unknown value may be the right one.
    assert_eq!(plan.left(&vec![None])[0], Some(0));
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
    let left = |value: i32| plan.left(&vec![Some(u64::from(value as u32))])[0];
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
    assert_eq!(plan.left(&vec![Some(0)])[0], None);
    assert_eq!(judge(&plan, 0, 40).map(|key| key.goals), Some(UNPLANNED));
}
