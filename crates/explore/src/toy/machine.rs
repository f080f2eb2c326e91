//! The machine that toy programs run on: it computes and traces at once.

use crate::runner::{TraceView, TracedRun, nothing_seen};
use crate::{End, Observation};
use changeling_trace::event::{Event, TAKEN, probe};
use changeling_trace::input::Input;
use changeling_trace::layout::run_flags;
use changeling_trace::node::{A_CONST, B_CONST, Node};
use changeling_trace::{EventKind, GuardReason, LossReason, Op};
use std::collections::HashMap;

/// A value with its label; label 0 is concrete.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub value: u64,
    pub width: u16,
    label: u32,
}

/// A toy program stops early by returning this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// All of a node but its concrete value.
type Meaning = (u8, u8, u16, u32, u32, u32, u64);

#[derive(Clone)]
pub struct Machine {
    input: Input,
    nodes: Vec<Node>,
    known: HashMap<Meaning, u32>,
    events: Vec<Event>,
    strings: Vec<u8>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    coverage: Vec<u8>,
    flags: u32,
}

impl Machine {
    pub fn new(input: &Input) -> Machine {
        Machine {
            input: input.clone(),
            nodes: vec![Node::default()],
            known: HashMap::new(),
            events: Vec::new(),
            strings: vec![0],
            stdout: Vec::new(),
            stderr: Vec::new(),
            coverage: vec![0; 64],
            flags: 0,
        }
    }

    pub fn constant(&self, width: u16, value: i64) -> Word {
        Word {
            value: value as u64 & mask(width),
            width,
            label: 0,
        }
    }

    /// Byte `offset` of the only stream; behind its end, zero.
    pub fn byte(&mut self, offset: usize) -> Word {
        let value = self.input.streams[0]
            .bytes
            .get(offset)
            .copied()
            .unwrap_or(0)
            .into();
        let node = Node {
            op: Op::Input as u8,
            width: 8,
            imm: offset as u64,
            ..Node::default()
        };
        self.node(node, value)
    }

    pub fn length(&mut self) -> Word {
        let value = self.input.streams[0].bytes.len() as u64;
        self.node(
            Node {
                op: Op::Length as u8,
                width: 64,
                ..Node::default()
            },
            value,
        )
    }

    /// The byte at a position, or the end of the input, as `getchar` sees it.
    pub fn getchar(&mut self, position: usize, site: u32) -> Option<Word> {
        let length = self.length();
        let here = self.constant(64, position as i64);
        let more = self.binary(Op::Ult, here, length);
        if self.branch(site, more) {
            Some(self.byte(position))
        } else {
            None
        }
    }

    pub fn binary(&mut self, op: Op, a: Word, b: Word) -> Word {
        assert_eq!(a.width, b.width, "{op:?}");
        let width = if op.is_comparison() { 1 } else { a.width };
        let value = compute(op, a.width, a.value, b.value) & mask(width);
        if a.label == 0 && b.label == 0 {
            return Word {
                value,
                width,
                label: 0,
            };
        }
        let (flags, imm) = match (a.label, b.label) {
            (0, _) => (A_CONST, a.value),
            (_, 0) => (B_CONST, b.value),
            _ => (0, 0),
        };
        let node = Node {
            op: op as u8,
            flags,
            width,
            a: a.label,
            b: b.label,
            imm,
            ..Node::default()
        };
        self.node(node, value)
    }

    pub fn sext(&mut self, a: Word, width: u16) -> Word {
        let value = sign_extended(a.value, a.width) as u64 & mask(width);
        if a.label == 0 {
            return Word {
                value,
                width,
                label: 0,
            };
        }
        self.node(
            Node {
                op: Op::SExt as u8,
                width,
                a: a.label,
                ..Node::default()
            },
            value,
        )
    }

    pub fn against(&mut self, op: Op, a: Word, constant: i64) -> Word {
        let constant = self.constant(a.width, constant);
        self.binary(op, a, constant)
    }

    /// `a > constant`, signed.
    pub fn above(&mut self, a: Word, constant: i64) -> Word {
        let constant = self.constant(a.width, constant);
        self.binary(Op::Slt, constant, a)
    }

    pub fn branch(&mut self, site: u32, condition: Word) -> bool {
        let taken = condition.value == 1;
        self.cover(site * 2 + u32::from(taken));
        if condition.label != 0 {
            let flags = if taken { TAKEN } else { 0 };
            self.push(EventKind::Branch, flags, site, condition.label, 0, 0);
        }
        taken
    }

    /// A watched block begins.
    pub fn mark(&mut self, block: u32) {
        self.cover(block);
        self.push(EventKind::Mark, 0, 0, 0, block, 0);
    }

    /// A value leaves what was changed.
    pub fn probe(&mut self, number: u32, decides: bool, a: Word) {
        let wide = self.zext(a, 64);
        let code = probe::code(number, decides);
        self.push(EventKind::Probe, 0, 0, wide.label, code, wide.value);
    }

    fn zext(&mut self, a: Word, width: u16) -> Word {
        let Word { value, label, .. } = a;
        if label == 0 || a.width == width {
            return Word {
                value,
                width,
                label,
            };
        }
        let node = Node {
            op: Op::ZExt as u8,
            width,
            a: label,
            ..Node::default()
        };
        self.node(node, value)
    }

    pub fn switch(&mut self, site: u32, selector: Word) -> u64 {
        if selector.label != 0 {
            self.push(
                EventKind::Switch,
                0,
                site,
                selector.label,
                0,
                selector.value,
            );
        }
        selector.value
    }

    pub fn guard(&mut self, site: u32, condition: Word, reason: GuardReason) {
        if condition.label != 0 {
            self.push(EventKind::Guard, 0, site, condition.label, reason as u32, 1);
        }
    }

    /// Unsigned division as hardware does it: a zero divisor is a signal.
    pub fn divide(&mut self, site: u32, a: Word, b: Word) -> Result<Word, Stop> {
        let safe = self.against(Op::Ne, b, 0);
        self.guard(site, safe, GuardReason::Divisor);
        if b.value == 0 {
            Err(Stop::Signal(8))
        } else {
            Ok(self.binary(Op::UDiv, a, b))
        }
    }

    /// The value without its label, with an account.
    pub fn concretize(&mut self, site: u32, a: Word) -> Word {
        if a.label != 0 {
            let reason = LossReason::ExternalCall as u32;
            self.push(EventKind::Concretize, 0, site, a.label, reason, a.value);
        }
        Word { label: 0, ..a }
    }

    pub fn print(&mut self, text: &str) {
        self.stdout.extend(text.as_bytes());
    }

    /// `printf("%d")`, or `%u`.
    pub fn print_number(&mut self, site: u32, format: &str, a: Word) {
        let text = match format {
            "%u" => a.value.to_string(),
            _ => sign_extended(a.value, a.width).to_string(),
        };
        if a.label != 0 {
            let name = self.string(format);
            let offset = self.stdout.len() as u64;
            self.push(EventKind::OutputValue, 1, site, a.label, name, offset);
            self.push(
                EventKind::OutputExtent,
                1,
                site,
                0,
                text.len() as u32,
                a.value,
            );
        }
        self.print(&text);
    }

    pub fn putchar(&mut self, site: u32, a: Word) {
        assert_eq!(a.width, 8);
        if a.label != 0 {
            let offset = self.stdout.len() as u64;
            self.push(EventKind::OutputByte, 1, site, a.label, 0, offset);
        }
        self.stdout.push(a.value as u8);
    }

    /// On stderr.
    pub fn complain(&mut self, text: &str) {
        self.stderr.extend(text.as_bytes());
    }

    /// Output that the tracer does not see.
    pub fn print_untracked(&mut self, text: &str) {
        self.flags |= UNTRACKED;
        self.print(text);
    }

    pub fn observation(&self, end: Result<(), Stop>) -> Observation {
        let end = match end {
            Ok(()) => End::Exit(0),
            Err(Stop::Exit(code)) => End::Exit(code),
            Err(Stop::Signal(signal)) => End::Signal(signal),
            Err(Stop::TimedOut) => End::TimedOut,
        };
        let (stdout, stderr) = (self.stdout.clone(), self.stderr.clone());
        Observation {
            stdout,
            stderr,
            end,
            ..nothing_seen()
        }
    }

    pub fn traced(&self, end: Result<(), Stop>) -> TracedRun<'_> {
        let observation = self.observation(end);
        let finished = matches!(observation.end, End::Exit(_));
        let mut output_totals = [0; 8];
        if self.flags & UNTRACKED == 0 {
            output_totals[1] = self.stdout.len() as u64;
            output_totals[2] = self.stderr.len() as u64;
        }
        let trace = TraceView {
            nodes: &self.nodes,
            events: &self.events,
            tables: &[],
            strings: &self.strings,
            coverage: &self.coverage,
            run_flags: run_flags::STARTED | if finished { run_flags::FINISHED } else { 0 },
            refused: 0,
            intact: true,
            output_totals,
            branches: None,
        };
        TracedRun { observation, trace }
    }

    fn node(&mut self, mut node: Node, value: u64) -> Word {
        let key = (
            node.op, node.flags, node.width, node.a, node.b, node.c, node.imm,
        );
        let width = node.width;
        if let Some(&label) = self.known.get(&key) {
            return Word {
                value,
                width,
                label,
            };
        }
        node.value = value;
        self.nodes.push(node);
        let label = self.nodes.len() as u32 - 1;
        self.known.insert(key, label);
        Word {
            value,
            width,
            label,
        }
    }

    fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    fn cover(&mut self, block: u32) {
        let blocks = self.coverage.len();
        self.coverage[block as usize % blocks] = 1;
    }

    fn push(&mut self, kind: EventKind, flags: u8, site: u32, label: u32, aux: u32, value: u64) {
        let kind = kind as u8;
        self.events.push(Event {
            kind,
            flags,
            thread: 0,
            site,
            label,
            aux,
            value,
        });
    }
}

/// A flag of the toy's own, above those of the trace.
const UNTRACKED: u32 = 1 << 31;

fn compute(op: Op, width: u16, a: u64, b: u64) -> u64 {
    let (sa, sb) = (sign_extended(a, width), sign_extended(b, width));
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Eq => (a == b).into(),
        Op::Ne => (a != b).into(),
        Op::Ult => (a < b).into(),
        Op::Ule => (a <= b).into(),
        Op::Slt => (sa < sb).into(),
        Op::Sle => (sa <= sb).into(),
        other => unimplemented!("toy programs do not use {other:?}"),
    }
}

fn sign_extended(value: u64, width: u16) -> i64 {
    let shift = 64 - u32::from(width);
    ((value << shift) as i64) >> shift
}

fn mask(width: u16) -> u64 {
    u64::MAX >> (64 - width)
}
