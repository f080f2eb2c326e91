//! Text to queries: the subset of SMT-LIB 2 that we write.

use super::sexp::{Id, Sexps};
use crate::arena::{Arena, Expr, MAX_WIDTH, TableId};
use crate::assignment::{Assignment, Bounds};
use crate::operators::TypeError;
use crate::query::Query;
use crate::smtlib::FORMAT;
use crate::value::Value;
use crate::variables::Var;
use changeling_trace::Op;
use rustc_hash::FxHashMap;
use thiserror::Error;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct ReadError {
    pub line: u32,
    pub message: String,
}

impl ReadError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> ReadError {
        ReadError {
            line,
            message: message.into(),
        }
    }
}

/// A query that owns its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedQuery {
    pub prefix: Vec<Expr>,
    pub goal: Expr,
    pub hint: Assignment,
    pub bounds: Bounds,
    pub soft: Vec<Expr>,
}

impl RecordedQuery {
    pub fn query(&self) -> Query<'_> {
        Query {
            prefix: &self.prefix,
            goal: self.goal,
            hint: &self.hint,
            bounds: &self.bounds,
            soft: &self.soft,
        }
    }
}

impl Arena {
    /// Reads a script written by [`Arena::smt2`]. Without a `:named goal` the
    /// last assertion is the goal.
    pub fn read_smt2(&mut self, text: &str) -> Result<RecordedQuery, ReadError> {
        let sexps = Sexps::parse(text)?;
        let mut reader = Reader {
            arena: self,
            sexps: &sexps,
            names: FxHashMap::default(),
            tables: FxHashMap::default(),
            patterns: FxHashMap::default(),
            prefix: Vec::new(),
            goal: None,
            hint: Assignment::new(),
            capacities: Vec::new(),
            soft: Vec::new(),
        };
        for &command in &sexps.top {
            reader.command(command)?;
        }
        reader.finish()
    }
}

/// Nesting of terms other than tables.
const MAX_DEPTH: u32 = 1500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Bool,
    Bits,
    Float,
}

#[derive(Clone, Copy)]
struct Typed {
    expr: Expr,
    sort: Sort,
}

struct Reader<'a> {
    arena: &'a mut Arena,
    sexps: &'a Sexps,
    names: FxHashMap<String, Typed>,
    tables: FxHashMap<String, (TableId, u32)>,
    /// Declared constants that are to become the bits of a number: their widths.
    patterns: FxHashMap<String, u32>,
    prefix: Vec<Expr>,
    goal: Option<Expr>,
    hint: Assignment,
    capacities: Vec<u64>,
    soft: Vec<Expr>,
}

impl<'a> Reader<'a> {
    fn command(&mut self, id: Id) -> Result<(), ReadError> {
        let Some((word, rest)) = self.sexps.form(id) else {
            return Err(self.error(id, "expected a command in parentheses"));
        };
        match (word, rest) {
            ("set-logic" | "set-option" | "check-sat" | "exit" | "get-model" | "get-value", _) => {
                Ok(())
            }
            ("set-info", [key, value]) => self.attribute(*key, *value),
            ("set-info", _) => Ok(()),
            ("declare-const", [name, sort]) => self.declare(id, *name, *sort),
            ("declare-fun", [name, arguments, sort])
                if self.sexps.list(*arguments).is_some_and(<[Id]>::is_empty) =>
            {
                self.declare(id, *name, *sort)
            }
            ("define-fun", [name, arguments, sort, body]) => {
                self.define(*name, *arguments, *sort, *body)
            }
            ("assert", [body]) => self.assertion(*body),
            _ => Err(self.error(id, format!("cannot read the command `{word}`"))),
        }
    }

    fn finish(mut self) -> Result<RecordedQuery, ReadError> {
        if let Some(name) = self.patterns.keys().next() {
            let message = format!(
                "`{name}` is neither an input byte (b0_0), a length (n0) nor the bits of a number"
            );
            return Err(ReadError::new(0, message));
        }
        let goal = match self.goal {
            Some(goal) => goal,
            None => self
                .prefix
                .pop()
                .ok_or_else(|| ReadError::new(0, "there is no assertion"))?,
        };
        Ok(RecordedQuery {
            prefix: self.prefix,
            goal,
            hint: self.hint,
            bounds: Bounds::new(self.capacities),
            soft: self.soft,
        })
    }

    fn attribute(&mut self, key: Id, value: Id) -> Result<(), ReadError> {
        match self.sexps.atom(key) {
            Some(":changeling") => {
                let format = self.number(value)?;
                if format != u64::from(FORMAT) {
                    let message =
                        format!("format {format} is not known; this version reads {FORMAT}");
                    return Err(self.error(value, message));
                }
            }
            Some(":capacities") => {
                for word in self.words(value)? {
                    let capacity = word.parse();
                    let bad = |_| self.error(value, format!("`{word}` is not a capacity"));
                    let capacity = capacity.map_err(bad)?;
                    self.capacities.push(capacity);
                }
            }
            Some(":hint") => {
                for (stream, number) in self.words(value)?.zip(0..) {
                    self.hint_stream(value, stream, number)?;
                }
            }
            Some(":soft") => {
                for word in self.words(value)? {
                    let typed = self.atom(value, word)?;
                    if typed.sort != Sort::Bool {
                        return Err(self.error(value, format!("`{word}` is not a condition")));
                    }
                    self.soft.push(typed.expr);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn words(&self, id: Id) -> Result<std::str::SplitWhitespace<'a>, ReadError> {
        let text = self
            .sexps
            .text(id)
            .ok_or_else(|| self.error(id, "expected a quoted text"))?;
        Ok(text.split_whitespace())
    }

    /// `length:hexadecimal bytes`
    fn hint_stream(&mut self, id: Id, text: &str, stream: u32) -> Result<(), ReadError> {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(length, bytes)| Some((length.parse().ok()?, bytes)));
        let Some((length, bytes)) = parts else {
            let message = format!("`{text}` is not a hint; expected length:hexadecimal bytes");
            return Err(self.error(id, message));
        };
        self.hint.set(Var::Length { stream }, length);
        for (digits, offset) in bytes.as_bytes().chunks(2).zip(0..) {
            let digits = std::str::from_utf8(digits).unwrap_or_default();
            let byte = u8::from_str_radix(digits, 16)
                .map_err(|_| self.error(id, format!("`{digits}` is not a hexadecimal byte")))?;
            self.hint.set_byte(stream, offset, byte);
        }
        Ok(())
    }

    fn declare(&mut self, id: Id, name: Id, sort: Id) -> Result<(), ReadError> {
        let name = self.word(name)?.to_string();
        let (sort, width) = self.sort(sort)?;
        if self.names.contains_key(&name) || self.patterns.contains_key(&name) {
            return Err(self.error(id, format!("`{name}` is declared twice")));
        }
        let var = match (parse_variable(&name), sort) {
            (Some(var @ Var::Byte { .. }), Sort::Bits) if width == 8 => var,
            (Some(var @ Var::Length { .. }), Sort::Bits) if width == 64 => var,
            (None, Sort::Bits) if width == 32 || width == 64 => {
                self.patterns.insert(name, width);
                return Ok(());
            }
            _ => {
                let message = format!(
                    "`{name}` should be an input byte b<stream>_<offset> of 8 bits or a length n<stream> of 64"
                );
                return Err(self.error(id, message));
            }
        };
        let expr = self.arena.variable(var);
        self.names.insert(
            name,
            Typed {
                expr,
                sort: Sort::Bits,
            },
        );
        Ok(())
    }

    fn define(&mut self, name: Id, arguments: Id, sort: Id, body: Id) -> Result<(), ReadError> {
        let key = self.word(name)?.to_string();
        let (declared, width) = self.sort(sort)?;
        if let [argument] = self.items(arguments)? {
            let table = self.table(*argument, width, body)?;
            self.tables.insert(key, (table, width));
            return Ok(());
        }
        let typed = self.term(body, 0)?;
        if typed.sort != declared || self.arena.width(typed.expr) != width {
            let got = self.arena.width(typed.expr);
            return Err(self.error(
                body,
                format!("`{key}` is declared with {width} bits, its body has {got}"),
            ));
        }
        self.names.insert(key, typed);
        Ok(())
    }

    /// `(ite (= i place) entry (ite …` as a table.
    fn table(&mut self, argument: Id, width: u32, body: Id) -> Result<TableId, ReadError> {
        let index = match self.items(argument)? {
            [name, _] => self.word(*name)?.to_string(),
            _ => return Err(self.error(argument, "a table has one index of 64 bits")),
        };
        let size = (width / 8) as usize;
        let mut cells: Vec<Option<Expr>> = Vec::new();
        let mut at = body;
        while let Some(("ite", [test, entry, rest])) = self.sexps.form(at) {
            let place = match self.sexps.form(*test) {
                Some(("=", [left, right])) if self.sexps.atom(*left) == Some(&index) => *right,
                _ => return Err(self.error(*test, format!("expected `(= {index} place)`"))),
            };
            let place_expr = self.vector(place, 0)?;
            let place = self.arena.small(place_expr).filter(|&n| n < 1 << 24);
            let Some(place) = place else {
                return Err(self.error(*test, "the place is not a small constant"));
            };
            let entry = self.vector(*entry, 0)?;
            if self.arena.width(entry) != width || !width.is_multiple_of(8) {
                return Err(self.error(*test, "the entry's width is not the table's"));
            }
            let start = place as usize;
            if cells.len() < start + size {
                cells.resize(start + size, None);
            }
            for (offset, cell) in cells[start..start + size].iter_mut().enumerate() {
                *cell = Some(self.arena.build_extract(entry, offset as u32 * 8, 8));
            }
            at = *rest;
        }
        let outside = self.vector(at, 0)?;
        if !self.arena.is_zero(outside) {
            return Err(self.error(at, "outside of a table is zero"));
        }
        let zero = self.arena.constant_u64(8, 0);
        let cells: Vec<Expr> = cells.into_iter().map(|cell| cell.unwrap_or(zero)).collect();
        let bytes = vec![0; cells.len()];
        self.arena
            .add_table(&bytes, Some(&cells))
            .map_err(|error| self.error(body, error.to_string()))
    }

    fn assertion(&mut self, body: Id) -> Result<(), ReadError> {
        let (body, name) = match self.sexps.form(body) {
            Some(("!", [inner, rest @ ..])) => {
                let name = rest
                    .windows(2)
                    .find(|pair| self.sexps.atom(pair[0]) == Some(":named"));
                (*inner, name.and_then(|pair| self.sexps.atom(pair[1])))
            }
            _ => (body, None),
        };
        if name.is_none() && (self.is_bound(body) || self.pattern(body)?) {
            return Ok(());
        }
        let condition = self.boolean(body, 0)?;
        match name {
            Some("goal") => self.goal = Some(condition),
            _ => self.prefix.push(condition),
        }
        Ok(())
    }

    /// The bound of a length, which the query's capacities already say.
    fn is_bound(&self, body: Id) -> bool {
        let Some(("bvule", [left, _])) = self.sexps.form(body) else {
            return false;
        };
        let name = self.sexps.atom(*left).and_then(parse_variable);
        matches!(name, Some(Var::Length { stream }) if (stream as usize) < self.capacities.len())
    }

    /// `(= ((_ to_fp 8 24) name) number)` defines the bits of a number.
    fn pattern(&mut self, body: Id) -> Result<bool, ReadError> {
        let Some(("=", [left, right])) = self.sexps.form(body) else {
            return Ok(false);
        };
        let Some([_, name]) = self.sexps.list(*left) else {
            return Ok(false);
        };
        let Some(name) = self.sexps.atom(*name) else {
            return Ok(false);
        };
        let Some(&width) = self.patterns.get(name) else {
            return Ok(false);
        };
        let number = self.term(*right, 0)?;
        if number.sort != Sort::Float || self.arena.width(number.expr) != width {
            return Err(self.error(*right, format!("expected a number of {width} bits")));
        }
        self.patterns.remove(name);
        self.names.insert(
            name.to_string(),
            Typed {
                expr: number.expr,
                sort: Sort::Bits,
            },
        );
        Ok(true)
    }

    fn term(&mut self, id: Id, depth: u32) -> Result<Typed, ReadError> {
        if depth > MAX_DEPTH {
            return Err(self.error(id, "nested too deeply"));
        }
        if let Some(atom) = self.sexps.atom(id) {
            return self.atom(id, atom);
        }
        let Some((&head, arguments)) = self.sexps.list(id).and_then(<[Id]>::split_first) else {
            return Err(self.error(id, "expected a term"));
        };
        match self.sexps.atom(head) {
            Some(word) => self.application(id, word, arguments, depth + 1),
            None => self.indexed(id, head, arguments, depth + 1),
        }
    }

    fn atom(&mut self, id: Id, atom: &str) -> Result<Typed, ReadError> {
        let boolean = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bool,
            })
        };
        match atom {
            "true" => return boolean(self.arena.bool(true)),
            "false" => return boolean(self.arena.bool(false)),
            _ => {}
        }
        if let Some(&known) = self.names.get(atom) {
            return Ok(known);
        }
        match parse_literal(atom) {
            Some(value) => {
                let expr = self.checked(id, |arena| arena.constant_wide(&value))?;
                Ok(Typed {
                    expr,
                    sort: Sort::Bits,
                })
            }
            None => Err(self.error(id, format!("`{atom}` is not defined"))),
        }
    }

    fn application(
        &mut self,
        id: Id,
        word: &str,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let bits = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bits,
            })
        };
        let truth = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Bool,
            })
        };
        let number = |expr| {
            Ok(Typed {
                expr,
                sort: Sort::Float,
            })
        };
        if let Some(&(table, width)) = self.tables.get(word) {
            let [index] = self.exactly(id, arguments)?;
            let index = self.vector(index, depth)?;
            return bits(self.checked(id, |arena| arena.read(table, index, width))?);
        }
        if let Some(op) = bit_operator(word) {
            let mut whole = None;
            for &argument in arguments {
                let next = self.vector(argument, depth)?;
                whole = Some(match whole {
                    None => next,
                    Some(left) if op == Op::Concat => {
                        self.checked(id, |arena| arena.concat(left, next))?
                    }
                    Some(left) => self.checked(id, |arena| arena.binary(op, left, next))?,
                });
            }
            return match whole {
                Some(expr) if arguments.len() >= 2 => bits(expr),
                _ => Err(self.error(id, format!("`{word}` needs two operands"))),
            };
        }
        if let Some(op) = comparison(word) {
            let [a, b] = self.exactly(id, arguments)?;
            let (a, b) = (self.vector(a, depth)?, self.vector(b, depth)?);
            return truth(self.checked(id, |arena| arena.binary(op, a, b))?);
        }
        if let Some((op, rounded)) = float_operator(word) {
            let skip = usize::from(rounded);
            let mut operands = Vec::new();
            for &argument in arguments.iter().skip(skip) {
                operands.push(self.float(argument, depth)?);
            }
            let expr = match operands[..] {
                [a] => self.checked(id, |arena| arena.unary(op, a))?,
                [a, b] => self.checked(id, |arena| arena.binary(op, a, b))?,
                [a, b, c] => self.checked(id, |arena| arena.fma(a, b, c))?,
                _ => return Err(self.error(id, format!("wrong number of operands of `{word}`"))),
            };
            return if op.is_comparison() {
                truth(expr)
            } else {
                number(expr)
            };
        }
        match word {
            "not" => {
                let [a] = self.exactly(id, arguments)?;
                let a = self.boolean(a, depth)?;
                truth(self.arena.not(a))
            }
            "and" | "or" | "xor" => {
                let mut whole: Option<Expr> = None;
                for &argument in arguments {
                    let next = self.boolean(argument, depth)?;
                    whole = Some(match (whole, word) {
                        (None, _) => next,
                        (Some(left), "and") => self.arena.build(Op::And, left, next),
                        (Some(left), "or") => self.arena.build(Op::Or, left, next),
                        (Some(left), _) => self.arena.build(Op::Xor, left, next),
                    });
                }
                truth(whole.ok_or_else(|| self.error(id, format!("`{word}` of nothing")))?)
            }
            "=" | "distinct" => {
                let [a, b] = self.exactly(id, arguments)?;
                let (a, b) = (self.term(a, depth)?, self.term(b, depth)?);
                if a.sort != b.sort || a.sort == Sort::Float {
                    return Err(self.error(id, "compared operands have different sorts"));
                }
                let op = if word == "=" { Op::Eq } else { Op::Ne };
                truth(self.checked(id, |arena| arena.binary(op, a.expr, b.expr))?)
            }
            "ite" => {
                let [condition, yes, no] = self.exactly(id, arguments)?;
                let condition = self.boolean(condition, depth)?;
                let (yes, no) = (self.term(yes, depth)?, self.term(no, depth)?);
                if yes.sort != no.sort {
                    return Err(self.error(id, "the branches have different sorts"));
                }
                let expr = self.checked(id, |arena| arena.ite(condition, yes.expr, no.expr))?;
                Ok(Typed {
                    expr,
                    sort: yes.sort,
                })
            }
            "fp.isNaN" => {
                let [a] = self.exactly(id, arguments)?;
                let a = self.float(a, depth)?;
                truth(self.checked(id, |arena| arena.binary(Op::FUnordered, a, a))?)
            }
            _ => Err(self.error(id, format!("`{word}` is not defined"))),
        }
    }

    /// `((_ word n …) argument …)`
    fn indexed(
        &mut self,
        id: Id,
        head: Id,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let Some(("_", [word, numbers @ ..])) = self.sexps.form(head) else {
            return Err(self.error(head, "expected `(_ operator number)`"));
        };
        let word = self.word(*word)?;
        let mut parameters = [0u32; 2];
        for (slot, &n) in parameters.iter_mut().zip(numbers) {
            let n = self.number(n)?;
            *slot = u32::try_from(n).map_err(|_| self.error(head, "the number is too large"))?;
        }
        let [first, second] = parameters;
        let (Some(&last), sort) = (arguments.last(), Sort::Bits) else {
            return Err(self.error(id, "an operand is missing"));
        };
        if word.starts_with("to_fp") || word.starts_with("fp.to") {
            return self.conversion(id, word, first, second, arguments, depth);
        }
        let a = self.vector(last, depth)?;
        let width = self.arena.width(a);
        let expr = match word {
            "extract" if first >= second => {
                self.checked(id, |arena| arena.extract(a, second, first - second + 1))?
            }
            "zero_extend" => {
                self.checked(id, |arena| arena.zext(a, width.saturating_add(first)))?
            }
            "sign_extend" => {
                self.checked(id, |arena| arena.sext(a, width.saturating_add(first)))?
            }
            _ => return Err(self.error(head, format!("cannot read the operator `{word}`"))),
        };
        Ok(Typed { expr, sort })
    }

    fn conversion(
        &mut self,
        id: Id,
        word: &str,
        first: u32,
        second: u32,
        arguments: &[Id],
        depth: u32,
    ) -> Result<Typed, ReadError> {
        let last = *arguments.last().expect("checked by the caller");
        let operand = self.term(last, depth)?;
        let a = operand.expr;
        if word == "fp.to_ubv" || word == "fp.to_sbv" {
            let op = if word == "fp.to_ubv" {
                Op::FToU
            } else {
                Op::FToS
            };
            if operand.sort != Sort::Float {
                return Err(self.error(last, "expected a floating-point number"));
            }
            let expr = self.checked(id, |arena| arena.convert(op, a, first))?;
            return Ok(Typed {
                expr,
                sort: Sort::Bits,
            });
        }
        let width = match (first, second) {
            (8, 24) => 32,
            (11, 53) => 64,
            _ => return Err(self.error(id, "floating point has 32 or 64 bits")),
        };
        let expr = match (word, operand.sort, arguments.len()) {
            // The bits of a number, read as that number.
            ("to_fp", Sort::Bits, 1) if self.arena.width(a) == width => a,
            ("to_fp", Sort::Bits, 2) => {
                self.checked(id, |arena| arena.convert(Op::SToF, a, width))?
            }
            ("to_fp", Sort::Float, 2) => {
                self.checked(id, |arena| arena.convert(Op::FToF, a, width))?
            }
            ("to_fp_unsigned", Sort::Bits, 2) => {
                self.checked(id, |arena| arena.convert(Op::UToF, a, width))?
            }
            _ => return Err(self.error(id, format!("cannot read this use of `{word}`"))),
        };
        Ok(Typed {
            expr,
            sort: Sort::Float,
        })
    }

    fn boolean(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Bool, "a condition", depth)
    }

    fn vector(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Bits, "a bit-vector", depth)
    }

    fn float(&mut self, id: Id, depth: u32) -> Result<Expr, ReadError> {
        self.of_sort(id, Sort::Float, "a floating-point number", depth)
    }

    fn of_sort(
        &mut self,
        id: Id,
        sort: Sort,
        expected: &str,
        depth: u32,
    ) -> Result<Expr, ReadError> {
        let typed = self.term(id, depth)?;
        match typed.sort == sort {
            true => Ok(typed.expr),
            false => Err(self.error(id, format!("expected {expected}"))),
        }
    }

    fn sort(&self, id: Id) -> Result<(Sort, u32), ReadError> {
        if self.sexps.atom(id) == Some("Bool") {
            return Ok((Sort::Bool, 1));
        }
        if let Some(("_", [word, width])) = self.sexps.form(id)
            && self.sexps.atom(*word) == Some("BitVec")
        {
            let width = self.number(*width)?;
            if (1..=u64::from(MAX_WIDTH)).contains(&width) {
                return Ok((Sort::Bits, width as u32));
            }
        }
        Err(self.error(id, "expected the sort Bool or (_ BitVec n)"))
    }

    fn exactly<const N: usize>(&self, id: Id, arguments: &[Id]) -> Result<[Id; N], ReadError> {
        let got = arguments.len();
        arguments
            .try_into()
            .map_err(|_| self.error(id, format!("expected {N} operands, got {got}")))
    }

    fn items(&self, id: Id) -> Result<&'a [Id], ReadError> {
        self.sexps
            .list(id)
            .ok_or_else(|| self.error(id, "expected a list"))
    }

    fn word(&self, id: Id) -> Result<&'a str, ReadError> {
        self.sexps
            .atom(id)
            .ok_or_else(|| self.error(id, "expected a name"))
    }

    fn number(&self, id: Id) -> Result<u64, ReadError> {
        let word = self.word(id)?;
        word.parse()
            .map_err(|_| self.error(id, format!("expected a number, got `{word}`")))
    }

    fn checked(
        &mut self,
        id: Id,
        build: impl FnOnce(&mut Arena) -> Result<Expr, TypeError>,
    ) -> Result<Expr, ReadError> {
        build(self.arena).map_err(|error| ReadError::new(self.sexps.line(id), error.to_string()))
    }

    fn error(&self, id: Id, message: impl Into<String>) -> ReadError {
        ReadError::new(self.sexps.line(id), message)
    }
}

fn parse_variable(name: &str) -> Option<Var> {
    if let Some(stream) = name.strip_prefix('n') {
        return Some(Var::Length {
            stream: stream.parse().ok()?,
        });
    }
    let (stream, offset) = name.strip_prefix('b')?.split_once('_')?;
    Some(Var::Byte {
        stream: stream.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

/// `#b0101` or `#x5`.
pub(crate) fn parse_literal(text: &str) -> Option<Value> {
    let (digits, radix, bits) = match (text.strip_prefix("#b"), text.strip_prefix("#x")) {
        (Some(digits), _) => (digits, 2, 1),
        (_, Some(digits)) => (digits, 16, 4),
        _ => return None,
    };
    let width = digits.len() as u32 * bits;
    if !(1..=MAX_WIDTH).contains(&width) {
        return None;
    }
    let mut limbs = vec![0u64; width.div_ceil(64) as usize];
    for (digit, place) in digits.chars().rev().zip(0u32..) {
        let at = place * bits;
        limbs[(at / 64) as usize] |= u64::from(digit.to_digit(radix)?) << (at % 64);
    }
    Some(Value::from_limbs(width, limbs))
}

fn bit_operator(word: &str) -> Option<Op> {
    Some(match word {
        "bvadd" => Op::Add,
        "bvsub" => Op::Sub,
        "bvmul" => Op::Mul,
        "bvudiv" => Op::UDiv,
        "bvsdiv" => Op::SDiv,
        "bvurem" => Op::URem,
        "bvsrem" => Op::SRem,
        "bvand" => Op::And,
        "bvor" => Op::Or,
        "bvxor" => Op::Xor,
        "bvshl" => Op::Shl,
        "bvlshr" => Op::LShr,
        "bvashr" => Op::AShr,
        "concat" => Op::Concat,
        _ => return None,
    })
}

fn comparison(word: &str) -> Option<Op> {
    Some(match word {
        "bvult" => Op::Ult,
        "bvule" => Op::Ule,
        "bvslt" => Op::Slt,
        "bvsle" => Op::Sle,
        _ => return None,
    })
}

/// The operator, and whether a rounding mode comes first.
fn float_operator(word: &str) -> Option<(Op, bool)> {
    Some(match word {
        "fp.add" => (Op::FAdd, true),
        "fp.sub" => (Op::FSub, true),
        "fp.mul" => (Op::FMul, true),
        "fp.div" => (Op::FDiv, true),
        "fp.sqrt" => (Op::FSqrt, true),
        "fp.fma" => (Op::FFma, true),
        "fp.eq" => (Op::FEq, false),
        "fp.lt" => (Op::FLt, false),
        "fp.leq" => (Op::FLe, false),
        _ => return None,
    })
}
