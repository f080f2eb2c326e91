//! What hides the effect of a change, and what may bring it to light.
//!
//! A run may enter a change and show nothing because of something else that it did, such as an
//! error that was noted before and is all that is reported. The guide knows what has to hold where
//! effects are shown, and when it ceased to hold; what was decided right before that is then decided
//! otherwise.
//!
//! A run that enters a change and hides nothing may lack but a little: `1?2:3` shows nothing where
//! `-1?2:3` does. Bytes that the program would have taken otherwise are put in between the others.

use crate::decision::WayState;
use crate::edits::{History, Read};
use crate::frontier::{Bucket, Edit, How, Mend, Task};
use crate::guide::Context;
use crate::guides::Key;
use crate::state::State;
use crate::tree::{NodeId, RunId};
use changeling_solver::{Answer, Assignment, Expr, Var};
use changeling_trace::input::Input;

/// So many decisions before the mask are made otherwise.
const NEAR: usize = 4;
/// So many if they are about the same byte.
const NEAR_BYTE: usize = 24;
/// Ranks of going on behind an end that nothing is known to be wrong with.
const ENDLESS: u32 = 2;
/// Ranks that each byte is worth behind the mask: what is right up to there is a beginning. Of longer inputs
/// nothing is hoped for.
const BYTE: u32 = 6;
const MOST_BYTES: usize = 8;
const MOST_ROOM: usize = 16;
/// Ranks of runs on which something hides the changes, and of those that do not come to where they show.
const MASKED: u32 = 2;
const UNSHOWN: u32 = 2;
/// Ranks of what a flip does as well.
const LIKE_A_FLIP: u32 = 2;
/// Bytes that are told apart from more others than not.
const FEW: usize = 64;
/// How often bytes are put in between.
const OFTEN: [How; 3] = [How::Before, How::Twice, How::Thrice];
/// Ranks that each place is worth in which something was changed and which did not run.
const MISSING: u32 = 2;
/// Ranks that it is worth to be right for longer than before.
const BETTER: u32 = 6;
/// Ranks on the way to a target that count for one.
const NEARER: u32 = Key::GOAL / 2;
/// So much waits to be mended at the same time.
const MOST_MENDS: usize = 1 << 14;
/// So many decisions of a run are looked at.
const MOST_BETWEEN: usize = 512;

impl State {
    /// The decisions of a run, each with the way it went, and what the guide remembered before each
    /// of them and in the end.
    fn course(&self, run: RunId) -> (Vec<(NodeId, usize)>, Vec<[Context; 2]>) {
        let ran = &self.corpus[run.0 as usize];
        let mut way: Vec<(NodeId, usize)> = Vec::new();
        let mut contexts: Vec<[Context; 2]> = vec![ran.contexts];
        for (node, decision, taken) in self.tree.way_to(ran.end) {
            way.push((node, taken));
            contexts.push(decision.contexts);
        }
        way.reverse();
        contexts.reverse();
        (way, contexts)
    }

    /// Whether something hides what changes did on a run is seen.
    pub fn look_for_mask(&mut self, run: RunId) {
        if !self.entered_change(run) {
            return;
        }
        let (way, contexts) = self.course(run);
        let Some(last) = self.guide.masked(&contexts) else {
            return;
        };
        let decision = way
            .get(last)
            .and_then(|(node, _)| self.tree.decision(*node));
        let at = decision.map(|decision| (decision.sites, decision.within));
        let right = self.right(&way[..=last]);
        let ran = &mut self.corpus[run.0 as usize];
        ran.right = right;
        ran.mask = Some(last as u32);
        ran.masked_at = at.map_or([0; 4], |([b, h], [c, d])| [b, h, c, d]);
    }

    /// A run entered a change and shows nothing of it.
    pub fn bring_to_light(&mut self, run: RunId, history: &History) {
        let (way, contexts) = self.course(run);
        for first in self.guide.first_ran(&contexts) {
            self.look_around(run, &way, first);
        }
        match self.corpus[run.0 as usize].mask {
            Some(last) => self.lift_mask(run, &way[..=last as usize], history, MASKED),
            None => {
                self.unmasked = true;
                // What shows nothing has to be brought to where it does first.
                let rank = u32::from(!history.shown) * UNSHOWN;
                self.say_again(run, history, rank);
                self.put_between(run, &OFTEN, rank);
                for stream in 0..self.subject.shape.streams.len() {
                    self.go_on(run, stream as u32, rank + ENDLESS);
                }
                self.leave_out(run, rank);
            }
        }
    }

    /// A run has come nearer to something on the way to a change: more of the same may be all that it lacks.
    pub fn go_on_from(&mut self, run: RunId, history: &History) {
        self.say_again(run, history, 0);
        for stream in 0..self.subject.shape.streams.len() {
            self.go_on(run, stream as u32, 0);
        }
    }

    /// More of the changes than ever had run before a decision: what was decided right before that and
    /// after it is decided otherwise.
    fn look_around(&mut self, run: RunId, way: &[(NodeId, usize)], first: usize) {
        let before = way[..first].iter().rev().take(NEAR);
        let after = way[first..].iter().take(NEAR);
        let near: Vec<(u32, (NodeId, usize))> = (0u32..)
            .zip(before.copied())
            .chain((0u32..).zip(after.copied()))
            .collect();
        for (rank, step) in near {
            self.mend_otherwise(run, step, rank, LIKE_A_FLIP);
        }
    }

    /// What was decided right before the mask is decided otherwise.
    fn lift_mask(&mut self, run: RunId, way: &[(NodeId, usize)], history: &History, rank: u32) {
        let ran = &self.corpus[run.0 as usize];
        let behind = ran.right.map_or(0, |(stream, right)| {
            let length = ran.input.streams.get(stream as usize);
            let length = length.map_or(0, |stream| stream.bytes.len());
            length.saturating_sub(right as usize)
        });
        // Where all of the input was right there was too little of it.
        let ended = ran.right.filter(|_| behind == 0);
        // The byte that is wrong is one that will be another.
        let rank = rank + BYTE * behind.saturating_sub(1).min(MOST_BYTES) as u32;
        if let Some((stream, _)) = ended {
            self.go_on(run, stream, rank);
        }
        self.say_again(run, history, rank + LIKE_A_FLIP);
        // All that was asked of the same byte is the same to the mask.
        let last = way.iter().rev().find_map(|(node, _)| self.byte_of(*node));
        let near = way.iter().rev().take(NEAR_BYTE).enumerate();
        let near = near
            .filter(|(at, (node, _))| *at < NEAR || last.is_some() && self.byte_of(*node) == last);
        let near: Vec<(usize, (NodeId, usize))> = near.map(|(at, step)| (at, *step)).collect();
        for (at, step) in near {
            self.mend_otherwise(run, step, rank + at.min(NEAR) as u32, 0);
        }
    }

    /// How much of a stream was right before a mask.
    fn right(&self, way: &[(NodeId, usize)]) -> Option<(u32, u32)> {
        let mut bytes = way.iter().rev().map(|(node, _)| self.byte_of(*node));
        let last = bytes.find_map(|byte| byte)?;
        let accepted = self.is_accepted(way, last);
        Some((last.stream, last.offset + u32::from(accepted)))
    }

    /// Whether a run that was made from another by mending it is right for longer, or as long and
    /// goes on.
    pub fn is_mended(&self, run: RunId, task: Task) -> bool {
        let (of, goes_on) = match task {
            Task::Mend { mend, .. } => (mend.run, false),
            Task::Edit { run, edit } => (run, matches!(edit, Edit::Insert { .. })),
            _ => return false,
        };
        let [now, before] = [run, of].map(|run| &self.corpus[run.0 as usize]);
        if before.mask.is_none() || !self.entered_change(run) {
            return false;
        }
        match (now.mask, now.right, before.right) {
            (None, ..) => true,
            (_, Some((_, now)), Some((_, before))) => now > before || goes_on && now == before,
            _ => false,
        }
    }

    /// Whether a byte is one of few that would have been taken like it.
    fn is_accepted(&self, way: &[(NodeId, usize)], byte: Read) -> bool {
        let Read { stream, offset } = byte;
        let variable = Var::Byte { stream, offset };
        let asked = way.iter().filter_map(|(node, taken)| {
            let held = self.tree.decision(*node)?.ways[*taken].held;
            let own = self.is_about_a_byte(held) && self.arena.variables(held)[0] == variable;
            own.then_some(held)
        });
        let mut values: Vec<u8> = (0..=u8::MAX).collect();
        let mut assignment = Assignment::default();
        for held in asked {
            values.retain(|value| {
                assignment.set(variable, (*value).into());
                self.arena.holds(held, &assignment)
            });
        }
        values.len() <= FEW
    }

    /// The last byte that a decision is about.
    fn byte_of(&self, node: NodeId) -> Option<Read> {
        self.last_read(self.tree.decision(node)?.subject)
    }

    /// A decision of a run will be made otherwise, in all ways there are.
    /// Another byte in place of the one that stands there comes so much later.
    fn mend_otherwise(
        &mut self,
        run: RunId,
        (node, taken): (NodeId, usize),
        rank: u32,
        instead: u32,
    ) {
        let Some(decision) = self.tree.decision(node) else {
            return;
        };
        let ways = decision.ways.iter().map(|way| way.state).enumerate();
        let others = ways.filter(|(at, _)| *at != taken);
        let possible = others.filter(|(_, state)| *state != WayState::Impossible);
        let possible: Vec<usize> = possible.map(|(at, _)| at).collect();
        for at in possible {
            for (later, how) in [(instead, How::Instead), (0, How::Before)] {
                let (way, mend) = (at as u32, Mend { run, how });
                self.mend_later(Task::Mend { node, way, mend }, rank + later);
            }
        }
    }

    /// The more of the changes has run the better. When too much waits, it has to do without the rest.
    pub fn mend_later(&mut self, task: Task, rank: u32) {
        let (bucket, run) = match task {
            Task::Mend { mend, .. } => (Bucket::Mend, mend.run),
            Task::Edit { run, .. } => (Bucket::Edit, run),
            _ => return,
        };
        if self.frontier.waiting_in(bucket) >= MOST_MENDS {
            return;
        }
        let ran = &self.corpus[run.0 as usize];
        let missing = self.guide.missing(ran.contexts);
        let rank = rank + MISSING * missing;
        // There is more room in short inputs.
        let rank = match self.entered_change(run) {
            true => rank + ran.length().min(MOST_ROOM) as u32 / 2,
            false => rank,
        };
        // What has just become better is what to go on with.
        let rank = if ran.mended {
            rank.saturating_sub(BETTER)
        } else {
            rank
        };
        let novelty = self.novelty(bucket, &task);
        self.frontier.push(bucket, rank, novelty, task);
    }

    /// Bytes that decide otherwise will be put in before those that a run's decisions rest on.
    pub fn put_between(&mut self, run: RunId, often: &[How], rank: u32) {
        let way = self.tree.way_to(self.corpus[run.0 as usize].end);
        let ways = way.take(MOST_BETWEEN).flat_map(|(node, decision, taken)| {
            let ways = decision.ways.iter().enumerate();
            ways.filter(move |(at, _)| *at != taken)
                .map(move |(at, way)| (node, at, way.held))
        });
        let bytes = ways.filter(|(_, _, held)| self.is_about_a_byte(*held));
        let bytes: Vec<(NodeId, u32)> = bytes.map(|(node, at, _)| (node, at as u32)).collect();
        for (more, &how) in (0u32..).zip(often) {
            for &(node, way) in bytes.iter().rev() {
                let mend = Mend { run, how };
                self.mend_later(Task::Mend { node, way, mend }, rank + 4 * more);
            }
        }
    }

    /// A flip leads to a target, but writes over what stands there: the byte that it asks for will also be
    /// put in.
    pub fn put_in_later(&mut self, node: NodeId, way: usize, rank: u32) {
        let held = self
            .tree
            .decision(node)
            .map(|decision| decision.ways[way].held);
        if !held.is_some_and(|held| self.is_about_a_byte(held)) {
            return;
        }
        let run = self.tree.run(node);
        for how in [How::Before, How::Behind] {
            let (way, mend) = (way as u32, Mend { run, how });
            self.mend_later(Task::Mend { node, way, mend }, rank / NEARER);
        }
    }

    fn is_about_a_byte(&self, condition: Expr) -> bool {
        self.arena.variable_count(condition) == 1
            && matches!(self.arena.variables(condition)[0], Var::Byte { .. })
    }

    /// The input of a run as it would have to be for a decision to go the other way.
    pub fn mended(&mut self, node: NodeId, way: usize, mend: Mend) -> Option<Input> {
        let goal = self.tree.decision(node)?.ways[way].held;
        self.count_mended(node, way, mend);
        match mend.how {
            How::Instead => {}
            How::Before => return self.with_byte(mend.run, goal, 0, 1),
            How::Twice => return self.with_byte(mend.run, goal, 0, 2),
            How::Thrice => return self.with_byte(mend.run, goal, 0, 3),
            How::Behind => return self.with_byte(mend.run, goal, 1, 1),
        }
        let prefix = self.tree.prefix(node);
        match self.ask(&prefix, goal, mend.run) {
            Answer::Sat(model) => Some(model.to_input(&self.subject.shape)),
            Answer::Unsat(_) | Answer::Unknown(_) => None,
        }
    }

    /// The input of a run with a byte more that satisfies a condition on one byte, put in where that
    /// byte stands or so many bytes behind it, and so many times; if that is never, in its place.
    pub fn with_byte(
        &mut self,
        run: RunId,
        goal: Expr,
        behind: usize,
        times: usize,
    ) -> Option<Input> {
        if self.arena.variable_count(goal) != 1 {
            return None;
        }
        let var = *self.arena.variables(goal).first()?;
        let Var::Byte { stream, offset } = var else {
            return None;
        };
        let Answer::Sat(model) = self.ask(&[], goal, run) else {
            return None;
        };
        let mut input = (*self.corpus[run.0 as usize].input).clone();
        let bytes = &mut input.streams.get_mut(stream as usize)?.bytes;
        let at = (offset as usize + behind).min(bytes.len());
        let byte = model.get(var) as u8;
        match times {
            0 => *bytes.get_mut(at)? = byte,
            _ => drop(bytes.splice(at..at, std::iter::repeat_n(byte, times))),
        }
        input.normalise();
        Some(input)
    }
}
