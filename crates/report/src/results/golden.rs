//! What a third version says about a difference.

use super::{Bytes, Outcome};
use crate::view;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    pub class: Class,
    /// What the third version did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Set if it cannot be said: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many of the inputs that show the difference are of each class, as far as they were tried.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<Class, u64>,
}

/// A difference as the third version sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Base was right, head is not.
    Regression,
    /// Neither is right, and they are wrong in different ways.
    IncompleteFix,
    /// Head is right, base was not.
    Progression,
    /// The third version gives no answer to compare with.
    Unclassified,
}

impl Class {
    /// `same`: whether base and head do what the third version does.
    pub fn of(same: [bool; 2]) -> Class {
        match same {
            [true, false] => Class::Regression,
            [false, true] => Class::Progression,
            [false, false] => Class::IncompleteFix,
            // Base and head differ, so both cannot do the same as a third.
            [true, true] => Class::Unclassified,
        }
    }

    pub const fn text(self) -> &'static str {
        match self {
            Class::Regression => "regression",
            Class::IncompleteFix => "incomplete fix",
            Class::Progression => "progression",
            Class::Unclassified => "unclassified",
        }
    }
}

/// Of what the golden version writes.
const SHOWN: usize = 60;

impl Golden {
    /// Takes in what was said of more inputs.
    pub fn count(&mut self, other: &Golden) {
        for (class, inputs) in &other.classes {
            *self.classes.entry(*class).or_default() += inputs;
        }
    }

    /// Whether inputs show the difference that are of another class.
    pub fn is_mixed(&self) -> bool {
        self.classes.keys().any(|class| *class != self.class)
    }

    /// With nothing in it that is not printable.
    pub fn text(&self) -> String {
        let why = match (&self.reason, self.class) {
            (Some(reason), _) => reason.clone(),
            (None, Class::Regression) => "the golden version does what base does".into(),
            (None, Class::Progression) => "the golden version does what head does".into(),
            (None, Class::IncompleteFix) => {
                let right = self.outcome.as_ref().map(right);
                format!(
                    "the golden version does neither{}",
                    right.unwrap_or_default()
                )
            }
            (None, Class::Unclassified) => "the golden version gives no answer".into(),
        };
        let mut text = format!("{}: {why}", self.class.text());
        if self.is_mixed() {
            let classes = self.classes.iter();
            let classes = classes.map(|(class, inputs)| format!("{} {inputs}", class.text()));
            let classes: Vec<String> = classes.collect();
            text.push_str(&format!("; its inputs by class: {}", classes.join(", ")));
        }
        text
    }
}

/// What would have been right, in a line.
fn right(outcome: &Outcome) -> String {
    let mut parts = vec![outcome.end.text()];
    let texts = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
    let texts = texts
        .into_iter()
        .filter(|(_, Bytes(bytes))| !bytes.is_empty());
    parts.extend(
        texts.map(|(name, Bytes(bytes))| format!("{name} \"{}\"", view::line(bytes, SHOWN))),
    );
    format!(" ({})", parts.join(", "))
}
