//! Expressions and queries to text.

use crate::arena::{Arena, Expr, TableId, Term};
use crate::assignment::{Assignment, Bounds};
use crate::facts::trailing;
use crate::float;
use crate::query::Query;
use crate::smtlib::FORMAT;
use crate::value::Value;
use crate::variables::Var;
use changeling_trace::Op;
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// An operator that SMT-LIB cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexpressible(pub Op);

impl Arena {
    /// The query as a self-contained SMT-LIB 2 script that ends in `check-sat`.
    /// C's remainder of floating-point numbers cannot be expressed.
    pub fn smt2(&self, query: &Query) -> Result<String, Inexpressible> {
        let mut script = Script::new(self);
        script.attributes(query.hint, query.bounds);
        let all: Vec<Expr> = query.prefix.iter().chain([&query.goal]).copied().collect();
        script.define(&all)?;
        script.define(query.soft)?;
        script.bounds(query.bounds);
        for (position, &condition) in query.prefix.iter().enumerate() {
            script.assert(condition, &format!("p{position}"));
        }
        script.assert(query.goal, "goal");
        if !query.soft.is_empty() {
            let names: Vec<String> = query.soft.iter().map(|&e| script.boolean(e)).collect();
            let _ = writeln!(script.text, "(set-info :soft \"{}\")", names.join(" "));
        }
        script.text.push_str("(check-sat)\n");
        Ok(script.finish())
    }
}

/// A script in the making.
pub(crate) struct Script<'a> {
    arena: &'a Arena,
    pub text: String,
    done: FxHashSet<Expr>,
    functions: FxHashSet<String>,
    lengths: Vec<u32>,
    float: bool,
}

impl<'a> Script<'a> {
    pub fn new(arena: &'a Arena) -> Script<'a> {
        Script {
            arena,
            text: String::new(),
            done: FxHashSet::default(),
            functions: FxHashSet::default(),
            lengths: Vec::new(),
            float: false,
        }
    }

    /// The logic is known only once everything has been written.
    pub fn finish(self) -> String {
        let logic = if self.float { "QF_BVFP" } else { "QF_BV" };
        format!(
            "; changeling query\n(set-info :changeling {FORMAT})\n\
             (set-option :produce-models true)\n(set-logic {logic})\n{}",
            self.text
        )
    }

    fn attributes(&mut self, hint: &Assignment, bounds: &Bounds) {
        let capacities: Vec<String> = bounds
            .capacities()
            .iter()
            .map(|capacity| capacity.to_string())
            .collect();
        let _ = writeln!(
            self.text,
            "(set-info :capacities \"{}\")",
            capacities.join(" ")
        );
        let mut streams = Vec::new();
        for (bytes, length) in hint.contents() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            streams.push(format!("{length}:{hex}"));
        }
        let _ = writeln!(self.text, "(set-info :hint \"{}\")", streams.join(" "));
    }

    /// Writes definitions of all that is not defined yet.
    pub fn define(&mut self, roots: &[Expr]) -> Result<(), Inexpressible> {
        for e in self.arena.cone(roots) {
            if self.done.insert(e) {
                self.definition(e)?;
            }
        }
        Ok(())
    }

    /// Lengths are at most their capacities.
    pub fn bounds(&mut self, bounds: &Bounds) {
        for stream in std::mem::take(&mut self.lengths) {
            let capacity = hex(&Value::new(64, bounds.capacity(stream).into()));
            let _ = writeln!(self.text, "(assert (bvule n{stream} {capacity}))");
        }
    }

    pub fn assert(&mut self, condition: Expr, name: &str) {
        let term = self.boolean(condition);
        let _ = writeln!(self.text, "(assert (! {term} :named {name}))");
    }

    fn definition(&mut self, e: Expr) -> Result<(), Inexpressible> {
        let arena = self.arena;
        let term = arena.term(e);
        let width = u32::from(term.width);
        let line = match term.op {
            Op::Const => return Ok(()),
            Op::Input => {
                let var = Var::Byte {
                    stream: term.a.0,
                    offset: term.imm as u32,
                };
                format!("(declare-const {} (_ BitVec 8))", variable_name(var))
            }
            Op::Length => {
                self.lengths.push(term.a.0);
                let var = Var::Length { stream: term.a.0 };
                format!("(declare-const {} (_ BitVec 64))", variable_name(var))
            }
            op if float::is_float(op) => self.float_definition(e, term)?,
            _ if width == 1 => {
                format!("(define-fun {} () Bool {})", name(e), self.condition(term))
            }
            _ => {
                let body = self.bits(term);
                format!("(define-fun {} () (_ BitVec {width}) {body})", name(e))
            }
        };
        self.text.push_str(&line);
        self.text.push('\n');
        Ok(())
    }

    /// The text of an operator that gives a `Bool`.
    fn condition(&mut self, term: &Term) -> String {
        let arena = self.arena;
        let word = match term.op {
            Op::Eq => "=",
            Op::Ult => "bvult",
            Op::Ule => "bvule",
            Op::Slt => "bvslt",
            Op::Sle => "bvsle",
            Op::Ne => "distinct",
            Op::And => return format!("(and {} {})", self.boolean(term.a), self.boolean(term.b)),
            Op::Or => return format!("(or {} {})", self.boolean(term.a), self.boolean(term.b)),
            Op::Xor if arena.truth(term.b) == Some(true) => {
                return format!("(not {})", self.boolean(term.a));
            }
            Op::Xor => return format!("(xor {} {})", self.boolean(term.a), self.boolean(term.b)),
            Op::Ite => {
                let [a, b, c] = [term.a, term.b, term.c].map(|e| self.boolean(e));
                return format!("(ite {a} {b} {c})");
            }
            _ => return format!("(= {} #b1)", self.bits(term)),
        };
        format!("({word} {} {})", self.vector(term.a), self.vector(term.b))
    }

    /// The text of an operator that gives a bit-vector.
    fn bits(&mut self, term: &Term) -> String {
        let arena = self.arena;
        let width = u32::from(term.width);
        let word = match term.op {
            Op::Add => "bvadd",
            Op::Sub => "bvsub",
            Op::Mul => "bvmul",
            Op::UDiv => "bvudiv",
            Op::SDiv => "bvsdiv",
            Op::URem => "bvurem",
            Op::SRem => "bvsrem",
            Op::And => "bvand",
            Op::Or => "bvor",
            Op::Xor => "bvxor",
            Op::Shl => "bvshl",
            Op::LShr => "bvlshr",
            Op::AShr => "bvashr",
            Op::Concat => "concat",
            _ => "",
        };
        if !word.is_empty() {
            return format!("({word} {} {})", self.vector(term.a), self.vector(term.b));
        }
        let a = self.vector(term.a);
        let inner = arena.width(term.a);
        let bit = |i: u32| format!("((_ extract {i} {i}) {a})");
        let number = |n: u32| hex(&Value::new(width, n.into()));
        match term.op {
            Op::ZExt => format!("((_ zero_extend {}) {a})", width - inner),
            Op::SExt => format!("((_ sign_extend {}) {a})", width - inner),
            Op::Extract => {
                format!(
                    "((_ extract {} {}) {a})",
                    term.imm + u64::from(width) - 1,
                    term.imm
                )
            }
            Op::Ite => {
                let condition = self.boolean(term.a);
                format!(
                    "(ite {condition} {} {})",
                    self.vector(term.b),
                    self.vector(term.c)
                )
            }
            Op::Read => format!("({} {a})", self.function(term)),
            Op::Popcount => (0..inner)
                .map(|i| match width {
                    1 => bit(i),
                    _ => format!("((_ zero_extend {}) {})", width - 1, bit(i)),
                })
                .reduce(|sum, bit| format!("(bvadd {sum} {bit})"))
                .expect("at least one bit"),
            Op::LeadingZeros => (0..inner).fold(number(inner), |rest, i| {
                format!("(ite (= {} #b1) {} {rest})", bit(i), number(inner - 1 - i))
            }),
            Op::TrailingZeros => (0..inner).rev().fold(number(inner), |rest, i| {
                format!("(ite (= {} #b1) {} {rest})", bit(i), number(i))
            }),
            // The lowest bit comes out on top, so it is first.
            Op::BitReverse if inner == 1 => a,
            Op::BitReverse => format!(
                "(concat {})",
                (0..inner).map(bit).collect::<Vec<_>>().join(" ")
            ),
            op => unreachable!("{op:?} is rewritten when it is built"),
        }
    }

    /// A table read as a function of the index; the table's contents are its body.
    fn function(&mut self, term: &Term) -> String {
        let arena = self.arena;
        let (width, size) = (u32::from(term.width), usize::from(term.width) / 8);
        let table = arena.table(TableId(term.b.0));
        let stride = 1usize << trailing(*arena.facts(term.a)).min(16);
        let name = format!("t{}_{width}_{stride}", term.b.0);
        if !self.functions.insert(name.clone()) {
            return name;
        }
        let mut body = String::new();
        let mut places = 0;
        if let Some(last) = table.bytes.len().checked_sub(size) {
            for at in (0..=last).step_by(stride) {
                let index = hex(&Value::new(64, at as u128));
                let _ = write!(body, "(ite (= i {index}) {} ", self.entry(term.b, at, size));
                places += 1;
            }
        }
        body.push_str(&hex(&Value::zero(width)));
        body.push_str(&")".repeat(places));
        let _ = writeln!(
            self.text,
            "(define-fun {name} ((i (_ BitVec 64))) (_ BitVec {width}) {body})"
        );
        name
    }

    fn entry(&self, table: Expr, at: usize, size: usize) -> String {
        let table = self.arena.table(TableId(table.0));
        let byte = |at: usize| match &table.cells {
            Some(cells) => self.vector(cells[at]),
            None => hex(&Value::new(8, table.bytes[at].into())),
        };
        if table.cells.is_none() {
            let digits: String = table.bytes[at..at + size]
                .iter()
                .rev()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            return format!("#x{digits}");
        }
        match size {
            1 => byte(at),
            _ => {
                let bytes: Vec<String> = (at..at + size).rev().map(byte).collect();
                format!("(concat {})", bytes.join(" "))
            }
        }
    }

    fn float_definition(&mut self, e: Expr, term: &Term) -> Result<String, Inexpressible> {
        self.float = true;
        let width = u32::from(term.width);
        let from = self.arena.width(term.a);
        let [a, b, c] = {
            let arity = term.op.arity();
            let part = |e: Expr, used: bool| match used {
                true => format!("({} {})", to_fp(self.arena.width(e)), self.vector(e)),
                false => String::new(),
            };
            match term.op {
                Op::UToF | Op::SToF => [self.vector(term.a), String::new(), String::new()],
                _ => [
                    part(term.a, true),
                    part(term.b, arity > 1),
                    part(term.c, arity > 2),
                ],
            }
        };
        let condition = match term.op {
            Op::FEq => Some(format!("(fp.eq {a} {b})")),
            Op::FLt => Some(format!("(fp.lt {a} {b})")),
            Op::FLe => Some(format!("(fp.leq {a} {b})")),
            Op::FUnordered => Some(format!("(or (fp.isNaN {a}) (fp.isNaN {b}))")),
            _ => None,
        };
        let name = name(e);
        if let Some(condition) = condition {
            return Ok(format!("(define-fun {name} () Bool {condition})"));
        }
        let integer = match term.op {
            Op::FToU => Some("fp.to_ubv"),
            Op::FToS => Some("fp.to_sbv"),
            _ => None,
        };
        if let Some(word) = integer {
            let body = format!("((_ {word} {width}) RTZ {a})");
            return Ok(match width {
                1 => format!("(define-fun {name} () Bool (= {body} #b1))"),
                _ => format!("(define-fun {name} () (_ BitVec {width}) {body})"),
            });
        }
        let result = match term.op {
            Op::FAdd => format!("(fp.add RNE {a} {b})"),
            Op::FSub => format!("(fp.sub RNE {a} {b})"),
            Op::FMul => format!("(fp.mul RNE {a} {b})"),
            Op::FDiv => format!("(fp.div RNE {a} {b})"),
            Op::FSqrt => format!("(fp.sqrt RNE {a})"),
            Op::FFma => format!("(fp.fma RNE {a} {b} {c})"),
            Op::UToF => {
                let (exponent, fraction) = format_of(width);
                format!("((_ to_fp_unsigned {exponent} {fraction}) RNE {a})")
            }
            Op::SToF => format!("({} RNE {a})", to_fp(width)),
            Op::FToF => {
                debug_assert_ne!(from, width);
                format!("({} RNE {a})", to_fp(width))
            }
            op => return Err(Inexpressible(op)),
        };
        // There is no standard way from a number to its bits; a constant with
        // those bits is the number's pattern. (A NaN has many.)
        Ok(format!(
            "(declare-const {name} (_ BitVec {width}))\n(assert (= ({} {name}) {result}))",
            to_fp(width)
        ))
    }

    /// An operand as `Bool`.
    fn boolean(&self, e: Expr) -> String {
        match self.arena.truth(e) {
            Some(truth) => truth.to_string(),
            None => name(e),
        }
    }

    /// An operand as bit-vector.
    fn vector(&self, e: Expr) -> String {
        let term = self.arena.term(e);
        match term.op {
            Op::Const => hex(&self.arena.whole(e)),
            Op::Input => variable_name(Var::Byte {
                stream: term.a.0,
                offset: term.imm as u32,
            }),
            Op::Length => variable_name(Var::Length { stream: term.a.0 }),
            _ if term.width == 1 => format!("(ite {} #b1 #b0)", name(e)),
            _ => name(e),
        }
    }
}

fn name(e: Expr) -> String {
    format!("e{}", e.0)
}

pub(crate) fn variable_name(var: Var) -> String {
    match var {
        Var::Byte { stream, offset } => format!("b{stream}_{offset}"),
        Var::Length { stream } => format!("n{stream}"),
    }
}

fn hex(value: &Value) -> String {
    let width = value.width();
    if !width.is_multiple_of(4) {
        let bits = (0..width)
            .rev()
            .map(|i| if value.bit(i) { '1' } else { '0' });
        return format!("#b{}", bits.collect::<String>());
    }
    let digit = |i: u32| value.extract(i * 4, 4).low_u64();
    let digits = (0..width / 4).rev().map(|i| format!("{:x}", digit(i)));
    format!("#x{}", digits.collect::<String>())
}

fn format_of(width: u32) -> (u32, u32) {
    if width == 32 { (8, 24) } else { (11, 53) }
}

fn to_fp(width: u32) -> String {
    let (exponent, fraction) = format_of(width);
    format!("(_ to_fp {exponent} {fraction})")
}
