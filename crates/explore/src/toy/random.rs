//! Random small programs over two nibbles of input, and small changes to them.

use super::pruning::{BLIND, ENTERED, PASSED};
use super::{Machine, Program, Stop, Word};
use crate::frontier::Random;
use changeling_trace::Op;
use changeling_trace::sites::{Site, SiteTable};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Value {
    Constant(u8),
    Register(usize),
    Binary(Op, Box<Value>, Box<Value>),
}

#[derive(Clone, Debug)]
pub enum Statement {
    Assign(usize, Value),
    /// Reads the next byte's low nibble; at the end of the input, a constant.
    Read(usize, u8),
    If(Op, Value, Value, Vec<Statement>, Vec<Statement>),
    Switch(Value, [Vec<Statement>; 3]),
    Repeat(u8, Vec<Statement>),
    PrintNumber(Value),
    PrintByte(Value),
    Print(&'static str),
    Divide(usize, Value, Value),
    Fix(usize),
    Exit(u8),
    Abort,
    /// The one that was changed; traces say what it leaves behind.
    Watched(Box<Statement>),
    /// It cannot run any more.
    Passed,
}

#[derive(Clone, Debug)]
pub struct Source(pub Vec<Statement>);

const REGISTERS: usize = 3;
const SWITCH_SITE: u32 = 40;

/// Describes the one switch that the programs share.
pub fn sites() -> SiteTable {
    let cases = vec![(Some(1), 1), (Some(2), 1), (Some(5), 2), (None, 3)];
    let site = Site {
        number: SWITCH_SITE,
        function: 0,
        file: 0,
        line: 0,
        column: 0,
        callee: String::new(),
        cases,
    };
    SiteTable {
        sites: vec![site],
        ..SiteTable::default()
    }
}

impl Source {
    pub fn random(random: &mut Random, with_fixed: bool) -> Source {
        let mut statements = vec![Statement::Read(0, 3), Statement::Read(1, 7)];
        statements.extend(block(random, 3, with_fixed));
        statements.push(Statement::PrintNumber(Value::Register(2)));
        Source(statements)
    }

    pub fn program(&self) -> Program {
        let source = self.clone();
        Arc::new(move |machine| {
            let zero = machine.constant(8, 0);
            let mut state = Running {
                registers: [zero; REGISTERS],
                position: 0,
                site: 0,
            };
            state.block(machine, &source.0)
        })
    }

    /// One small change; it may or may not matter.
    pub fn changed(&self, random: &mut Random) -> Source {
        let mut changed = self.clone();
        let last = changed.0.len() - 1;
        change(random, &mut changed.0, 2, last);
        changed
    }

    /// Written otherwise, with the same meaning.
    pub fn rewritten(&self, random: &mut Random) -> Source {
        Source(rewrite(random, &self.0))
    }
}

fn block(random: &mut Random, depth: u32, with_fixed: bool) -> Vec<Statement> {
    let count = 1 + random.below(3);
    (0..count)
        .map(|_| statement(random, depth, with_fixed))
        .collect()
}

fn statement(random: &mut Random, depth: u32, with_fixed: bool) -> Statement {
    let nested = |random: &mut Random| block(random, depth - 1, with_fixed);
    match random.below(if depth > 0 { 16 } else { 9 }) {
        0..=3 => Statement::Assign(random.below(REGISTERS), value(random, 2)),
        4 => Statement::PrintNumber(value(random, 1)),
        5 => Statement::PrintByte(value(random, 1)),
        6 => Statement::Print(["a", "b", "ab"][random.below(3)]),
        7 if with_fixed => Statement::Fix(random.below(REGISTERS)),
        7 => Statement::Divide(random.below(REGISTERS), value(random, 0), value(random, 0)),
        8 => match random.below(6) {
            0 => Statement::Exit(random.below(3) as u8),
            1 => Statement::Abort,
            _ => Statement::Assign(random.below(REGISTERS), value(random, 1)),
        },
        9..=13 => {
            let op = comparison(random);
            let (a, b) = (value(random, 1), value(random, 0));
            Statement::If(op, a, b, nested(random), nested(random))
        }
        14 => {
            let arms = [nested(random), nested(random), nested(random)];
            Statement::Switch(value(random, 1), arms)
        }
        _ => Statement::Repeat(2, nested(random)),
    }
}

fn comparison(random: &mut Random) -> Op {
    [Op::Eq, Op::Ne, Op::Ult, Op::Ule, Op::Slt][random.below(5)]
}

fn value(random: &mut Random, depth: u32) -> Value {
    if depth > 0 && random.below(2) == 0 {
        let op = [Op::Add, Op::Sub, Op::Mul, Op::And, Op::Or, Op::Xor][random.below(6)];
        return Value::Binary(
            op,
            Box::new(value(random, depth - 1)),
            Box::new(value(random, depth - 1)),
        );
    }
    match random.below(3) {
        0 => Value::Constant(random.below(12) as u8),
        _ => Value::Register(random.below(REGISTERS)),
    }
}

/// Changes one of `statements[from..to]`.
fn change(random: &mut Random, statements: &mut Vec<Statement>, from: usize, to: usize) {
    if from >= to {
        return;
    }
    let at = from + random.below(to - from);
    if random.below(8) == 0 {
        statements.remove(at);
        return;
    }
    match &mut statements[at] {
        Statement::Assign(_, value)
        | Statement::PrintNumber(value)
        | Statement::PrintByte(value) => {
            change_value(random, value);
        }
        Statement::If(op, a, b, then, otherwise) => match random.below(5) {
            0 => *op = comparison(random),
            1 => change_value(random, a),
            2 => change_value(random, b),
            3 => {
                let end = then.len();
                change(random, then, 0, end);
            }
            _ => {
                let end = otherwise.len();
                change(random, otherwise, 0, end);
            }
        },
        Statement::Switch(_, arms) => {
            let arm = &mut arms[random.below(3)];
            let end = arm.len();
            change(random, arm, 0, end);
        }
        Statement::Repeat(_, body) => {
            let end = body.len();
            change(random, body, 0, end);
        }
        Statement::Divide(_, a, b) => {
            let operand = if random.below(2) == 0 { a } else { b };
            change_value(random, operand);
        }
        Statement::Print(text) => *text = ["a", "b", "ab"][random.below(3)],
        Statement::Exit(code) => *code = random.below(3) as u8,
        Statement::Abort
        | Statement::Read(..)
        | Statement::Fix(_)
        | Statement::Watched(_)
        | Statement::Passed => {}
    }
}

impl Statement {
    /// The same with another value in it, if it has one of its own.
    pub fn changed(&self, random: &mut Random) -> Option<Statement> {
        let mut changed = self.clone();
        match &mut changed {
            Statement::Assign(_, value)
            | Statement::PrintNumber(value)
            | Statement::PrintByte(value)
            | Statement::Switch(value, _)
            | Statement::Divide(_, value, _) => change_value(random, value),
            Statement::If(op, a, _, _, _) => match random.below(2) {
                0 => *op = comparison(random),
                _ => change_value(random, a),
            },
            // Nothing is known about what these do.
            Statement::Repeat(..) => {
                let mut body = vec![changed];
                change(random, &mut body, 0, 1);
                return body.pop();
            }
            _ => return None,
        }
        Some(changed)
    }
}

fn change_value(random: &mut Random, value: &mut Value) {
    match value {
        Value::Constant(constant) => *constant = constant.wrapping_add(1),
        Value::Register(_) => *value = Value::Constant(random.below(12) as u8),
        Value::Binary(op, a, _) => match random.below(2) {
            0 => *op = if *op == Op::Add { Op::Or } else { Op::Add },
            _ => change_value(random, a),
        },
    }
}

fn rewrite(random: &mut Random, statements: &[Statement]) -> Vec<Statement> {
    let all = |random: &mut Random, list: &[Statement]| rewrite(random, list);
    statements
        .iter()
        .map(|statement| match statement {
            Statement::Assign(to, value) => Statement::Assign(*to, rewrite_value(value)),
            Statement::PrintNumber(value) => Statement::PrintNumber(rewrite_value(value)),
            Statement::PrintByte(value) => Statement::PrintByte(rewrite_value(value)),
            Statement::If(op, a, b, then, otherwise) => {
                let (then, otherwise) = (all(random, then), all(random, otherwise));
                let (a, b) = (rewrite_value(a), b.clone());
                match op {
                    Op::Eq => Statement::If(Op::Ne, a, b, otherwise, then),
                    Op::Ne => Statement::If(Op::Eq, a, b, otherwise, then),
                    Op::Ult => Statement::If(Op::Ule, b, a, otherwise, then),
                    Op::Ule => Statement::If(Op::Ult, b, a, otherwise, then),
                    op => Statement::If(*op, a, b, then, otherwise),
                }
            }
            Statement::Switch(value, arms) => {
                let [a, b, c] = arms.clone().map(|arm| all(random, &arm));
                Statement::Switch(rewrite_value(value), [a, b, c])
            }
            Statement::Repeat(times, body) => {
                let mut unrolled = Vec::new();
                for _ in 0..*times {
                    unrolled.extend(all(random, body));
                }
                Statement::Repeat(1, unrolled)
            }
            other => other.clone(),
        })
        .collect()
}

/// `a + b` as `(a ^ b) + 2 * (a & b)`, and operands the other way round.
fn rewrite_value(value: &Value) -> Value {
    let Value::Binary(op, a, b) = value else {
        return value.clone();
    };
    let (a, b) = (Box::new(rewrite_value(a)), Box::new(rewrite_value(b)));
    match op {
        Op::Add => {
            let xor = Value::Binary(Op::Xor, a.clone(), b.clone());
            let and = Value::Binary(Op::And, a, b);
            let twice = Value::Binary(Op::Mul, Box::new(Value::Constant(2)), Box::new(and));
            Value::Binary(Op::Add, Box::new(xor), Box::new(twice))
        }
        Op::Sub => Value::Binary(Op::Sub, a, b),
        op => Value::Binary(*op, b, a),
    }
}

struct Running {
    registers: [Word; REGISTERS],
    position: usize,
    /// Counts statements: sites need only be the same in every run of a program.
    site: u32,
}

impl Running {
    fn block(&mut self, m: &mut Machine, statements: &[Statement]) -> Result<(), Stop> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(m, statement))
    }

    fn statement(&mut self, m: &mut Machine, statement: &Statement) -> Result<(), Stop> {
        self.site += 1;
        let site = self.site % 20 + 1;
        match statement {
            Statement::Assign(to, value) => self.registers[*to] = self.value(m, value),
            Statement::Read(to, otherwise) => {
                let byte = m.getchar(self.position, site);
                self.position += 1;
                self.registers[*to] = match byte {
                    Some(byte) => m.against(Op::And, byte, 15),
                    None => m.constant(8, (*otherwise).into()),
                };
            }
            Statement::If(op, a, b, then, otherwise) => {
                let (a, b) = (self.value(m, a), self.value(m, b));
                let condition = m.binary(*op, a, b);
                let way = if m.branch(site, condition) {
                    then
                } else {
                    otherwise
                };
                self.block(m, way)?;
            }
            Statement::Switch(value, arms) => {
                let value = self.value(m, value);
                let arm = match m.switch(SWITCH_SITE, value) {
                    1 | 2 => 0,
                    5 => 1,
                    _ => 2,
                };
                self.block(m, &arms[arm])?;
            }
            Statement::Repeat(times, body) => {
                for _ in 0..*times {
                    self.block(m, body)?;
                }
            }
            Statement::PrintNumber(value) => {
                let value = self.value(m, value);
                m.print_number(site, "%u", value);
            }
            Statement::PrintByte(value) => {
                let value = self.value(m, value);
                m.putchar(site, value);
            }
            Statement::Print(text) => m.print(text),
            Statement::Divide(to, a, b) => {
                let (a, b) = (self.value(m, a), self.value(m, b));
                self.registers[*to] = m.divide(site, a, b)?;
            }
            Statement::Fix(register) => {
                self.registers[*register] = m.concretize(site, self.registers[*register]);
            }
            Statement::Exit(code) => return Err(Stop::Exit((*code).into())),
            Statement::Abort => return Err(Stop::Signal(6)),
            Statement::Watched(statement) => self.watched(m, statement)?,
            Statement::Passed => m.mark(PASSED),
        }
        Ok(())
    }

    /// Tells of what a statement computes before it is used.
    fn watched(&mut self, m: &mut Machine, statement: &Statement) -> Result<(), Stop> {
        m.mark(ENTERED);
        match statement {
            Statement::Assign(_, value)
            | Statement::PrintNumber(value)
            | Statement::PrintByte(value) => {
                let value = self.value(m, value);
                m.probe(0, false, value);
            }
            Statement::If(op, a, b, _, _) => {
                let (a, b) = (self.value(m, a), self.value(m, b));
                let condition = m.binary(*op, a, b);
                m.probe(1, true, condition);
            }
            Statement::Switch(value, _) => {
                let value = self.value(m, value);
                m.probe(2, true, value);
            }
            Statement::Divide(..) => {}
            _ => m.mark(BLIND),
        }
        self.statement(m, statement)?;
        if let Statement::Divide(to, _, _) = statement {
            m.probe(3, false, self.registers[*to]);
        }
        Ok(())
    }

    fn value(&self, m: &mut Machine, value: &Value) -> Word {
        match value {
            Value::Constant(constant) => m.constant(8, (*constant).into()),
            Value::Register(register) => self.registers[*register],
            Value::Binary(op, a, b) => {
                let (a, b) = (self.value(m, a), self.value(m, b));
                m.binary(*op, a, b)
            }
        }
    }
}
