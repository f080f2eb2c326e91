//! Expressions to gates.

use crate::arena::{Arena, Expr, Table, Term};
use crate::float;
use crate::gates::{Bit, FALSE, Gates, TRUE};
use changeling_trace::Op;
use rustc_hash::FxHashMap;
use std::time::Instant;

/// Why an expression has no gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoGates {
    Float,
    TooLarge,
    Time,
}

/// Circuits beyond this are left to other means.
const MAX_GATES: usize = 40_000_000;
/// Tables with more places than this are not turned into gates.
const MAX_PLACES: u64 = 1 << 16;

pub(crate) struct Blaster {
    pub gates: Gates,
    /// Where an expression's bits are in `bits`; bits are lowest first.
    spans: FxHashMap<Expr, u32>,
    bits: Vec<Bit>,
    divisions: FxHashMap<(Expr, Expr), (Vec<Bit>, Vec<Bit>)>,
}

impl Blaster {
    pub fn new() -> Blaster {
        Blaster {
            gates: Gates::new(),
            spans: FxHashMap::default(),
            bits: Vec::new(),
            divisions: FxHashMap::default(),
        }
    }

    /// The bit of a condition.
    pub fn condition(&mut self, arena: &Arena, e: Expr, deadline: Instant) -> Result<Bit, NoGates> {
        self.blast(arena, e, deadline)?;
        Ok(self.of(arena, e)[0])
    }

    fn of(&self, arena: &Arena, e: Expr) -> &[Bit] {
        let start = self.spans[&e] as usize;
        &self.bits[start..start + arena.width(e) as usize]
    }

    fn vec(&self, arena: &Arena, e: Expr) -> Vec<Bit> {
        self.of(arena, e).to_vec()
    }

    fn blast(&mut self, arena: &Arena, root: Expr, deadline: Instant) -> Result<(), NoGates> {
        if self.spans.contains_key(&root) {
            return Ok(());
        }
        let mut todo = vec![root];
        while let Some(&e) = todo.last() {
            if self.spans.contains_key(&e) {
                todo.pop();
                continue;
            }
            let term = arena.term(e);
            if float::is_float(term.op) {
                return Err(NoGates::Float);
            }
            let before = todo.len();
            let (operands, count) = term.operands();
            let cells = (term.op == Op::Read).then(|| &arena.tables[term.b.index()].cells);
            let cells = cells.into_iter().flatten().flatten();
            let waits = operands[..count].iter().chain(cells);
            todo.extend(waits.filter(|operand| !self.spans.contains_key(operand)));
            if todo.len() > before {
                continue;
            }
            todo.pop();
            let mut bits = self.term(arena, e, term)?;
            settle(&mut bits, arena, e);
            debug_assert_eq!(bits.len(), arena.width(e) as usize);
            self.spans.insert(e, self.bits.len() as u32);
            self.bits.extend_from_slice(&bits);
            if self.gates.len() > MAX_GATES {
                return Err(NoGates::TooLarge);
            }
            if Instant::now() > deadline {
                return Err(NoGates::Time);
            }
        }
        Ok(())
    }

    fn term(&mut self, arena: &Arena, e: Expr, term: &Term) -> Result<Vec<Bit>, NoGates> {
        let width = u32::from(term.width);
        match term.op {
            Op::Const => {
                let value = arena.whole(e);
                return Ok((0..width).map(|i| Bit::constant(value.bit(i))).collect());
            }
            Op::Input | Op::Length => {
                let var = arena
                    .set(e)
                    .iter()
                    .next()
                    .expect("an input is its own variable");
                return Ok((0..width).map(|bit| self.gates.input(var, bit)).collect());
            }
            Op::UDiv => return Ok(self.division(arena, term.a, term.b).0),
            Op::URem => return Ok(self.division(arena, term.a, term.b).1),
            Op::Read => return self.read(arena, term),
            _ => {}
        }
        let a = self.vec(arena, term.a);
        let b = || self.vec(arena, term.b);
        let bits = match term.op {
            Op::Add => {
                let b = b();
                self.add(&a, &b, FALSE).0
            }
            Op::Sub => {
                let b = b();
                self.subtract(&a, &b)
            }
            Op::Mul => {
                let b = b();
                self.multiply(&a, &b)
            }
            Op::SDiv | Op::SRem => {
                let b = b();
                self.signed_division(term.op, &a, &b)
            }
            Op::And => {
                let b = b();
                self.zip(&a, &b, Gates::and)
            }
            Op::Or => {
                let b = b();
                self.zip(&a, &b, Gates::or)
            }
            Op::Xor => {
                let b = b();
                self.zip(&a, &b, Gates::xor)
            }
            Op::Shl | Op::LShr | Op::AShr => {
                let b = b();
                self.shift(term.op, &a, &b)
            }
            Op::Eq => {
                let b = b();
                vec![self.equal(&a, &b)]
            }
            Op::Ne => {
                let b = b();
                vec![!self.equal(&a, &b)]
            }
            Op::Ult => {
                let b = b();
                vec![self.less(&a, &b)]
            }
            Op::Ule => {
                let b = b();
                vec![!self.less(&b, &a)]
            }
            Op::Slt => {
                let b = b();
                vec![self.signed_less(&a, &b)]
            }
            Op::Sle => {
                let b = b();
                vec![!self.signed_less(&b, &a)]
            }
            Op::ZExt => resized(a, width, FALSE),
            Op::SExt => {
                let sign = a[a.len() - 1];
                resized(a, width, sign)
            }
            Op::Extract => a[term.imm as usize..][..width as usize].to_vec(),
            Op::Concat => [b(), a].concat(),
            Op::Ite => {
                let (yes, no) = (b(), self.vec(arena, term.c));
                self.choose(a[0], &yes, &no)
            }
            Op::Popcount => self.popcount(&a),
            Op::LeadingZeros => self.zeros_before(a.iter().rev().copied().collect()),
            Op::TrailingZeros => self.zeros_before(a),
            Op::BitReverse => a.into_iter().rev().collect(),
            Op::ByteSwap => a.chunks(8).rev().flatten().copied().collect(),
            _ => return Err(NoGates::Float),
        };
        Ok(bits)
    }

    fn zip(&mut self, a: &[Bit], b: &[Bit], f: fn(&mut Gates, Bit, Bit) -> Bit) -> Vec<Bit> {
        a.iter()
            .zip(b)
            .map(|(&x, &y)| f(&mut self.gates, x, y))
            .collect()
    }

    fn choose(&mut self, condition: Bit, yes: &[Bit], no: &[Bit]) -> Vec<Bit> {
        yes.iter()
            .zip(no)
            .map(|(&x, &y)| self.gates.mux(condition, x, y))
            .collect()
    }

    /// Sum and carry out.
    fn add(&mut self, a: &[Bit], b: &[Bit], mut carry: Bit) -> (Vec<Bit>, Bit) {
        let mut sum = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let half = self.gates.xor(x, y);
            sum.push(self.gates.xor(half, carry));
            carry = self.gates.majority(x, y, carry);
        }
        (sum, carry)
    }

    fn subtract(&mut self, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        self.add(a, &complement(b), TRUE).0
    }

    fn negate_if(&mut self, condition: Bit, a: &[Bit]) -> Vec<Bit> {
        let flipped: Vec<Bit> = a.iter().map(|&x| self.gates.xor(x, condition)).collect();
        let zeros = vec![FALSE; a.len()];
        self.add(&flipped, &zeros, condition).0
    }

    fn multiply(&mut self, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        // The operand with more constant bits selects the rows.
        let constants = |bits: &[Bit]| bits.iter().filter(|bit| bit.is_constant()).count();
        let (a, b) = if constants(a) > constants(b) {
            (b, a)
        } else {
            (a, b)
        };
        let width = a.len();
        let mut sum = vec![FALSE; width];
        for (shift, &select) in b.iter().enumerate() {
            if select == FALSE {
                continue;
            }
            let row: Vec<Bit> = a[..width - shift]
                .iter()
                .map(|&x| self.gates.and(x, select))
                .collect();
            let high = self.add(&sum[shift..], &row, FALSE).0;
            sum.splice(shift.., high);
        }
        sum
    }

    /// Quotient and remainder, shared by the two operators.
    fn division(&mut self, arena: &Arena, a: Expr, b: Expr) -> (Vec<Bit>, Vec<Bit>) {
        if let Some(known) = self.divisions.get(&(a, b)) {
            return known.clone();
        }
        let (x, y) = (self.vec(arena, a), self.vec(arena, b));
        let result = self.divide(&x, &y);
        self.divisions.insert((a, b), result.clone());
        result
    }

    /// Bit by bit, as by hand. The running rest is smaller than the divisor, so no
    /// more bits of it are looked at than either of them can have: a division
    /// by a small constant has small steps.
    fn divide(&mut self, a: &[Bit], b: &[Bit]) -> (Vec<Bit>, Vec<Bit>) {
        let width = a.len();
        let size = b
            .iter()
            .rposition(|&bit| bit != FALSE)
            .map_or(0, |top| top + 1);
        // Whether any bit of the divisor from this one on is set.
        let mut above = vec![FALSE; width + 1];
        for index in (0..size).rev() {
            above[index] = self.gates.or(b[index], above[index + 1]);
        }
        let mut rest: Vec<Bit> = Vec::with_capacity(size + 1);
        let mut quotient = vec![FALSE; width];
        for index in (0..width).rev() {
            rest.insert(0, a[index]);
            let low = b[..rest.len().min(width)].to_vec();
            let divisor = complement(&resized(low, rest.len() as u32, FALSE));
            let (difference, enough) = self.add(&rest, &divisor, TRUE);
            let fits = self.gates.and(enough, !above[rest.len().min(width)]);
            quotient[index] = fits;
            rest = self.choose(fits, &difference, &rest);
            rest.truncate(size);
        }
        // Only a divisor of zero leaves a rest of more bits than it has.
        let rest = resized(rest, width as u32, FALSE);
        (quotient, self.choose(above[0], &rest, a))
    }

    fn signed_division(&mut self, op: Op, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        let (sign_a, sign_b) = (a[a.len() - 1], b[b.len() - 1]);
        let (x, y) = (self.negate_if(sign_a, a), self.negate_if(sign_b, b));
        let (quotient, rest) = self.divide(&x, &y);
        if op == Op::SRem {
            return self.negate_if(sign_a, &rest);
        }
        let sign = self.gates.xor(sign_a, sign_b);
        self.negate_if(sign, &quotient)
    }

    fn shift(&mut self, op: Op, a: &[Bit], amount: &[Bit]) -> Vec<Bit> {
        let width = a.len();
        let fill = if op == Op::AShr { a[width - 1] } else { FALSE };
        let mut bits = a.to_vec();
        let mut beyond = FALSE;
        for (stage, &select) in amount.iter().enumerate() {
            if stage >= 32 || 1usize << stage >= width {
                beyond = self.gates.or(beyond, select);
                continue;
            }
            let by = 1usize << stage;
            let moved: Vec<Bit> = (0..width)
                .map(|i| match op {
                    Op::Shl if i < by => FALSE,
                    Op::Shl => bits[i - by],
                    _ => bits.get(i + by).copied().unwrap_or(fill),
                })
                .collect();
            bits = self.choose(select, &moved, &bits);
        }
        self.choose(beyond, &vec![fill; width], &bits)
    }

    fn equal(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let mut all = TRUE;
        for (&x, &y) in a.iter().zip(b) {
            let differ = self.gates.xor(x, y);
            all = self.gates.and(all, !differ);
        }
        all
    }

    fn less(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let mut less = FALSE;
        for (&x, &y) in a.iter().zip(b) {
            less = self.gates.majority(!x, y, less);
        }
        less
    }

    fn signed_less(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let flip = |bits: &[Bit]| {
            let mut bits = bits.to_vec();
            let top = bits.len() - 1;
            bits[top] = !bits[top];
            bits
        };
        self.less(&flip(a), &flip(b))
    }

    fn popcount(&mut self, a: &[Bit]) -> Vec<Bit> {
        let width = a.len() as u32;
        let mut numbers: Vec<Vec<Bit>> = a.iter().map(|&bit| vec![bit]).collect();
        while numbers.len() > 1 {
            let mut sums = Vec::with_capacity(numbers.len().div_ceil(2));
            for pair in numbers.chunks(2) {
                let [x, y] = pair else {
                    sums.push(pair[0].clone());
                    continue;
                };
                let size = x.len().max(y.len()) as u32 + 1;
                let (x, y) = (
                    resized(x.clone(), size, FALSE),
                    resized(y.clone(), size, FALSE),
                );
                sums.push(self.add(&x, &y, FALSE).0);
            }
            numbers = sums;
        }
        resized(numbers.swap_remove(0), width, FALSE)
    }

    /// How many zeros come before the first one; the width if there is none.
    fn zeros_before(&mut self, bits: Vec<Bit>) -> Vec<Bit> {
        let number = |n: usize| -> Vec<Bit> {
            (0..bits.len())
                .map(|i| Bit::constant(i < 64 && n >> i & 1 == 1))
                .collect()
        };
        let mut count = number(bits.len());
        for (index, &bit) in bits.iter().enumerate().rev() {
            count = self.choose(bit, &number(index), &count);
        }
        count
    }

    /// A tree of multiplexers over the index bits. Low index bits that are known
    /// to be zero (elements wider than a byte) do not make it deeper.
    fn read(&mut self, arena: &Arena, term: &Term) -> Result<Vec<Bit>, NoGates> {
        let width = usize::from(term.width);
        let table = &arena.tables[term.b.index()];
        let index = self.vec(arena, term.a);
        let skip = index
            .iter()
            .take_while(|&&bit| bit == FALSE)
            .count()
            .min(16);
        let Some(last) = table.bytes.len().checked_sub(width / 8) else {
            return Ok(vec![FALSE; width]);
        };
        let places = (last >> skip) as u64 + 1;
        if places > MAX_PLACES {
            return Err(NoGates::TooLarge);
        }
        let mut level: Vec<Vec<Bit>> = (0..places as usize)
            .map(|place| self.entry(arena, table, place << skip, width / 8))
            .collect();
        let mut bits = index[skip..].iter();
        while level.len() > 1 {
            let select = *bits.next().expect("an index of 64 bits");
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [low, high] => self.choose(select, high, low),
                    _ => {
                        let outside = vec![FALSE; width];
                        self.choose(select, &outside, &pair[0])
                    }
                })
                .collect();
        }
        let mut outside = FALSE;
        for &bit in bits {
            outside = self.gates.or(outside, bit);
        }
        let whole = level.swap_remove(0);
        Ok(self.choose(outside, &vec![FALSE; width], &whole))
    }

    fn entry(&self, arena: &Arena, table: &Table, at: usize, size: usize) -> Vec<Bit> {
        let mut bits = Vec::with_capacity(size * 8);
        for place in at..at + size {
            match &table.cells {
                Some(cells) => bits.extend_from_slice(self.of(arena, cells[place])),
                None => {
                    bits.extend((0..8).map(|i| Bit::constant(table.bytes[place] >> i & 1 == 1)))
                }
            }
        }
        bits
    }
}

/// Bits that the simplifier knows need no gates.
fn settle(bits: &mut [Bit], arena: &Arena, e: Expr) {
    if bits.len() > 64 {
        return;
    }
    let facts = arena.facts(e);
    for (place, bit) in bits.iter_mut().enumerate() {
        if facts.zeros >> place & 1 == 1 {
            *bit = FALSE;
        } else if facts.ones >> place & 1 == 1 {
            *bit = TRUE;
        }
    }
}

fn resized(mut bits: Vec<Bit>, width: u32, fill: Bit) -> Vec<Bit> {
    bits.resize(width as usize, fill);
    bits
}

fn complement(bits: &[Bit]) -> Vec<Bit> {
    bits.iter().map(|&bit| !bit).collect()
}
