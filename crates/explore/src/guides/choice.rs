//! Which guides a search uses, by name.

/// What can be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Reach,
    Subgoals,
    Prune,
    Sequences,
    Incremental,
    Correlation,
    Values,
    /// Rules as published that look at one run only; they lose differences.
    OneRun,
    /// What would be pruned is tried all the same, and counted.
    Audit,
    /// Pruned is only what no change can run before or after.
    Prefix,
}

/// An order of flips to compare the guides with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    DepthFirst,
    BreadthFirst,
    Random,
    Coverage,
    /// The distance as it was published: branches without a say are never tried.
    Distance,
    /// Each change is covered, and no more.
    Isolation,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub parts: Vec<Part>,
    pub order: Option<Order>,
}

const PARTS: [(&str, Part); 7] = [
    ("reach", Part::Reach),
    ("subgoals", Part::Subgoals),
    ("prune", Part::Prune),
    ("csg", Part::Sequences),
    ("incremental", Part::Incremental),
    ("correlation", Part::Correlation),
    ("values", Part::Values),
];

/// Not among `all`: to compare with, and to check.
const OTHERS: [(&str, Part); 3] = [
    ("express", Part::OneRun),
    ("audit", Part::Audit),
    ("prefix", Part::Prefix),
];

const ORDERS: [(&str, Order); 6] = [
    ("dfs", Order::DepthFirst),
    ("bfs", Order::BreadthFirst),
    ("random", Order::Random),
    ("coverage", Order::Coverage),
    ("q10", Order::Distance),
    ("isolation", Order::Isolation),
];

/// A name that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("there is no such guide as `{0}`")]
    Unknown(String),
    #[error("`{0}` and `{1}` cannot be used together")]
    Contradiction(String, String),
    #[error("that names no guide")]
    Empty,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            parts: PARTS.map(|(_, part)| part).to_vec(),
            order: None,
        }
    }
}

impl Choice {
    pub fn none() -> Choice {
        Choice {
            parts: Vec::new(),
            order: None,
        }
    }

    /// From a list such as `reach,subgoals`; `all` and `none` are possible too.
    pub fn parse(list: &str) -> Result<Choice, ChoiceError> {
        let mut choice = Choice::none();
        let mut first_order = String::new();
        let names = list.split(',').map(str::trim);
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            return Err(ChoiceError::Empty);
        }
        let mut empty = None;
        for name in names {
            let mut parts = PARTS.iter().chain(&OTHERS);
            if let Some((_, part)) = parts.find(|(known, _)| *known == name) {
                choice.parts.push(*part);
            } else if let Some((_, order)) = ORDERS.iter().find(|(known, _)| *known == name) {
                if choice.order.is_some_and(|other| other != *order) {
                    return Err(ChoiceError::Contradiction(first_order, name.into()));
                }
                choice.order = Some(*order);
                first_order = name.to_owned();
            } else {
                match name {
                    "all" => choice.parts.extend(PARTS.map(|(_, part)| part)),
                    "none" => empty = Some(name),
                    _ => return Err(ChoiceError::Unknown(name.into())),
                }
            }
        }
        if let (Some(none), false) = (empty, choice.is_none()) {
            let other = choice.to_string();
            return Err(ChoiceError::Contradiction(none.into(), other));
        }
        choice.parts.sort_unstable();
        choice.parts.dedup();
        Ok(choice)
    }

    pub fn names() -> Vec<&'static str> {
        let parts = PARTS.iter().map(|(name, _)| *name);
        let orders = ORDERS.iter().map(|(name, _)| *name);
        let others = OTHERS.iter().map(|(name, _)| *name);
        let all = parts.chain(["all", "none"]);
        all.chain(others).chain(orders).collect()
    }

    /// Whether anything may be given up, or would be.
    pub fn prunes(&self) -> bool {
        let parts = [Part::Prune, Part::Prefix, Part::Audit];
        parts.into_iter().any(|part| self.has(part))
    }

    /// The same without giving anything up.
    pub fn unpruned(mut self) -> Choice {
        let prunes = |part: &Part| matches!(part, Part::Prune | Part::Prefix | Part::OneRun);
        self.parts.retain(|part| !prunes(part));
        self
    }

    /// Whether of the sound rules only the first is used: no change has run before, and none can any more.
    pub fn prunes_prefixes_only(&self) -> bool {
        self.has(Part::Prefix) && !self.has(Part::Prune)
    }

    /// Whether what changes leave behind is to be compared.
    pub fn compares_states(&self) -> bool {
        self.prunes() && !self.prunes_prefixes_only()
    }

    /// Whether changes are aimed at.
    pub fn aims(&self) -> bool {
        let orders = [Order::Distance, Order::Isolation].map(Some);
        self.has(Part::Reach) || orders.contains(&self.order)
    }

    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    pub fn is_none(&self) -> bool {
        self.parts.is_empty() && self.order.is_none()
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = PARTS.iter().chain(&OTHERS);
        let parts = parts.filter(|(_, part)| self.has(*part));
        let orders = ORDERS
            .iter()
            .filter(|(_, order)| self.order == Some(*order));
        let mut names: Vec<&str> = parts.map(|(name, _)| *name).collect();
        names.extend(orders.map(|(name, _)| *name));
        if names.is_empty() {
            names.push("none");
        }
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names() {
        let choice = Choice::parse("subgoals, reach").unwrap();
        assert_eq!(choice.parts, [Part::Reach, Part::Subgoals]);
        assert_eq!(choice.to_string(), "reach,subgoals");
        assert_eq!(Choice::parse("all").unwrap(), Choice::default());
        assert_eq!(Choice::parse("none").unwrap().to_string(), "none");
        assert!(Choice::parse("none").unwrap().is_none());
        assert_eq!(Choice::parse("bfs,reach").unwrap().to_string(), "reach,bfs");
        assert_eq!(
            Choice::parse("raech"),
            Err(ChoiceError::Unknown("raech".into()))
        );
        let literal = Choice::parse("coverage,express").unwrap();
        assert_eq!(literal.to_string(), "express,coverage");
        assert!(!Choice::default().has(Part::OneRun));
        assert_eq!(Choice::parse("audit").unwrap().to_string(), "audit");
        assert!(!Choice::default().has(Part::Audit));
        assert!(Choice::parse("dfs,bfs").is_err());
        assert!(Choice::parse("none,reach").is_err());
        // Not the same as `none`: most likely a variable that is not set.
        assert_eq!(Choice::parse(""), Err(ChoiceError::Empty));
        assert_eq!(Choice::parse(" ,"), Err(ChoiceError::Empty));
    }
}
