//! What is to be done for targets, worked out once for equal values of what they rest on.

use super::context::Contexts;
use super::plan::{Plan, Situation, Values};
use super::target::Target;
use crate::guide::Context;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct Situations {
    list: Vec<Situation>,
    by_context: FxHashMap<(usize, Context), usize>,
    by_values: FxHashMap<(usize, Values), usize>,
    /// The variables that a target rests on.
    webs: FxHashMap<usize, Vec<usize>>,
}

impl Situations {
    pub fn get(
        &mut self,
        number: usize,
        target: &Target,
        plan: &Plan,
        contexts: &Contexts,
        context: Context,
    ) -> &Situation {
        let at = match self.by_context.get(&(number, context)) {
            Some(&at) => at,
            None => {
                let webs = self.webs.entry(number);
                let webs = webs.or_insert_with(|| plan.webs_before(target.goal));
                let values = &contexts.get(context).values;
                let own: Values = webs.iter().map(|web| values[*web]).collect();
                let known = self.by_values.entry((number, own));
                let at = *known.or_insert_with(|| {
                    self.list.push(plan.situation(target.goal, values));
                    self.list.len() - 1
                });
                self.by_context.insert((number, context), at);
                at
            }
        };
        &self.list[at]
    }

    /// Equal for equal situations of a target.
    pub fn number(&self, number: usize, context: Context) -> Option<usize> {
        self.by_context.get(&(number, context)).copied()
    }

    pub fn known(&self, number: usize, context: Context) -> Option<&Situation> {
        let at = self.number(number, context)?;
        self.list.get(at)
    }
}
