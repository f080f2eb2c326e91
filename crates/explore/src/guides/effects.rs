//! Where changes show, and what keeps them from it.

use super::facts::Facts;
use super::guided::Guided;
use super::prune::calls_out;
use super::target::{Aim, Target};
use crate::guide::Context;
use crate::runner::Side;
use changeling_program::{BlockId, Site};
use std::collections::BTreeSet;

/// Places that show effects.
const MOST_EFFECTS: usize = 16;

/// Places that may show what changes did: calls out of the program that depend on them.
pub fn effect_blocks(facts: &Facts<'_>, affected: &BTreeSet<Site>) -> Vec<BlockId> {
    let shown = affected.iter().filter(|site| calls_out(facts, **site));
    let mut blocks: Vec<BlockId> = shown
        .map(|site| facts.program.instruction(*site).block)
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.truncate(MOST_EFFECTS);
    blocks
}

impl Guided {
    /// The last decision of a path before something that an effect needs was lost: after a change
    /// was entered, or at the last before that.
    ///
    /// In both versions: if one of them loses it and the other does not, that shows.
    pub(super) fn before_mask(&mut self, contexts: &[[Context; 2]]) -> Option<usize> {
        let mut changed = contexts
            .iter()
            .map(|contexts| self.entered_change(*contexts));
        let entered = changed.position(|changed| changed)?;
        let masks = Side::BOTH.map(|side| self.before_mask_of(side, contexts, entered));
        Some(masks[0]?.max(masks[1]?))
    }

    fn before_mask_of(
        &mut self,
        side: Side,
        contexts: &[[Context; 2]],
        entered: usize,
    ) -> Option<usize> {
        let at = side.index();
        let mut effects = self.effects(side);
        // What shows only after something was lost is no loss, and what cannot be lost says nothing.
        effects.retain(|target| {
            let goal = self.tables.targets[*target].goal;
            let plan = &self.tables.sides[at].plan;
            plan.can_close(goal) && self.is_open(*target, Context::default())
        });
        let masks = effects.into_iter().map(|target| {
            let mut open = |decision: usize| self.is_open(target, contexts[decision][at]);
            if open(entered) {
                (entered..contexts.len() - 1).find(|decision| !open(decision + 1))
            } else {
                (0..entered).rev().find(|decision| open(*decision))
            }
        });
        // As long as one of them can show it, nothing is hidden.
        let masks: Option<Vec<usize>> = masks.collect();
        masks?.into_iter().max()
    }

    /// The decisions of a path right before which more of the changes had run than on any path
    /// before, taken together.
    pub(super) fn ran_first(&mut self, contexts: &[[Context; 2]]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut before = None;
        for (decision, contexts) in contexts.iter().enumerate() {
            if before == Some(*contexts) {
                continue;
            }
            before = Some(*contexts);
            let ran = [0, 1].map(|at| {
                let memory = self.contexts[at].get(contexts[at]);
                [&memory.ran[..], &memory.taken[..]].concat()
            });
            if ran.iter().any(|blocks| !blocks.is_empty()) && self.ran.insert(ran) {
                found.push(decision);
            }
        }
        found
    }

    /// Whether no place that shows an effect can be come to as things are.
    pub(super) fn is_masked(&mut self, contexts: [Context; 2]) -> bool {
        let effects: Vec<usize> = self.effects(Side::Head);
        let context = contexts[Side::Head.index()];
        !effects.is_empty()
            && !effects
                .into_iter()
                .any(|target| self.is_open(target, context))
    }

    /// Whether a place that shows an effect could be come to at the start, and cannot as things are.
    pub(super) fn is_hidden(&mut self, contexts: [Context; 2]) -> bool {
        let context = contexts[Side::Head.index()];
        let mut effects = self.effects(Side::Head).into_iter();
        effects.any(|target| {
            self.is_open(target, Context::default()) && !self.is_open(target, context)
        })
    }

    fn effects(&self, side: Side) -> Vec<usize> {
        let targets = self.tables.targets.iter().enumerate();
        let own = targets.filter(|(_, target)| target.side == side);
        let effects = own.filter(|(_, target)| target.aim == Aim::Effect);
        effects.map(|(number, _)| number).collect()
    }

    /// Whether all that an effect needs is as it should be.
    fn is_open(&mut self, target: usize, context: Context) -> bool {
        let Target { side, goal, .. } = self.tables.targets[target];
        let plan = &self.tables.sides[side.index()].plan;
        let values = &self.contexts[side.index()].get(context).values;
        *self
            .open
            .entry((target, context))
            .or_insert_with(|| plan.is_open(goal, values))
    }
}
