//! The reference evaluator: what an expression is worth under an assignment.
//! It computes with [`Value`] only, one operator after the other, and shares no
//! shortcut with the layers whose models it checks.

use crate::arena::{Arena, Expr, TableId};
use crate::assignment::Assignment;
use crate::float;
use crate::value::Value;
use changeling_trace::Op;
use rustc_hash::FxHashMap;

impl Arena {
    pub fn evaluate(&self, e: Expr, assignment: &Assignment) -> Value {
        self.evaluate_all(&[e], assignment)
            .pop()
            .expect("one value per expression")
    }

    /// Like [`Arena::evaluate`], but parts that are shared are computed once.
    pub fn evaluate_all(&self, exprs: &[Expr], assignment: &Assignment) -> Vec<Value> {
        let mut values: FxHashMap<Expr, Value> = FxHashMap::default();
        for e in self.cone(exprs) {
            let value = self.value_of(e, assignment, &|e| values[&e].clone());
            values.insert(e, value);
        }
        exprs.iter().map(|e| values[e].clone()).collect()
    }

    /// Whether a condition holds.
    pub fn holds(&self, e: Expr, assignment: &Assignment) -> bool {
        self.evaluate(e, assignment).is_true()
    }

    /// All expressions that `roots` consist of, operands first.
    pub(crate) fn cone(&self, roots: &[Expr]) -> Vec<Expr> {
        let mut seen: FxHashMap<Expr, ()> = FxHashMap::default();
        let mut todo: Vec<Expr> = roots.to_vec();
        let mut found = Vec::new();
        while let Some(e) = todo.pop() {
            if seen.insert(e, ()).is_some() {
                continue;
            }
            found.push(e);
            todo.extend(self.parts(e));
        }
        found.sort_unstable();
        found
    }

    /// What an expression is made of: operands, and the cells of a table.
    pub(crate) fn parts(&self, e: Expr) -> impl Iterator<Item = Expr> + '_ {
        let term = self.term(e);
        let (operands, count) = term.operands();
        let table = (term.op == Op::Read).then(|| &self.tables[term.b.index()]);
        let cells = table.and_then(|table| table.cells.as_deref());
        let cells = cells.unwrap_or_default().iter().copied();
        operands.into_iter().take(count).chain(cells)
    }

    /// One operator; `get` has the values of the operands.
    pub(crate) fn value_of(
        &self,
        e: Expr,
        assignment: &Assignment,
        get: &dyn Fn(Expr) -> Value,
    ) -> Value {
        let term = self.term(e);
        let width = u32::from(term.width);
        match term.op {
            Op::Const => return self.whole(e),
            Op::Input => {
                return Value::new(8, assignment.byte(term.a.0, term.imm as u32).into());
            }
            Op::Length => return Value::new(64, assignment.length(term.a.0).into()),
            _ => {}
        }
        let a = &get(term.a);
        let second = || get(term.b);
        match term.op {
            Op::Add => a.add(&second()),
            Op::Sub => a.sub(&second()),
            Op::Mul => a.mul(&second()),
            Op::UDiv => a.udiv(&second()),
            Op::SDiv => a.sdiv(&second()),
            Op::URem => a.urem(&second()),
            Op::SRem => a.srem(&second()),
            Op::And => a.and(&second()),
            Op::Or => a.or(&second()),
            Op::Xor => a.xor(&second()),
            Op::Shl => a.shl(&second()),
            Op::LShr => a.lshr(&second()),
            Op::AShr => a.ashr(&second()),
            Op::Eq => Value::bool(*a == second()),
            Op::Ne => Value::bool(*a != second()),
            Op::Ult => Value::bool(a.ult(&second())),
            Op::Ule => Value::bool(!second().ult(a)),
            Op::Slt => Value::bool(a.slt(&second())),
            Op::Sle => Value::bool(!second().slt(a)),
            Op::ZExt => a.zext(width),
            Op::SExt => a.sext(width),
            Op::Extract => a.extract(term.imm as u32, width),
            Op::Concat => a.concat(&second()),
            Op::Ite => get(if a.is_true() { term.b } else { term.c }),
            Op::Read => self.read_value(TableId(term.b.0), a, width, get),
            Op::Popcount => Value::new(width, a.popcount().into()),
            Op::LeadingZeros => Value::new(width, a.leading_zeros().into()),
            Op::TrailingZeros => Value::new(width, a.trailing_zeros().into()),
            Op::ByteSwap => a.byte_swap(),
            Op::BitReverse => a.bit_reverse(),
            _ => {
                let arity = term.op.arity();
                let bits = |e: Expr, used: bool| if used { get(e).low_u64() } else { 0 };
                let args = [
                    a.low_u64(),
                    bits(term.b, arity > 1),
                    bits(term.c, arity > 2),
                ];
                Value::new(width, float::apply(term.op, width, a.width(), args).into())
            }
        }
    }

    fn read_value(
        &self,
        table: TableId,
        index: &Value,
        width: u32,
        get: &dyn Fn(Expr) -> Value,
    ) -> Value {
        let table = self.table(table);
        let size = (width / 8) as usize;
        let at = index.to_u64().and_then(|at| usize::try_from(at).ok());
        let Some(at) = at.filter(|at| at.saturating_add(size) <= table.bytes.len()) else {
            return Value::zero(width);
        };
        let byte = |at: usize| match &table.cells {
            Some(cells) => get(cells[at]),
            None => Value::new(8, table.bytes[at].into()),
        };
        (at..at + size)
            .map(byte)
            .reduce(|low, high| high.concat(&low))
            .expect("at least a byte")
    }
}
