//! Fast evaluation of conditions on the hint and on variations of it.
//!
//! Values on the hint are kept as long as the hint stays; a variation evaluates
//! only what depends on the variables that it changes.

use crate::arena::{Arena, Expr, TableId};
use crate::assignment::Assignment;
use crate::facts::entry;
use crate::machine;
use crate::value::Value;
use crate::variables::{Marks, VarId};
use changeling_trace::Op;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(crate) struct Trial {
    hint: Assignment,
    base: Cache,
    varied: Cache,
    changed: Marks,
    changes: FxHashMap<VarId, u64>,
    todo: Vec<Expr>,
    /// Expressions computed, to bound the work of a search.
    pub work: u64,
}

#[derive(Default)]
struct Cache {
    /// The generation in which a value was computed.
    stamps: Vec<u32>,
    values: Vec<u64>,
    wide: FxHashMap<Expr, Value>,
    now: u32,
}

impl Cache {
    fn restart(&mut self, size: usize) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.stamps.fill(0);
            self.now = 1;
        }
        self.wide.clear();
        self.reserve(size);
    }

    fn reserve(&mut self, size: usize) {
        if self.stamps.len() < size {
            self.stamps.resize(size, 0);
            self.values.resize(size, 0);
        }
    }

    fn has(&self, e: Expr) -> bool {
        self.stamps[e.index()] == self.now
    }

    fn put(&mut self, e: Expr, value: u64) {
        self.stamps[e.index()] = self.now;
        self.values[e.index()] = value;
    }
}

impl Trial {
    pub fn hint(&self) -> &Assignment {
        &self.hint
    }

    /// Forgets everything: another arena.
    pub fn reset(&mut self) {
        *self = Trial::default();
    }

    /// True if the hint is another one than before.
    pub fn set_hint(&mut self, arena: &Arena, hint: &Assignment) -> bool {
        if self.base.now != 0 && self.hint == *hint {
            self.base.reserve(arena.len());
            return false;
        }
        self.hint.clone_from(hint);
        self.base.restart(arena.len());
        true
    }

    /// Begins a variation of the hint.
    pub fn vary(&mut self, arena: &Arena, changes: impl IntoIterator<Item = (VarId, u64)>) {
        self.changed.clear();
        self.changes.clear();
        for (var, value) in changes {
            self.changed.mark(var);
            self.changes.insert(var, value);
        }
        self.base.reserve(arena.len());
        self.varied.restart(arena.len());
    }

    pub fn holds_on_hint(&mut self, arena: &Arena, e: Expr) -> bool {
        self.on_hint(arena, e) != 0
    }

    /// The low 64 bits of the value on the hint.
    pub fn on_hint(&mut self, arena: &Arena, e: Expr) -> u64 {
        self.base.reserve(arena.len());
        self.run(arena, e, false);
        self.base.values[e.index()]
    }

    pub fn holds(&mut self, arena: &Arena, e: Expr) -> bool {
        self.value(arena, e) != 0
    }

    /// The low 64 bits of the value on the variation.
    pub fn value(&mut self, arena: &Arena, e: Expr) -> u64 {
        if !self.affected(arena, e) {
            return self.on_hint(arena, e);
        }
        self.run(arena, e, true);
        self.varied.values[e.index()]
    }

    fn affected(&self, arena: &Arena, e: Expr) -> bool {
        arena.set(e).intersects(&self.changed)
    }

    fn run(&mut self, arena: &Arena, root: Expr, varied: bool) {
        let mut todo = std::mem::take(&mut self.todo);
        todo.push(root);
        while let Some(&e) = todo.last() {
            let use_varied = varied && self.affected(arena, e);
            if self.cache(use_varied).has(e) {
                todo.pop();
                continue;
            }
            let term = arena.term(e);
            let before = todo.len();
            let (operands, count) = term.operands();
            for &operand in &operands[..count] {
                if !self.known(arena, operand, use_varied) {
                    todo.push(operand);
                }
            }
            if term.op == Op::Read {
                for &cell in arena.tables[term.b.index()].cells.iter().flatten() {
                    if !self.known(arena, cell, use_varied) {
                        todo.push(cell);
                    }
                }
            }
            if todo.len() > before {
                continue;
            }
            todo.pop();
            self.work += 1;
            self.compute(arena, e, use_varied);
        }
        self.todo = todo;
    }

    fn known(&self, arena: &Arena, e: Expr, varied: bool) -> bool {
        self.cache(varied && self.affected(arena, e)).has(e)
    }

    fn cache(&self, varied: bool) -> &Cache {
        if varied { &self.varied } else { &self.base }
    }

    fn compute(&mut self, arena: &Arena, e: Expr, varied: bool) {
        let term = arena.term(e);
        let width = u32::from(term.width);
        let (operands, count) = term.operands();
        let narrow = width <= 64 && operands[..count].iter().all(|&o| arena.width(o) <= 64);
        if !narrow {
            let value = self.wide_value(arena, e, varied);
            let low = value.low_u64();
            let cache = if varied {
                &mut self.varied
            } else {
                &mut self.base
            };
            cache.put(e, low);
            if width > 64 {
                cache.wide.insert(e, value);
            }
            return;
        }
        let get = |e: Expr| self.cache(varied && self.affected(arena, e)).values[e.index()];
        let value = match term.op {
            Op::Const => term.imm,
            Op::Input | Op::Length => {
                let var = arena
                    .set(e)
                    .iter()
                    .next()
                    .expect("an input is its own variable");
                match self.changes.get(&var) {
                    Some(&value) if varied => value,
                    _ => self.hint.get(arena.variables.var(var)),
                }
            }
            Op::Read => {
                let table = arena.table(TableId(term.b.0));
                let (at, size) = (get(term.a), (width / 8) as usize);
                match usize::try_from(at) {
                    Ok(at) if at.saturating_add(size) <= table.bytes.len() => match &table.cells {
                        Some(cells) => {
                            let cells = cells[at..at + size].iter().rev();
                            cells.fold(0, |n, &cell| n << 8 | get(cell))
                        }
                        None => entry(&table.bytes, at, size),
                    },
                    _ => 0,
                }
            }
            _ => {
                let mut args = [0; 3];
                for (slot, &operand) in args.iter_mut().zip(&operands[..count]) {
                    *slot = get(operand);
                }
                machine::apply(term.op, width, arena.width(term.a), args, term.imm)
            }
        };
        if varied {
            self.varied.put(e, value);
        } else {
            self.base.put(e, value);
        }
    }

    fn wide_value(&self, arena: &Arena, e: Expr, varied: bool) -> Value {
        let get = |e: Expr| {
            let cache = self.cache(varied && self.affected(arena, e));
            match arena.width(e) {
                width @ 0..=64 => Value::new(width, cache.values[e.index()].into()),
                _ => cache.wide[&e].clone(),
            }
        };
        arena.value_of(e, &self.hint, &get)
    }
}
