//! What the layers did.

use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    pub queries: u64,
    pub sat: u64,
    pub unsat: u64,
    pub unknown: u64,
    pub time: Duration,
    /// Conditions that queries had, and those left after independence.
    pub conditions: u64,
    pub conditions_left: u64,
    pub simplification: Share,
    pub hint: Share,
    pub reuse: Share,
    pub values: Share,
    pub embedded: Share,
    pub external: Share,
    /// Models that the checking evaluator refused. Anything but 0 is a bug.
    pub wrong_models: u64,
}

/// One layer's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub asked: u64,
    pub answered: u64,
    pub time: Duration,
}

impl Statistics {
    /// Layer names with their shares, in the order of the chain.
    pub fn shares(&self) -> [(&'static str, Share); 6] {
        [
            ("simplification", self.simplification),
            ("hint", self.hint),
            ("reuse", self.reuse),
            ("values", self.values),
            ("embedded", self.embedded),
            ("external", self.external),
        ]
    }
}

impl Statistics {
    /// Adds another solver's statistics.
    pub fn add(&mut self, other: &Statistics) {
        self.queries += other.queries;
        self.sat += other.sat;
        self.unsat += other.unsat;
        self.unknown += other.unknown;
        self.time += other.time;
        self.conditions += other.conditions;
        self.conditions_left += other.conditions_left;
        self.wrong_models += other.wrong_models;
        let pairs = [
            (&mut self.simplification, &other.simplification),
            (&mut self.hint, &other.hint),
            (&mut self.reuse, &other.reuse),
            (&mut self.values, &other.values),
            (&mut self.embedded, &other.embedded),
            (&mut self.external, &other.external),
        ];
        for (share, more) in pairs {
            share.asked += more.asked;
            share.answered += more.answered;
            share.time += more.time;
        }
    }
}
