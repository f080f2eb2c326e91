//! What `build` tells the stand-ins that run somewhere inside a user's build.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Name of the environment variable that carries the settings.
pub const VARIABLE: &str = "CHANGELING_STAND_IN";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The tree that is built; names in it are made relative to it.
    pub root: Option<PathBuf>,
    /// Where `changeling.h` is.
    pub include: Option<PathBuf>,
    /// An object with a `main` for harnesses, instead of a fuzzing engine.
    pub harness: Option<PathBuf>,
    /// Flags added to every compilation and link.
    pub extra: Vec<String>,
    /// Flags added where bitcode is made.
    #[serde(default)]
    pub bitcode_extra: Vec<String>,
    /// Only the ordinary outputs are wanted.
    pub plain_only: bool,
}

impl Settings {
    pub fn from_environment() -> Settings {
        std::env::var(VARIABLE)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    pub fn to_variable(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Flags for the compiler, apart from those that only concern links.
    pub fn compile_flags(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = Vec::new();
        if let Some(include) = &self.include {
            flags.extend(["-idirafter".into(), include.into()]);
        }
        if let Some(root) = &self.root {
            flags.extend(crate::translation::prefix_flags(root));
        }
        flags
    }
}
