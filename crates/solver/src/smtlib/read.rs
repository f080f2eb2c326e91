//! Text to queries: the subset of SMT-LIB 2 that we write.

mod terms;
mod words;

use super::sexp::{Id, Sexps};
use crate::arena::{Arena, Expr, MAX_WIDTH, TableId};
use crate::assignment::{Assignment, Bounds};
use crate::query::Query;
use crate::smtlib::FORMAT;
use crate::variables::Var;
use rustc_hash::FxHashMap;
use thiserror::Error;
pub(crate) use words::parse_literal;
use words::parse_variable;

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

    fn error(&self, id: Id, message: impl Into<String>) -> ReadError {
        ReadError::new(self.sexps.line(id), message)
    }
}
