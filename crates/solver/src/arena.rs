//! The store of expressions. Equal expressions are one expression, whichever
//! run or version they come from.

use crate::facts::Facts;
use crate::machine;
use crate::value::Value;
use crate::variables::{EMPTY, SetId, Var, VarSet, Variables};
use changeling_trace::Op;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// An expression of one [`Arena`]. Operands have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(pub(crate) u32);

impl Expr {
    /// Dense number, usable as an index for side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Contents of an object that is read by symbolic index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub(crate) u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The constant bytes; 0 where there is an expression.
    pub bytes: Box<[u8]>,
    /// For objects with symbolic contents: one per byte, width 8.
    pub cells: Option<Box<[Expr]>>,
}

/// One interned expression. Unused operands are 0.
///
/// Only canonical operators appear: `Ne`, `Ule` and `Sle` are written with
/// `Eq`, `Ult`, `Slt` and a complement, which is `Xor` with all ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub op: Op,
    pub width: u16,
    pub a: Expr,
    /// Also the table of a `Read`.
    pub b: Expr,
    pub c: Expr,
    /// `Const`: the value, or the index of a wide one. `Input`: offset.
    /// `Extract`: lowest bit.
    pub imm: u64,
}

impl Term {
    pub fn operands(&self) -> ([Expr; 3], usize) {
        ([self.a, self.b, self.c], self.op.arity())
    }
}

/// Widest expression.
pub const MAX_WIDTH: u32 = u16::MAX as u32;

pub struct Arena {
    pub(crate) terms: Vec<Term>,
    interned: FxHashMap<Term, Expr>,
    facts: Vec<Facts>,
    sets: Vec<SetId>,
    /// Which expressions have a read of a table in them.
    reads: Vec<bool>,
    wide: Vec<Value>,
    wide_index: FxHashMap<Value, u64>,
    pub(crate) tables: Vec<Table>,
    table_index: FxHashMap<Table, TableId>,
    table_sets: Vec<SetId>,
    pub(crate) variables: Variables,
    /// How deep the simplifier is inside itself; see `simplify`.
    pub(crate) depth: u32,
    identity: u64,
}

impl Default for Arena {
    fn default() -> Self {
        Arena::new()
    }
}

impl Arena {
    pub fn new() -> Arena {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arena {
            terms: Vec::new(),
            interned: FxHashMap::default(),
            facts: Vec::new(),
            sets: Vec::new(),
            reads: Vec::new(),
            wide: Vec::new(),
            wide_index: FxHashMap::default(),
            tables: Vec::new(),
            table_index: FxHashMap::default(),
            table_sets: Vec::new(),
            variables: Variables::new(),
            depth: 0,
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Distinguishes arenas, so that caches keyed by expression are never used
    /// with another one.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn width(&self, e: Expr) -> u32 {
        u32::from(self.terms[e.index()].width)
    }

    /// The variables that an expression depends on, in order of appearance in
    /// this arena.
    pub fn variables(&self, e: Expr) -> Vec<Var> {
        self.set(e)
            .iter()
            .map(|id| self.variables.var(id))
            .collect()
    }

    /// How many variables an expression depends on.
    pub fn variable_count(&self, e: Expr) -> usize {
        self.set(e).len()
    }

    /// The value of a constant.
    pub fn constant_value(&self, e: Expr) -> Option<Value> {
        let term = self.term(e);
        if term.op != Op::Const {
            return None;
        }
        Some(match term.width {
            0..=64 => Value::new(term.width.into(), term.imm.into()),
            _ => self.wide[term.imm as usize].clone(),
        })
    }

    /// `Some` for a constant of width 1.
    pub fn truth(&self, e: Expr) -> Option<bool> {
        let term = self.term(e);
        (term.op == Op::Const && term.width == 1).then_some(term.imm == 1)
    }

    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0 as usize]
    }

    pub(crate) fn term(&self, e: Expr) -> &Term {
        &self.terms[e.index()]
    }

    pub(crate) fn facts(&self, e: Expr) -> &Facts {
        &self.facts[e.index()]
    }

    pub(crate) fn set(&self, e: Expr) -> &VarSet {
        self.variables.set(self.sets[e.index()])
    }

    /// Whether what stands in a table at an unknown place is a part of an expression.
    pub(crate) fn reads(&self, e: Expr) -> bool {
        self.reads[e.index()]
    }

    /// A constant of at most 64 bits.
    pub(crate) fn small(&self, e: Expr) -> Option<u64> {
        let term = self.term(e);
        (term.op == Op::Const && term.width <= 64).then_some(term.imm)
    }

    pub(crate) fn constant_u64(&mut self, width: u32, value: u64) -> Expr {
        if width > 64 {
            return self.constant_of(&Value::new(width, value.into()));
        }
        let imm = value & machine::mask(width);
        self.intern(Term {
            imm,
            ..leaf(Op::Const, width)
        })
    }

    pub(crate) fn constant_of(&mut self, value: &Value) -> Expr {
        if value.width() <= 64 {
            return self.constant_u64(value.width(), value.low_u64());
        }
        let imm = match self.wide_index.get(value) {
            Some(&index) => index,
            None => {
                self.wide.push(value.clone());
                let index = self.wide.len() as u64 - 1;
                self.wide_index.insert(value.clone(), index);
                index
            }
        };
        self.intern(Term {
            imm,
            ..leaf(Op::Const, value.width())
        })
    }

    pub(crate) fn bool_constant(&mut self, truth: bool) -> Expr {
        self.constant_u64(1, truth.into())
    }

    pub(crate) fn intern_table(&mut self, table: Table) -> TableId {
        if let Some(&id) = self.table_index.get(&table) {
            return id;
        }
        let mut set = EMPTY;
        for &cell in table.cells.iter().flatten() {
            set = self.variables.union(set, self.sets[cell.index()]);
        }
        let id = TableId(self.tables.len() as u32);
        self.tables.push(table.clone());
        self.table_sets.push(set);
        self.table_index.insert(table, id);
        id
    }

    pub(crate) fn intern(&mut self, term: Term) -> Expr {
        if let Some(&known) = self.interned.get(&term) {
            return known;
        }
        let facts = Facts::of(self, &term);
        let set = self.set_of(&term);
        let (operands, count) = term.operands();
        let parts = &operands[..count];
        let reads = term.op == Op::Read || parts.iter().any(|&part| self.reads(part));
        let e = Expr(u32::try_from(self.terms.len()).expect("fewer than 2^32 expressions"));
        self.terms.push(term);
        self.facts.push(facts);
        self.sets.push(set);
        self.reads.push(reads);
        self.interned.insert(term, e);
        e
    }

    fn set_of(&mut self, term: &Term) -> SetId {
        match term.op {
            Op::Const => EMPTY,
            Op::Input => {
                let var = Var::Byte {
                    stream: term.a.0,
                    offset: term.imm as u32,
                };
                let id = self.variables.id(var);
                self.variables.single(id)
            }
            Op::Length => {
                let id = self.variables.id(Var::Length { stream: term.a.0 });
                self.variables.single(id)
            }
            Op::Read => {
                let (index, table) = (self.sets[term.a.index()], self.table_sets[term.b.index()]);
                self.variables.union(index, table)
            }
            _ => {
                let (operands, count) = term.operands();
                let mut set = EMPTY;
                for operand in &operands[..count] {
                    set = self.variables.union(set, self.sets[operand.index()]);
                }
                set
            }
        }
    }
}

pub(crate) const NONE: Expr = Expr(0);

pub(crate) fn leaf(op: Op, width: u32) -> Term {
    Term {
        op,
        width: width as u16,
        a: NONE,
        b: NONE,
        c: NONE,
        imm: 0,
    }
}
