//! What a third version says about a difference.

use super::Outcome;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    pub class: Class,
    /// What the third version did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Set if it cannot be said: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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

impl Golden {
    pub fn text(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.class.text()),
            None => {
                let why = match self.class {
                    Class::Regression => "the golden version does what base does",
                    Class::Progression => "the golden version does what head does",
                    Class::IncompleteFix => "the golden version does neither",
                    Class::Unclassified => "the golden version gives no answer",
                };
                format!("{}: {why}", self.class.text())
            }
        }
    }
}
