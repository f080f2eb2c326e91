//! LLVM's intrinsic functions, as clang and rustc use them.

use crate::function::Pass;
use crate::group::{Argument, Label, Word};
use crate::ir::Value;
use crate::leaves::{self, Leaf};
use changeling_trace::event::LossReason;
use changeling_trace::node::Op;

/// Numbers of `Composite` in the runtime.
const COMPOSITES: &[(&str, u32)] = &[
    ("umin", 0),
    ("umax", 1),
    ("smin", 2),
    ("smax", 3),
    ("abs", 4),
    ("uadd.sat", 11),
    ("usub.sat", 12),
    ("sadd.sat", 13),
    ("ssub.sat", 14),
    ("ucmp", 15),
    ("scmp", 16),
];

const OVERFLOWS: &[(&str, Op, u32)] = &[
    ("uadd.with.overflow", Op::Add, 5),
    ("usub.with.overflow", Op::Sub, 6),
    ("umul.with.overflow", Op::Mul, 7),
    ("sadd.with.overflow", Op::Add, 8),
    ("ssub.with.overflow", Op::Sub, 9),
    ("smul.with.overflow", Op::Mul, 10),
];

const UNARIES: &[(&str, Op)] = &[
    ("ctpop", Op::Popcount),
    ("ctlz", Op::LeadingZeros),
    ("cttz", Op::TrailingZeros),
    ("bswap", Op::ByteSwap),
    ("bitreverse", Op::BitReverse),
];

/// Results equal to their first argument.
const TRANSPARENT: &[&str] = &[
    "expect",
    "launder.invariant.group",
    "strip.invariant.group",
    "ssa.copy",
    "annotation",
    "ptr.annotation",
    "arithmetic.fence",
];

/// Nothing to do with values.
const IGNORED: &[&str] = &[
    "dbg.",
    "lifetime.",
    "assume",
    "invariant.",
    "experimental.noalias",
    "donothing",
    "sideeffect",
    "prefetch",
    "stacksave",
    "stackrestore",
    "eh.",
    "trap",
    "debugtrap",
    "ubsantrap",
    "va_end",
    "threadlocal.address",
    "frameaddress",
    "returnaddress",
    "objectsize",
    "is.constant",
    "type.test",
    "public.type.test",
    "pseudoprobe",
    "var.annotation",
    "experimental.constrained",
    "x86.sse2.pause",
    "readcyclecounter",
    "localescape",
    "fake.use",
    "instrprof",
];

impl Pass<'_> {
    pub fn intrinsic(&mut self, call: Value, name: &str) {
        let name = name.trim_start_matches("llvm.");
        let is = |stem: &str| {
            name == stem
                || name
                    .strip_prefix(stem)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        if IGNORED.iter().any(|prefix| name.starts_with(prefix)) {
            return;
        }
        if TRANSPARENT.iter().any(|stem| is(stem)) {
            let labels = self.labels_of(call.operand(0));
            self.group.assign(&mut self.labels, call, labels);
        } else if is("memcpy") || is("memmove") || is("memcpy.inline") {
            self.block_copy(call);
        } else if is("memset") || is("memset.inline") {
            self.block_fill(call);
        } else if is("va_start") {
            self.va_start(call);
        } else if is("va_copy") {
            self.flush(call);
            self.copy_now(call, call.operand(0), call.operand(1), 24);
        } else if is("ptrmask") {
            self.simple_binary(call, Op::And);
        } else if let Some(&(_, op)) = UNARIES.iter().find(|(stem, _)| is(stem)) {
            self.unary(call, op);
        } else if let Some(&(_, op, number)) = OVERFLOWS.iter().find(|(stem, ..)| is(stem)) {
            self.overflow(call, op, number);
        } else if let Some(&(_, number)) = COMPOSITES.iter().find(|(stem, _)| is(stem)) {
            let label = self.composite(call, number);
            self.give(call, label);
        } else if is("fshl") || is("fshr") {
            self.funnel(call, is("fshl"));
        } else {
            self.unknown_intrinsic(call);
        }
    }

    fn unknown_intrinsic(&mut self, call: Value) {
        for index in 0..call.argument_count() {
            let argument = call.operand(index);
            if argument.is_instruction() || argument.is_argument() {
                self.concretize_parts(call, argument, LossReason::Unsupported);
            }
        }
        self.flush(call);
    }

    fn scalar_bits(&self, value: Value) -> Option<u32> {
        if value.ty().kind() == crate::ir::Kind::LLVMVectorTypeKind {
            return None;
        }
        leaves::leaf(self.ir, value.ty()).bits()
    }

    fn simple_binary(&mut self, call: Value, op: Op) {
        let (a, b) = (call.operand(0), call.operand(1));
        let label = self.group.label(
            "__chg_rt_binary",
            vec![
                Argument::Number(meta(op, 64)),
                Argument::Label(self.label(a)),
                Argument::Label(self.label(b)),
                Argument::Word(Word::User(a)),
                Argument::Word(Word::User(b)),
                Argument::Word(Word::User(call)),
            ],
        );
        self.give(call, label);
    }

    fn unary(&mut self, call: Value, op: Op) {
        let a = call.operand(0);
        match self.scalar_bits(a) {
            Some(bits) => {
                let label = self.group.label(
                    "__chg_rt_unary",
                    vec![
                        Argument::Number(meta(op, bits)),
                        Argument::Label(self.label(a)),
                        Argument::Word(Word::User(call)),
                    ],
                );
                self.give(call, label);
            }
            None => self.concretize_parts(call, a, LossReason::Unsupported),
        }
    }

    fn composite(&mut self, call: Value, number: u32) -> Label {
        let a = call.operand(0);
        // The second operand of `abs` is a flag about overflow.
        let unary = number == 4;
        let b = if unary { a } else { call.operand(1) };
        let Some(bits) = self.scalar_bits(a) else {
            self.concretize_parts(call, a, LossReason::Unsupported);
            self.concretize_parts(call, b, LossReason::Unsupported);
            return Label::Zero;
        };
        let result_bits = match leaves::leaf(self.ir, call.ty()) {
            Leaf::Bits(bits) => bits,
            Leaf::Opaque => 1,
        };
        self.group.label(
            "__chg_rt_composite",
            vec![
                Argument::Number(number),
                Argument::Number(bits),
                Argument::Label(self.label(a)),
                Argument::Label(if unary { Label::Zero } else { self.label(b) }),
                Argument::Number(result_bits),
                Argument::Wide(Word::User(a)),
                Argument::Wide(Word::User(b)),
            ],
        )
    }

    fn overflow(&mut self, call: Value, op: Op, number: u32) {
        let (a, b) = (call.operand(0), call.operand(1));
        let bits = self.scalar_bits(a);
        // The double width of a product must be expressible.
        let Some(bits) = bits.filter(|bits| op != Op::Mul || *bits <= 64) else {
            self.concretize_parts(call, a, LossReason::Unsupported);
            self.concretize_parts(call, b, LossReason::Unsupported);
            return;
        };
        let result = if bits > 64 {
            self.wide_binary(call, op, bits, a, b)
        } else {
            self.group.label(
                "__chg_rt_binary",
                vec![
                    Argument::Number(meta(op, bits)),
                    Argument::Label(self.label(a)),
                    Argument::Label(self.label(b)),
                    Argument::Word(Word::User(a)),
                    Argument::Word(Word::User(b)),
                    Argument::Word(Word::Part(call, vec![0])),
                ],
            )
        };
        let overflow = self.composite(call, number);
        self.group
            .assign(&mut self.labels, call, vec![result, overflow]);
    }

    fn funnel(&mut self, call: Value, left: bool) {
        let (high, low, amount) = (call.operand(0), call.operand(1), call.operand(2));
        let Some(bits) = self.scalar_bits(high).filter(|bits| *bits <= 64) else {
            for operand in [high, low, amount] {
                self.concretize_parts(call, operand, LossReason::Unsupported);
            }
            return;
        };
        let label = self.group.label(
            "__chg_rt_funnel",
            vec![
                Argument::Number(bits | (left as u32) << 16),
                Argument::Label(self.label(high)),
                Argument::Label(self.label(low)),
                Argument::Label(self.label(amount)),
                Argument::Word(Word::User(high)),
                Argument::Word(Word::User(low)),
                Argument::Word(Word::User(amount)),
            ],
        );
        self.give(call, label);
    }

    /// Also used for calls of `memcpy` and `memmove` by name.
    pub fn block_copy(&mut self, call: Value) {
        let (to, from, size) = (call.operand(0), call.operand(1), call.operand(2));
        let label = self.label(size);
        self.concretize(call, label, Word::User(size), LossReason::Size);
        let concrete = self.label(to) == Label::Zero && self.label(from) == Label::Zero;
        if let Some(bytes @ 1..=16) = size.constant_value() {
            let (to_word, from_word) = (
                Argument::Word(Word::User(to)),
                Argument::Word(Word::User(from)),
            );
            let length = Argument::Word(Word::Constant(bytes));
            let (function, arguments) = if concrete {
                ("__chg_rt_copy", vec![to_word, from_word, length])
            } else {
                let labels = [to, from].map(|pointer| Argument::Label(self.label(pointer)));
                let [to_label, from_label] = labels;
                let site = Argument::Number(self.site(call));
                (
                    "__chg_rt_copy_at",
                    vec![to_word, to_label, from_word, from_label, length, site],
                )
            };
            // Both sides decide: labels may come, or have to go.
            let cells = vec![(from, bytes), (to, bytes)];
            self.group.changed(function, arguments, cells);
            self.flush(call);
            return;
        }
        self.flush(call);
        self.cursor.before(call);
        let [to_word, from_word, length] =
            [to, from, size].map(|value| self.cursor.as_int(value, 64));
        let (function, arguments) = if concrete {
            ("__chg_rt_copy", vec![to_word, from_word, length])
        } else {
            let [to_label, from_label] =
                [to, from].map(|pointer| self.label_value(self.label(pointer)));
            let site = self.ir.constant(32, self.site(call).into());
            (
                "__chg_rt_copy_at",
                vec![to_word, to_label, from_word, from_label, length, site],
            )
        };
        let copy = self.generator.runtime(function, false, &arguments);
        self.cursor.call(copy, &arguments);
    }

    pub fn copy_now(&mut self, before: Value, to: Value, from: Value, bytes: u64) {
        self.cursor.before(before);
        let arguments = [
            self.cursor.as_int(to, 64),
            self.cursor.as_int(from, 64),
            self.ir.constant(64, bytes),
        ];
        let copy = self.generator.runtime("__chg_rt_copy", false, &arguments);
        self.cursor.call(copy, &arguments);
    }

    pub fn block_fill(&mut self, call: Value) {
        let (to, byte, size) = (call.operand(0), call.operand(1), call.operand(2));
        let label = self.label(to);
        self.concretize(call, label, Word::User(to), LossReason::StoreAddress);
        let label = self.label(size);
        self.concretize(call, label, Word::User(size), LossReason::Size);
        self.flush(call);
        self.cursor.before(call);
        let label = self.label_value(self.label(byte));
        let arguments = [
            self.cursor.as_int(to, 64),
            label,
            self.cursor.as_int(byte, 64),
            self.cursor.as_int(size, 64),
        ];
        let fill = self.generator.runtime("__chg_rt_fill", false, &arguments);
        self.cursor.call(fill, &arguments);
    }

    fn va_start(&mut self, call: Value) {
        self.flush(call);
        let Some(saved) = self.saved_variable_arguments else {
            return;
        };
        let Some(after) = call.next() else {
            return;
        };
        self.cursor.before(after);
        let arguments = [call.operand(0), saved];
        let start = self.generator.runtime("__chg_va_start", false, &arguments);
        self.cursor.call(start, &arguments);
    }
}

/// Operator and width as the runtime unpacks them.
pub fn meta(op: Op, bits: u32) -> u32 {
    op as u32 | bits << 8
}
