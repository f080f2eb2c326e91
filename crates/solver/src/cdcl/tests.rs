use super::*;
use std::time::Duration;

/// Random clauses over 9 variables under random assumptions, which often begin like those before,
/// against enumeration; cores are checked too.
#[test]
fn agrees_with_enumeration() {
    let mut seed = 7u64;
    let mut random = move |n: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    let (mut sat, mut unsat) = (0, 0);
    for _ in 0..600 {
        let mut solver = Cdcl::new();
        let count = 9;
        let inputs: Vec<i32> = (0..count).map(|_| solver.new_variable()).collect();
        let mut clauses: Vec<Vec<i32>> = Vec::new();
        let mut assumptions: Vec<i32> = Vec::new();
        for _ in 0..12 {
            for _ in 0..random(6) {
                let clause: Vec<i32> = (0..2 + random(3))
                    .map(|_| {
                        let var = 1 + random(count) as i32;
                        if random(2) == 0 { var } else { -var }
                    })
                    .collect();
                solver.add_clause(&clause);
                clauses.push(clause);
            }
            assumptions.truncate(random(7) as usize);
            assumptions.extend((0..random(4)).map(|_| {
                let var = 1 + random(count) as i32;
                if random(2) == 0 { var } else { -var }
            }));
            let holds = |row: u32, lit: i32| (row >> (lit.abs() - 1) & 1 == 1) == (lit > 0);
            let possible = |assumed: &[i32]| {
                (0..1u32 << count).any(|row| {
                    assumed.iter().all(|&lit| holds(row, lit))
                        && clauses
                            .iter()
                            .all(|clause| clause.iter().any(|&lit| holds(row, lit)))
                })
            };
            let deadline = Instant::now() + Duration::from_secs(60);
            match solver.solve(&assumptions, &inputs, u64::MAX, deadline) {
                Quick::Sat => {
                    let row = inputs.iter().fold(0, |row, &var| {
                        row | u32::from(solver.value(var).unwrap()) << (var - 1)
                    });
                    assert!(assumptions.iter().all(|&lit| holds(row, lit)));
                    assert!(
                        clauses
                            .iter()
                            .all(|clause| clause.iter().any(|&lit| holds(row, lit)))
                    );
                    sat += 1;
                }
                Quick::Unsat => {
                    assert!(!possible(&assumptions));
                    let core = solver.core().to_vec();
                    assert!(
                        core.iter().all(|lit| assumptions.contains(lit)),
                        "{core:?} {assumptions:?}"
                    );
                    assert!(!possible(&core));
                    unsat += 1;
                }
                Quick::Hard => panic!("no limit was set"),
            }
        }
    }
    assert!(sat > 300 && unsat > 300, "{sat} {unsat}");
}
