//! How much of the input a run has followed.

use changeling_explore::path::{Path, TestKind};
use changeling_solver::{Arena, Expr, Var};
use serde::Serialize;
use std::collections::BTreeSet;

/// Bytes of the input, by what became of them.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub bytes: usize,
    /// Those on which a branch or the output depends.
    pub followed: usize,
    /// Those of them that no loss concerns.
    pub kept: usize,
}

impl Share {
    /// `outputs`: expressions of the output. `lost`: variables that some loss concerns. What lies beyond
    /// `lengths`, the bytes that each stream has in this run, is not counted.
    pub fn of(
        arena: &Arena,
        path: &Path,
        outputs: impl Iterator<Item = Expr>,
        lost: impl Iterator<Item = Var>,
        lengths: &[usize],
    ) -> Share {
        let in_run = |var: &Var| match *var {
            Var::Byte { stream, offset } => lengths
                .get(stream as usize)
                .is_some_and(|length| (offset as usize) < *length),
            Var::Length { .. } => false,
        };
        let tests = path
            .tests
            .iter()
            .filter(|test| !matches!(test.kind, TestKind::Fixed(_)))
            .map(|test| test.held);
        let followed: BTreeSet<Var> = tests
            .chain(outputs)
            .flat_map(|expr| arena.variables(expr))
            .filter(in_run)
            .collect();
        let lost: BTreeSet<Var> = lost.collect();
        Share {
            bytes: lengths.iter().sum(),
            followed: followed.len(),
            kept: followed.difference(&lost).count(),
        }
    }
}
