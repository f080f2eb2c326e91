//! A third version that says what is right.

use crate::exit::Code;
use crate::failure::Failure;
use crate::results::outcome_view;
use crate::runner::Pair;
use crate::source::SourceOptions;
use crate::versions::Named;
use changeling_build::{BuildOptions, Built, Source, Variant, build};
use changeling_exec::Plain;
use changeling_explore::difference::{Kind, classify};
use changeling_explore::normalise::Normaliser;
use changeling_explore::outcome::{Difference, Outcome};
use changeling_explore::sequences::{Differing, Exercised, among};
use changeling_explore::{End, Observation, Side, witness};
use changeling_report::results::{self, Class};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub struct Golden {
    pub label: String,
    commit: Option<String>,
    source: Source,
    built: Built,
}

/// What the golden version says of what a search found.
#[derive(Default)]
pub struct Judged {
    /// Of each difference, by its number.
    pub classes: HashMap<u32, results::Golden>,
    /// How often runs showed *errors*, in the place of differences: head does neither what base does nor what the golden
    /// version does. `None` if that cannot be told of all of them, or not soon.
    pub errors: Option<Vec<Exercised>>,
}

/// All differing inputs of a search are run once more in no more than this.
const PATIENCE: Duration = Duration::from_secs(20);

impl Golden {
    /// A file or directory if there is one of that name, else a revision of the repository here.
    pub fn named(name: &str, source: &SourceOptions) -> Result<Named, Failure> {
        Named::either(Path::new(name), source).map_err(|failure| of_golden(failure, name))
    }

    pub fn prepare(named: Named, options: &BuildOptions) -> Result<Golden, Failure> {
        let built = build(&named.source, options);
        let built = built.map_err(|error| of_golden(error.into(), &named.label))?;
        Ok(Golden {
            label: named.label,
            commit: named.commit,
            source: named.source,
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

    /// Says of all inputs that differ what they are. Inputs of one group may be of several classes, as when a fix goes too
    /// far: the gravest stands for the group then, since a regression must not go by the name of what was intended.
    pub fn judge(
        &self,
        outcome: &mut Outcome,
        pair: &Pair,
        normaliser: &Normaliser,
    ) -> Result<Judged, Failure> {
        let mut all = Versions::start(self, pair, normaliser)?;
        let (tried, complete) = all.try_runs(&outcome.differing)?;
        let is_error = |(_, class): &&(usize, Class)| {
            matches!(class, Class::Regression | Class::IncompleteFix)
        };
        let errors = tried.iter().filter(is_error);
        let errors = errors.map(|(at, _)| &outcome.differing[*at]);
        let errors = complete.then(|| among(&outcome.sequences, errors));
        let mut classes = HashMap::new();
        for difference in &mut outcome.differences {
            let judged = match difference.kind() {
                Kind::Sanitizer { side } => self.judge_finding(&difference.input, *side, pair)?,
                _ => all.judge_group(difference, &tried, &outcome.differing)?,
            };
            classes.insert(difference.id, judged);
        }
        Ok(Judged { classes, errors })
    }

    /// Whether a build of this version with sanitizers finds what one of base and head has.
    fn judge_finding(
        &self,
        input: &changeling_trace::input::Input,
        side: Side,
        pair: &Pair,
    ) -> Result<results::Golden, Failure> {
        let Some(binary) = self.sanitized(pair) else {
            let reason = "there is no build of the golden version with sanitizers";
            return Ok(refused(None, reason));
        };
        let limits = pair.limits.clone().with_sanitizers();
        let mut plain = Plain::new(&binary, limits)?;
        let runs = [plain.run(input)?, plain.run(input)?];
        let [found, again] = runs.each_ref().map(|run| witness::finding(run).is_some());
        let first = &runs[0];
        if found != again {
            return Ok(refused(Some(first), DISAGREES));
        }
        if let Some(reason) = no_answer(first).filter(|_| !found) {
            return Ok(refused(Some(first), reason));
        }
        let same = Side::BOTH.map(|version| found == (version == side));
        Ok(said(Class::of(same), first))
    }

    fn sanitized(&self, pair: &Pair) -> Option<PathBuf> {
        let options = BuildOptions {
            variants: vec![Variant::Sanitized],
            ..pair.build.clone()
        };
        let built = build(&self.source, &options).ok()?;
        let mut made = built.variants.into_iter();
        let made = made.find(|made| made.variant == Variant::Sanitized)?;
        Some(made.path)
    }
}

fn of_golden(mut failure: Failure, name: &str) -> Failure {
    failure.what = format!("{} (golden, {name})", failure.what);
    failure
}

/// Plain builds of all three.
struct Versions<'a> {
    golden: Plain,
    pair: [Plain; 2],
    normaliser: &'a Normaliser,
}

impl<'a> Versions<'a> {
    fn start(
        golden: &Golden,
        pair: &Pair,
        normaliser: &'a Normaliser,
    ) -> Result<Versions<'a>, Failure> {
        let plain = |path: &Path| Plain::new(path, pair.limits.clone());
        let [base, head] = &pair.versions;
        Ok(Versions {
            golden: plain(&golden.built.plain)?,
            pair: [plain(&base.built.plain)?, plain(&head.built.plain)?],
            normaliser,
        })
    }

    /// The classes of inputs, by their places in the list, and whether all that differ have one that says something.
    fn try_runs(
        &mut self,
        differing: &[Differing],
    ) -> Result<(Vec<(usize, Class)>, bool), Failure> {
        let start = Instant::now();
        let mut tried = Vec::new();
        let mut complete = true;
        for (at, run) in differing.iter().enumerate() {
            if start.elapsed() > PATIENCE {
                return Ok((tried, false));
            }
            match self.class(run)? {
                Some(class) => {
                    complete &= class != Class::Unclassified;
                    tried.push((at, class));
                }
                // What only sanitizers see.
                None => complete &= run.shows.is_empty(),
            }
        }
        Ok((tried, complete))
    }

    /// `None` if base and head do the same here.
    fn class(&mut self, run: &Differing) -> Result<Option<Class>, Failure> {
        let seen = self.see(run)?;
        if self.differ(&seen[0], &seen[1]) {
            let right = self.golden.run(&run.input)?;
            if no_answer(&right).is_some() {
                return Ok(Some(Class::Unclassified));
            }
            let same = seen.each_ref().map(|seen| !self.differ(&right, seen));
            // Whoever does what nobody else does may do something else the next time.
            if same == [false; 2] {
                let again = self.golden.run(&run.input)?;
                if self.differ(&right, &again) {
                    return Ok(Some(Class::Unclassified));
                }
            }
            return Ok(Some(Class::of(same)));
        }
        Ok(None)
    }

    fn see(&mut self, run: &Differing) -> Result<[Observation; 2], Failure> {
        let [base, head] = &mut self.pair;
        Ok([base.run(&run.input)?, head.run(&run.input)?])
    }

    fn differ(&self, one: &Observation, other: &Observation) -> bool {
        classify(self.normaliser, one, other).is_some()
    }

    /// The class of a difference: that of the input which stands for it, or of a graver one that shows it, too, and
    /// stands for it from now on.
    fn judge_group(
        &mut self,
        difference: &mut Difference,
        tried: &[(usize, Class)],
        differing: &[Differing],
    ) -> Result<results::Golden, Failure> {
        let own = tried.iter().map(|(at, class)| (&differing[*at], *class));
        let own = own.filter(|(run, _)| run.shows.contains(&difference.id));
        let own: Vec<(&Differing, Class)> = own.collect();
        let mut judged = self.judge(difference)?;
        let length = |run: &Differing| -> usize {
            let streams = run.input.streams.iter();
            streams.map(|stream| stream.bytes.len()).sum()
        };
        let gravest = own.iter().min_by_key(|(run, class)| (*class, length(run)));
        if let Some((run, class)) = gravest
            && *class < judged.class
        {
            let seen = self.see(run)?;
            if classify(self.normaliser, &seen[0], &seen[1]).as_ref() == Some(difference.kind()) {
                difference.input = run.input.clone();
                difference.original = run.input.clone();
                difference.seen = seen;
                judged = self.judge(difference)?;
            }
        }
        for (_, class) in own {
            *judged.classes.entry(class).or_default() += 1;
        }
        Ok(judged)
    }

    fn judge(&mut self, difference: &Difference) -> Result<results::Golden, Failure> {
        let first = self.golden.run(&difference.input)?;
        if let Some(reason) = no_answer(&first) {
            return Ok(refused(Some(&first), reason));
        }
        let second = self.golden.run(&difference.input)?;
        if self.differ(&first, &second) {
            return Ok(refused(Some(&first), DISAGREES));
        }
        let same = difference.seen.each_ref();
        let same = same.map(|seen| !self.differ(&first, seen));
        Ok(said(Class::of(same), &first))
    }
}

const DISAGREES: &str = "the golden version disagrees with itself";

/// Why a run says nothing of what is right.
fn no_answer(seen: &Observation) -> Option<&'static str> {
    match seen.end {
        End::Signal(_) => Some("the golden version crashes"),
        End::TimedOut => Some("the golden version does not end in time"),
        End::Exit(_) => None,
    }
}

fn said(class: Class, seen: &Observation) -> results::Golden {
    results::Golden {
        class,
        outcome: Some(outcome_view(seen)),
        reason: None,
        classes: BTreeMap::new(),
    }
}

fn refused(seen: Option<&Observation>, reason: &str) -> results::Golden {
    results::Golden {
        class: Class::Unclassified,
        outcome: seen.map(outcome_view),
        reason: Some(reason.into()),
        classes: BTreeMap::new(),
    }
}
