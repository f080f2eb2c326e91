//! One version's path on one input, read from its trace: what was tested, what
//! was given up, and what was put out.

use crate::gap::{Gap, Place};
use crate::output::{self, Output};
use crate::runner::{Side, TracedRun};
use crate::terms::{self, TermError};
use changeling_solver::{Arena, Expr, ImportMap};
use changeling_trace::event::{self, Event, probe};
use changeling_trace::layout::run_flags;
use changeling_trace::sites::SiteTable;
use changeling_trace::{EventKind, GuardReason, Label, LossReason, Node};

/// Something the run decided by its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    pub kind: TestKind,
    pub site: u32,
    /// Inside a library model: the site of the user's code that called it.
    pub caller: u32,
    /// In a function that stands in place of a call: the site of that call, else 0.
    pub within: u32,
    /// The condition, selector or value that was tested.
    pub subject: Expr,
    /// 0 or 1; the target block of a switch; the value that was fixed.
    pub outcome: u64,
    /// What holds because of the outcome.
    pub held: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestKind {
    Branch,
    Switch,
    Guard(GuardReason),
    /// A value was fixed to what it is on this input: the run says nothing about
    /// other values, even where they take the same way.
    Fixed(LossReason),
}

/// A watched block was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How many of the path's tests came before.
    pub after: u32,
    /// Number of the block.
    pub block: u32,
}

/// A value that somebody asked for was about to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// How many of the path's tests came before.
    pub after: u32,
    /// Which probe it is; see [`changeling_trace::event::probe`].
    pub code: u32,
    /// Of 64 bits.
    pub value: Expr,
    pub concrete: u64,
}

#[derive(Clone, Debug)]
pub struct Path {
    pub tests: Vec<Test>,
    pub output: Output,
    /// What this path leaves unsaid about the inputs that follow it.
    pub gaps: Vec<Gap>,
    /// Gaps that are about a value.
    pub losses: Vec<(Gap, Expr)>,
    /// The watched blocks that were entered, in order.
    pub marks: Vec<Mark>,
    /// Not all of them are known.
    pub marks_cut: bool,
    /// The probes that were come by, in order.
    pub probes: Vec<Probed>,
    /// The operands of comparisons that are gauged, in order.
    pub gauged: Vec<Probed>,
    pub concretizations: u64,
}

impl Path {
    /// Whether the path condition is all that the run depended on.
    pub fn tells_all(&self) -> bool {
        self.gaps.is_empty() && self.losses.is_empty() && !self.marks_cut
    }
}

/// Reads a traced run into `arena`.
pub fn read(
    arena: &mut Arena,
    side: Side,
    run: &TracedRun<'_>,
    sites: &SiteTable,
) -> Result<Path, TermError> {
    let trace = &run.trace;
    let roots: Vec<Label> = trace
        .events
        .iter()
        .map(|event| event.label)
        .filter(|&label| label != 0)
        .collect();
    let imported = arena.import(trace.nodes, trace.tables, &roots)?;
    let mut reader = Reader {
        side,
        sites,
        nodes: trace.nodes,
        imported,
        path: Path {
            tests: Vec::new(),
            output: Output::default(),
            gaps: Vec::new(),
            losses: Vec::new(),
            marks: Vec::new(),
            marks_cut: run.trace.run_flags & run_flags::MARKS_CUT != 0,
            probes: Vec::new(),
            gauged: Vec::new(),
            concretizations: 0,
        },
    };
    for event in trace.events {
        reader.event(arena, event)?;
    }
    reader.whole_run(run);
    let Reader {
        mut path, imported, ..
    } = reader;
    let (output, untracked) = output::read(arena, run, &imported)?;
    path.output = output;
    if untracked {
        path.gaps.push(Gap::UntrackedOutput { side });
    }
    Ok(path)
}

struct Reader<'a> {
    side: Side,
    sites: &'a SiteTable,
    nodes: &'a [Node],
    imported: ImportMap,
    path: Path,
}

impl Reader<'_> {
    fn event(&mut self, arena: &mut Arena, event: &Event) -> Result<(), TermError> {
        let Some(kind) = EventKind::from_u8(event.kind) else {
            self.path.gaps.push(Gap::BrokenTrace { side: self.side });
            return Ok(());
        };
        match kind {
            EventKind::Branch => {
                let subject = self.subject(event)?;
                let taken = event.flags & event::TAKEN != 0;
                self.condition(arena, TestKind::Branch, event, subject, taken)
            }
            EventKind::Bits => {
                let subject = self.subject(event)?;
                self.bits(arena, event, subject)
            }
            EventKind::Guard => {
                let subject = self.subject(event)?;
                let reason = GuardReason::from_u32(event.aux).unwrap_or(GuardReason::Bounds);
                let holds = self.nodes[event.label as usize].value & 1 == 1;
                self.condition(arena, TestKind::Guard(reason), event, subject, holds)
            }
            EventKind::Switch => {
                let subject = self.subject(event)?;
                self.switch(arena, event, subject)
            }
            EventKind::Concretize => {
                let subject = self.subject(event)?;
                self.path.concretizations += 1;
                let reason = loss_reason(event.aux);
                let held = terms::equals(arena, subject, event.value)?;
                let kind = TestKind::Fixed(reason);
                self.push(
                    arena,
                    Test {
                        kind,
                        site: event.site,
                        caller: 0,
                        within: 0,
                        subject,
                        outcome: event.value,
                        held,
                    },
                );
                Ok(())
            }
            EventKind::Loss => {
                let place = Place {
                    side: self.side,
                    site: event.site,
                };
                let gap = Gap::Lost {
                    place,
                    reason: loss_reason(event.aux),
                };
                match self.imported.get(event.label) {
                    Some(lost) => self.path.losses.push((gap, lost)),
                    None => self.path.gaps.push(gap),
                }
                Ok(())
            }
            EventKind::Mark => {
                let (after, block) = (self.path.tests.len() as u32, event.aux);
                self.path.marks.push(Mark { after, block });
                Ok(())
            }
            EventKind::Probe => {
                let value = match event.label {
                    0 => arena.constant(64, event.value)?,
                    _ => self.subject(event)?,
                };
                let probes = match probe::gauged(event.aux) {
                    Some(_) => &mut self.path.gauged,
                    None => &mut self.path.probes,
                };
                probes.push(Probed {
                    after: self.path.tests.len() as u32,
                    code: event.aux,
                    value,
                    concrete: event.value,
                });
                Ok(())
            }
            EventKind::OutputByte
            | EventKind::OutputValue
            | EventKind::OutputExtent
            | EventKind::Observe => Ok(()),
        }
    }

    fn subject(&self, event: &Event) -> Result<Expr, TermError> {
        let known = self.imported.get(event.label);
        known.ok_or(TermError::UnknownLabel { label: event.label })
    }

    fn condition(
        &mut self,
        arena: &mut Arena,
        kind: TestKind,
        event: &Event,
        subject: Expr,
        holds: bool,
    ) -> Result<(), TermError> {
        let held = if holds { subject } else { arena.not(subject) };
        let caller = match kind {
            TestKind::Branch => event.aux,
            _ => 0,
        };
        let within = match event.kind == EventKind::Branch as u8 {
            true => event.value as u32,
            false => 0,
        };
        let outcome = holds.into();
        self.push(
            arena,
            Test {
                kind,
                site: event.site,
                caller,
                within,
                subject,
                outcome,
                held,
            },
        );
        Ok(())
    }

    fn bits(&mut self, arena: &mut Arena, event: &Event, subject: Expr) -> Result<(), TermError> {
        let node = &self.nodes[event.label as usize];
        let (width, value) = (node.width.into(), node.value);
        let end = event::bits::end(event.value).min(width).min(u64::BITS);
        for bit in (event::bits::low(event.value)..end).rev() {
            let test = terms::bit(arena, subject, bit)?;
            self.condition(arena, TestKind::Branch, event, test, value >> bit & 1 == 1)?;
        }
        Ok(())
    }

    fn switch(&mut self, arena: &mut Arena, event: &Event, subject: Expr) -> Result<(), TermError> {
        let alternatives = switch_alternatives(arena, self.sites, event.site, subject)?;
        let target = switch_target(self.sites, event.site, event.value);
        let Some(&(outcome, held)) = alternatives
            .iter()
            .find(|(block, _)| Some(*block) == target)
        else {
            // Without its cases the switch is only known for this one value.
            let place = Place {
                side: self.side,
                site: event.site,
            };
            self.path.gaps.push(Gap::UnknownSwitch { place });
            let held = terms::equals(arena, subject, event.value)?;
            let kind = TestKind::Fixed(LossReason::Unsupported);
            let (site, outcome) = (event.site, event.value);
            self.push(
                arena,
                Test {
                    kind,
                    site,
                    caller: event.aux,
                    within: 0,
                    subject,
                    outcome,
                    held,
                },
            );
            return Ok(());
        };
        let (kind, site) = (TestKind::Switch, event.site);
        self.push(
            arena,
            Test {
                kind,
                site,
                caller: event.aux,
                within: 0,
                subject,
                outcome,
                held,
            },
        );
        Ok(())
    }

    /// Tests that are true whatever the input say nothing; one that is false on
    /// the very input that took it means that a label is wrong.
    fn push(&mut self, arena: &Arena, test: Test) {
        match arena.truth(test.held) {
            Some(true) => {}
            Some(false) => self.path.gaps.push(Gap::BrokenTrace { side: self.side }),
            None => self.path.tests.push(test),
        }
    }

    fn whole_run(&mut self, run: &TracedRun<'_>) {
        let side = self.side;
        let flags = run.trace.run_flags;
        let facts = [
            (run.trace.refused > 0, Gap::TraceFull { side }),
            (!run.trace.intact, Gap::BrokenTrace { side }),
            (flags & run_flags::THREADS != 0, Gap::Threads { side }),
            (flags & run_flags::FORKED != 0, Gap::Forked { side }),
            (
                run.observation.end == crate::End::TimedOut,
                Gap::TimedOut { side },
            ),
            (run.observation.truncated, Gap::OutputTruncated { side }),
        ];
        self.path.gaps.extend(
            facts
                .into_iter()
                .filter(|(holds, _)| *holds)
                .map(|(_, gap)| gap),
        );
    }
}

fn loss_reason(number: u32) -> LossReason {
    LossReason::from_u32(number).unwrap_or(LossReason::Unsupported)
}

/// All ways a test can go, each with what holds then. The alternatives exclude
/// one another and leave nothing out, except for fixed values: there the list
/// has only the value seen.
pub fn alternatives(
    arena: &mut Arena,
    sites: &SiteTable,
    test: &Test,
) -> Result<Vec<(u64, Expr)>, TermError> {
    match test.kind {
        TestKind::Branch | TestKind::Guard(_) => {
            let not = arena.not(test.subject);
            Ok(vec![(0, not), (1, test.subject)])
        }
        TestKind::Switch => switch_alternatives(arena, sites, test.site, test.subject),
        TestKind::Fixed(_) => Ok(vec![(test.outcome, test.held)]),
    }
}

/// One alternative per target block, so that cases which share their code are
/// one path.
fn switch_alternatives(
    arena: &mut Arena,
    sites: &SiteTable,
    site: u32,
    subject: Expr,
) -> Result<Vec<(u64, Expr)>, TermError> {
    let cases = sites
        .site(site)
        .map(|site| site.cases.as_slice())
        .unwrap_or_default();
    let Some(&(None, default)) = cases.last() else {
        return Ok(Vec::new());
    };
    let mut targets: Vec<(u64, Vec<Expr>)> = Vec::new();
    for &(value, block) in cases {
        let Some(value) = value else { continue };
        if block == default {
            continue;
        }
        let equal = terms::equals(arena, subject, value)?;
        match targets
            .iter_mut()
            .find(|(known, _)| *known == u64::from(block))
        {
            Some((_, values)) => values.push(equal),
            None => targets.push((block.into(), vec![equal])),
        }
    }
    let mut alternatives = Vec::with_capacity(targets.len() + 1);
    let mut special = Vec::new();
    for (block, values) in targets {
        special.extend(values.iter().copied());
        alternatives.push((block, arena.any(&values)?));
    }
    let special = arena.any(&special)?;
    alternatives.push((default.into(), arena.not(special)));
    Ok(alternatives)
}

fn switch_target(sites: &SiteTable, site: u32, value: u64) -> Option<u64> {
    let cases = &sites.site(site)?.cases;
    let case = cases
        .iter()
        .find(|(known, _)| *known == Some(value))
        .or(cases.last())?;
    Some(case.1.into())
}
