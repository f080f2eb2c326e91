//! Queries of real searches (`tests/recorded`, one folder per program), asked in
//! the order of the search and compared with Z3.

mod common;

use changeling_solver::{Answer, Arena, Settings, Solver, read_recorded};
use common::z3::z3;
use std::path::{Path, PathBuf};

#[test]
fn answers_are_those_of_z3() {
    let programs = programs();
    assert!(programs.len() >= 6, "{programs:?}");
    let (mut sat, mut unsat, mut undecided) = (0, 0, 0);
    for program in programs {
        let mut arena = Arena::new();
        let queries = read_recorded(&mut arena, &program).unwrap();
        let mut solver = Solver::new(Settings::default());
        let mut scripts = Vec::new();
        let mut answers = Vec::new();
        for (path, query) in &queries {
            let answer = solver.solve(&mut arena, &query.query());
            if let Answer::Sat(model) = &answer {
                for &condition in query.prefix.iter().chain([&query.goal]) {
                    assert!(arena.holds(condition, model), "{}", path.display());
                }
            }
            scripts.push(std::fs::read_to_string(path).unwrap());
            answers.push(answer);
        }
        assert_eq!(solver.statistics().wrong_models, 0);
        let said = z3(&scripts, 600_000);
        for (((path, _), said), answer) in queries.iter().zip(said).zip(answers) {
            match (said.as_str(), &answer) {
                ("sat", Answer::Sat(_)) => sat += 1,
                ("unsat", Answer::Unsat(_)) => unsat += 1,
                ("unknown" | "timeout", _) => undecided += 1,
                _ => panic!("{}: z3 says {said}, we say {answer:?}", path.display()),
            }
        }
    }
    assert!(
        sat >= 30 && unsat >= 30 && undecided <= 5,
        "{sat} sat, {unsat} unsat, {undecided} undecided"
    );
}

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let entries = std::fs::read_dir(root).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}
