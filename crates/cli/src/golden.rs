//! A third version that says what is right.

use crate::exit::Code;
use crate::failure::Failure;
use crate::results::outcome_view;
use crate::source::SourceOptions;
use crate::versions::Named;
use changeling_build::{BuildOptions, Built, build};
use changeling_exec::{Limits, Plain};
use changeling_explore::difference::classify;
use changeling_explore::normalise::Normaliser;
use changeling_explore::outcome::{Difference, Outcome};
use changeling_explore::sequences::{Exercised, among};
use changeling_explore::{End, Observation};
use changeling_report::results::{self, Class};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

pub struct Golden {
    pub label: String,
    commit: Option<String>,
    built: Built,
}

impl Golden {
    /// A file or directory if there is one of that name, else a revision of the repository here.
    pub fn prepare(
        name: &str,
        source: &SourceOptions,
        options: &BuildOptions,
    ) -> Result<Golden, Failure> {
        let of_golden = |mut failure: Failure| {
            failure.what = format!("{} (golden, {name})", failure.what);
            failure
        };
        let named = Named::either(Path::new(name), source).map_err(of_golden)?;
        let built = build(&named.source, options);
        let built = built.map_err(|error| of_golden(error.into()))?;
        Ok(Golden {
            label: named.label,
            commit: named.commit,
            built,
        })
    }

    pub fn described(&self) -> results::Version {
        let absolute = |path: &Path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            path.display().to_string()
        };
        results::Version {
            label: self.label.clone(),
            binary: absolute(&self.built.plain),
            root: absolute(&self.built.source_root),
            commit: self.commit.clone(),
            ..results::Version::default()
        }
    }

    pub fn fits(&self, harness: bool) -> Result<(), Failure> {
        if self.built.harness == harness {
            return Ok(());
        }
        Err(Failure {
            code: Code::USAGE,
            what: "the golden version is a harness and the others are not, or the other way round"
                .into(),
            place: None,
            help: Some("give a golden version that reads its input as base and head do".into()),
            output: None,
        })
    }

    /// The class of each difference, by its number.
    pub fn judge(
        &self,
        found: &[Difference],
        limits: &Limits,
        normaliser: &Normaliser,
    ) -> Result<HashMap<u32, results::Golden>, Failure> {
        let mut plain = Plain::new(&self.built.plain, limits.clone())?;
        let mut classes = HashMap::new();
        for difference in found {
            let first = plain.run(&difference.input)?;
            let second = plain.run(&difference.input)?;
            let judged = judge(&first, &second, &difference.seen, normaliser);
            classes.insert(difference.id, judged);
        }
        Ok(classes)
    }

    /// How often runs showed *errors*, in the place of differences: head does neither what base does nor what this version
    /// does. `None` if that cannot be told of all of them, or not soon.
    pub fn errors(
        &self,
        outcome: &Outcome,
        head: &Path,
        limits: &Limits,
        normaliser: &Normaliser,
    ) -> Result<Option<Vec<Exercised>>, Failure> {
        let mut golden = Plain::new(&self.built.plain, limits.clone())?;
        let mut head = Plain::new(head, limits.clone())?;
        let mut errors = Vec::new();
        let start = Instant::now();
        for run in &outcome.differing {
            let right = golden.run(&run.input)?;
            if start.elapsed() > PATIENCE || !matches!(right.end, End::Exit(_)) {
                return Ok(None);
            }
            let seen = head.run(&run.input)?;
            if classify(normaliser, &right, &seen).is_some() {
                errors.push(run);
            }
        }
        Ok(Some(among(&outcome.sequences, errors.into_iter())))
    }
}

/// All differing inputs of a search are run once more in no more than this.
const PATIENCE: Duration = Duration::from_secs(20);

fn judge(
    first: &Observation,
    second: &Observation,
    seen: &[Observation; 2],
    normaliser: &Normaliser,
) -> results::Golden {
    let refused = |reason: &str| results::Golden {
        class: Class::Unclassified,
        outcome: Some(outcome_view(first)),
        reason: Some(reason.into()),
    };
    match first.end {
        End::Signal(_) => return refused("the golden version crashes"),
        End::TimedOut => return refused("the golden version does not end in time"),
        End::Exit(_) => {}
    }
    if classify(normaliser, first, second).is_some() {
        return refused("the golden version disagrees with itself");
    }
    let same = seen
        .each_ref()
        .map(|seen| classify(normaliser, first, seen).is_none());
    results::Golden {
        class: Class::of(same),
        outcome: Some(outcome_view(first)),
        reason: None,
    }
}
