//! From the nodes of a trace to expressions.

use crate::arena::{Arena, Expr, TableId};
use crate::operators::TypeError;
use changeling_trace::layout::{CELL_BYTE_SHIFT, TableHeader};
use changeling_trace::node::{A_CONST, B_CONST, C_CONST, MAX_LABEL};
use changeling_trace::{Label, Node, Op};
use rustc_hash::FxHashMap;
use thiserror::Error;

/// The expressions of the labels that were asked for and of all they use.
#[derive(Clone, Debug, Default)]
pub struct ImportMap {
    exprs: Vec<Option<Expr>>,
}

impl ImportMap {
    /// `None` for labels that no root reaches, and for 0.
    pub fn get(&self, label: Label) -> Option<Expr> {
        self.exprs.get(label as usize).copied().flatten()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Label, Expr)> + '_ {
        self.exprs
            .iter()
            .zip(0..)
            .filter_map(|(expr, label)| expr.map(|expr| (label, expr)))
    }
}

/// A trace that does not follow the format.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("node {label} of the trace: {problem}")]
pub struct ImportError {
    pub label: Label,
    pub problem: ImportProblem,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImportProblem {
    #[error("there is no such node; the trace has {0}")]
    Missing(usize),
    #[error("unknown operator {0}")]
    Operator(u8),
    #[error("operand {0} does not come before it")]
    Order(Label),
    #[error("the width of a constant operand cannot be known")]
    Constant,
    #[error("more than one operand is said to be the constant")]
    Constants,
    #[error("width {got} does not fit the operands, which give {expected}")]
    Width { got: u32, expected: u32 },
    #[error("there is no table at offset {0}")]
    Table(u32),
    #[error("{0}")]
    Type(#[from] TypeError),
}

impl Arena {
    /// Imports what `roots` reach. `tables` is the table region of the trace.
    pub fn import(
        &mut self,
        nodes: &[Node],
        tables: &[u8],
        roots: &[Label],
    ) -> Result<ImportMap, ImportError> {
        let mut importer = Importer {
            arena: self,
            nodes,
            tables,
            map: ImportMap::default(),
            known_tables: FxHashMap::default(),
        };
        importer.run(roots)?;
        Ok(importer.map)
    }
}

struct Importer<'a> {
    arena: &'a mut Arena,
    nodes: &'a [Node],
    tables: &'a [u8],
    map: ImportMap,
    known_tables: FxHashMap<u32, TableId>,
}

impl Importer<'_> {
    fn run(&mut self, roots: &[Label]) -> Result<(), ImportError> {
        let labels = self.reachable(roots)?;
        let end = labels.last().map_or(0, |&last| last as usize + 1);
        self.map.exprs = vec![None; end];
        for label in labels {
            let expr = self
                .node(label)
                .map_err(|problem| ImportError { label, problem })?;
            self.map.exprs[label as usize] = Some(expr);
        }
        Ok(())
    }

    /// Labels in topological order.
    fn reachable(&self, roots: &[Label]) -> Result<Vec<Label>, ImportError> {
        let mut seen = vec![false; self.nodes.len()];
        let mut todo: Vec<Label> = roots.iter().copied().filter(|&label| label != 0).collect();
        let mut found = Vec::new();
        while let Some(label) = todo.pop() {
            let node = self.nodes.get(label as usize).ok_or(ImportError {
                label,
                problem: ImportProblem::Missing(self.nodes.len()),
            })?;
            if std::mem::replace(&mut seen[label as usize], true) {
                continue;
            }
            found.push(label);
            for operand in self
                .uses(node)
                .map_err(|problem| ImportError { label, problem })?
            {
                if operand >= label || operand == 0 {
                    return Err(ImportError {
                        label,
                        problem: ImportProblem::Order(operand),
                    });
                }
                if !seen[operand as usize] {
                    todo.push(operand);
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn uses(&self, node: &Node) -> Result<Vec<Label>, ImportProblem> {
        let op = Op::from_u8(node.op).ok_or(ImportProblem::Operator(node.op))?;
        if (node.flags & (A_CONST | B_CONST | C_CONST)).count_ones() > 1 {
            return Err(ImportProblem::Constants);
        }
        let operands = [(node.a, A_CONST), (node.b, B_CONST), (node.c, C_CONST)];
        let mut labels: Vec<Label> = operands[..op.arity()]
            .iter()
            .filter(|(_, flag)| node.flags & flag == 0)
            .map(|&(label, _)| label)
            .collect();
        if op == Op::Read {
            let (_, cells) = self.table_parts(node.b)?;
            labels.extend(
                cells
                    .map(|cell| cell & MAX_LABEL)
                    .filter(|&label| label != 0),
            );
        }
        Ok(labels)
    }

    fn node(&mut self, label: Label) -> Result<Expr, ImportProblem> {
        let node = &self.nodes[label as usize];
        let op = Op::from_u8(node.op).ok_or(ImportProblem::Operator(node.op))?;
        let width = u32::from(node.width);
        let expr = match op {
            Op::Const => self.arena.constant(width, node.imm)?,
            Op::Input => self.arena.input(node.a, node.imm as u32),
            Op::Length => self.arena.length(node.a),
            Op::ZExt | Op::SExt | Op::Extract => {
                let a = self.operand(node, node.a, A_CONST, None)?;
                match op {
                    Op::ZExt => self.arena.zext(a, width)?,
                    Op::SExt => self.arena.sext(a, width)?,
                    _ => {
                        let low = u32::try_from(node.imm).unwrap_or(u32::MAX);
                        self.arena.extract(a, low, width)?
                    }
                }
            }
            Op::Concat => {
                let other = |label: Label, map: &ImportMap, arena: &Arena| {
                    let part = arena.width(map.get(label)?);
                    width.checked_sub(part).filter(|&rest| rest > 0)
                };
                let (high_width, low_width) = (
                    other(node.b, &self.map, self.arena),
                    other(node.a, &self.map, self.arena),
                );
                let high = self.operand(node, node.a, A_CONST, high_width)?;
                let low = self.operand(node, node.b, B_CONST, low_width)?;
                self.arena.concat(high, low)?
            }
            Op::Ite => {
                let condition = self.operand(node, node.a, A_CONST, Some(1))?;
                let yes = self.operand(node, node.b, B_CONST, Some(width))?;
                let no = self.operand(node, node.c, C_CONST, Some(width))?;
                self.arena.ite(condition, yes, no)?
            }
            Op::Read => {
                let index = self.operand(node, node.a, A_CONST, Some(64))?;
                let table = self.table(node.b)?;
                self.arena.read(table, index, width)?
            }
            Op::Popcount
            | Op::LeadingZeros
            | Op::TrailingZeros
            | Op::ByteSwap
            | Op::BitReverse
            | Op::FSqrt
            | Op::FNeg
            | Op::FAbs => {
                let a = self.operand(node, node.a, A_CONST, Some(width))?;
                self.arena.unary(op, a)?
            }
            Op::UToF | Op::SToF | Op::FToU | Op::FToS | Op::FToF => {
                let a = self.operand(node, node.a, A_CONST, None)?;
                self.arena.convert(op, a, width)?
            }
            Op::FFma => {
                let a = self.operand(node, node.a, A_CONST, Some(width))?;
                let b = self.operand(node, node.b, B_CONST, Some(width))?;
                let c = self.operand(node, node.c, C_CONST, Some(width))?;
                self.arena.fma(a, b, c)?
            }
            _ => {
                let other = |label| self.map.get(label).map(|e| self.arena.width(e));
                let (left, right) = match op.is_comparison() {
                    true => (other(node.b), other(node.a)),
                    false => (Some(width), Some(width)),
                };
                let a = self.operand(node, node.a, A_CONST, left)?;
                let b = self.operand(node, node.b, B_CONST, right)?;
                self.arena.binary(op, a, b)?
            }
        };
        match self.arena.width(expr) {
            expected if expected == width => Ok(expr),
            expected => Err(ImportProblem::Width {
                got: width,
                expected,
            }),
        }
    }

    /// `width` is that of a constant operand, where it can be known.
    fn operand(
        &mut self,
        node: &Node,
        label: Label,
        flag: u8,
        width: Option<u32>,
    ) -> Result<Expr, ImportProblem> {
        if node.flags & flag == 0 {
            return self.map.get(label).ok_or(ImportProblem::Order(label));
        }
        match width {
            Some(width) => Ok(self.arena.constant(width, node.imm)?),
            None => Err(ImportProblem::Constant),
        }
    }

    fn table(&mut self, offset: u32) -> Result<TableId, ImportProblem> {
        if let Some(&known) = self.known_tables.get(&offset) {
            return Ok(known);
        }
        let (bytes, cells) = self.table_parts(offset)?;
        let cells: Vec<u32> = cells.collect();
        let bytes = bytes.to_vec();
        let id = if cells.iter().all(|&cell| cell == 0) {
            self.arena.add_table(&bytes, None)?
        } else {
            let mut exprs = Vec::with_capacity(cells.len());
            for (&cell, &byte) in cells.iter().zip(&bytes) {
                exprs.push(self.cell(cell, byte)?);
            }
            self.arena.add_table(&bytes, Some(&exprs))?
        };
        self.known_tables.insert(offset, id);
        Ok(id)
    }

    fn cell(&mut self, cell: u32, byte: u8) -> Result<Expr, ImportProblem> {
        let label = cell & MAX_LABEL;
        if label == 0 {
            return Ok(self.arena.constant(8, byte.into())?);
        }
        let whole = self.map.get(label).ok_or(ImportProblem::Order(label))?;
        let low = (cell >> CELL_BYTE_SHIFT) * 8;
        // The top byte of a value that is no multiple of 8 wide is padded.
        let width = self.arena.width(whole).saturating_sub(low).min(8);
        let part = self.arena.extract(whole, low, width)?;
        Ok(self.arena.zext(part, 8)?)
    }

    /// Contents and shadow cells of a table; no cells if it is constant.
    fn table_parts(
        &self,
        offset: u32,
    ) -> Result<(&[u8], impl Iterator<Item = u32> + '_), ImportProblem> {
        let bad = ImportProblem::Table(offset);
        let at = offset as usize;
        let header = size_of::<TableHeader>();
        let word = |at: usize| {
            let bytes = self.tables.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (Some(size), Some(labelled)) = (word(at), word(at + 4)) else {
            return Err(bad);
        };
        let size = size as usize;
        let Some(bytes) = self.tables.get(at + header..at + header + size) else {
            return Err(bad);
        };
        let cells = match labelled {
            1 => {
                let start = at + header + size.next_multiple_of(4);
                self.tables.get(start..start + size * 4).ok_or(bad)?
            }
            _ => &[],
        };
        let cells = cells.chunks_exact(4);
        Ok((
            bytes,
            cells.map(|cell| u32::from_le_bytes(cell.try_into().expect("4 bytes"))),
        ))
    }
}
