//! Random programs, written down twice in different styles: no change. With one
//! statement altered as well: exactly that is found.

mod common;

use std::fmt::Write;

use common::{Pair, lines_of};

#[test]
fn another_style_is_no_change() {
    for seed in 0..12 {
        let program = Source::random(seed);
        let plain = program.render(&Style::plain());
        let styled = program.render(&Style::random(seed));
        let pair = Pair::new(&plain.text, &styled.text);
        assert!(
            pair.set.changes.is_empty(),
            "seed {seed}: {:#?}",
            pair.set.changes
        );
        assert_eq!(
            pair.set.sites.len(),
            pair.base.instructions.len(),
            "seed {seed}"
        );
    }
}

#[test]
fn one_altered_statement_is_one_change() {
    for seed in 100..112 {
        let program = Source::random(seed);
        let altered = program.altered(seed);
        let plain = program.render(&Style::plain());
        let styled = altered.render(&Style::random(seed));
        let pair = Pair::new(&plain.text, &styled.text);
        let line = styled.marked.expect("the altered line");
        assert_eq!(
            pair.set.changes.len(),
            1,
            "seed {seed}: {:#?}",
            pair.set.changes
        );
        let change = &pair.set.changes[0];
        assert_eq!(
            lines_of(&pair.head, &change.head.modified),
            [line],
            "seed {seed}"
        );
        assert_eq!(
            lines_of(&pair.base, &change.base.modified),
            [plain.marked.expect("line")]
        );
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

#[derive(Clone)]
enum Statement {
    /// `sink(constant + variable)`; marked if it is the one to alter.
    Sink(u64, u64, bool),
    Assign(u64, u64, char, u64),
    If(u64, u64, Vec<Statement>, Vec<Statement>),
    Loop(u64, u64, Vec<Statement>),
    Call(u64, u64),
}

#[derive(Clone)]
struct Source {
    functions: Vec<Vec<Statement>>,
}

struct Rendered {
    text: String,
    marked: Option<u32>,
}

struct Style {
    name: &'static str,
    indent: usize,
    comments: bool,
    reversed: bool,
}

impl Style {
    fn plain() -> Style {
        Style {
            name: "v",
            indent: 2,
            comments: false,
            reversed: false,
        }
    }

    fn random(seed: u64) -> Style {
        Style {
            name: ["value", "x", "number_"][seed as usize % 3],
            indent: 1 + seed as usize % 7,
            comments: true,
            reversed: seed % 2 == 1,
        }
    }
}

impl Source {
    fn random(seed: u64) -> Source {
        let mut random = Random(seed.wrapping_mul(77) + 5);
        let count = 3 + random.below(3);
        let mut functions: Vec<Vec<Statement>> =
            (0..count).map(|n| statements(&mut random, n, 3)).collect();
        // One statement to alter, in any function.
        let place = random.below(count) as usize;
        functions[place].insert(0, Statement::Sink(random.below(90), 0, true));
        Source { functions }
    }

    fn altered(&self, seed: u64) -> Source {
        let mut altered = self.clone();
        for body in &mut altered.functions {
            if let Statement::Sink(constant, variable, true) = &mut body[0] {
                if seed.is_multiple_of(2) {
                    *constant += 100;
                } else {
                    *variable = 1;
                }
            }
        }
        altered
    }

    fn render(&self, style: &Style) -> Rendered {
        let mut out = Writer {
            style,
            text: String::new(),
            line: 1,
            marked: None,
            depth: 0,
        };
        out.line("void sink(int);");
        for n in 0..self.functions.len() {
            out.line(&format!(
                "static int function{n}(int {0}0, int {0}1);",
                style.name
            ));
        }
        let mut order: Vec<usize> = (0..self.functions.len()).collect();
        if style.reversed {
            order.reverse();
        }
        for n in order {
            let name = style.name;
            out.line(&format!(
                "static int function{n}(int {name}0, int {name}1) {{"
            ));
            out.line(&format!("int {name}2 = {name}0 ^ {name}1, {name}3 = 5;"));
            out.body(&self.functions[n]);
            out.line(&format!("return {name}2 + {name}3;"));
            out.line("}");
        }
        out.line("int main(int argc, char **argv) {");
        for n in 0..self.functions.len() {
            out.line(&format!("sink(function{n}(argc, {n}));"));
        }
        out.line("return 0;");
        out.line("}");
        Rendered {
            text: out.text,
            marked: out.marked,
        }
    }
}

fn statements(random: &mut Random, function: u64, depth: u32) -> Vec<Statement> {
    let count = 1 + random.below(4);
    (0..count)
        .map(|_| {
            let (a, b) = (random.below(4), random.below(4));
            match random.below(if depth == 0 { 3 } else { 5 }) {
                0 => Statement::Sink(random.below(90), a, false),
                1 => Statement::Assign(
                    a,
                    b,
                    ['+', '-', '*'][random.below(3) as usize],
                    random.below(9) + 1,
                ),
                2 if function > 0 => Statement::Call(random.below(function), a),
                2 => Statement::Sink(random.below(90), b, false),
                3 => {
                    let then = statements(random, function, depth - 1);
                    let otherwise = statements(random, function, depth - 1);
                    Statement::If(a, random.below(50), then, otherwise)
                }
                _ => Statement::Loop(
                    a,
                    2 + random.below(5),
                    statements(random, function, depth - 1),
                ),
            }
        })
        .collect()
}

struct Writer<'s> {
    style: &'s Style,
    text: String,
    line: u32,
    marked: Option<u32>,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        if self.style.comments && (self.line * 7).is_multiple_of(5) {
            self.text.push_str("/* a remark\n   of two lines */\n");
            self.line += 2;
        }
        let indent = self.style.indent * (1 + self.depth);
        let _ = writeln!(self.text, "{:indent$}{text}", "");
        self.line += 1;
    }

    fn body(&mut self, statements: &[Statement]) {
        let name = self.style.name;
        self.depth += 1;
        for statement in statements {
            match statement {
                Statement::Sink(constant, variable, marked) => {
                    self.line(&format!("sink({constant} + {name}{variable});"));
                    if *marked {
                        self.marked = Some(self.line - 1);
                    }
                }
                Statement::Assign(to, from, operation, constant) => {
                    self.line(&format!(
                        "{name}{to} = {name}{from} {operation} {constant};"
                    ));
                }
                Statement::If(variable, bound, then, otherwise) => {
                    self.line(&format!("if ({name}{variable} < {bound}) {{"));
                    self.body(then);
                    self.line("} else {");
                    self.body(otherwise);
                    self.line("}");
                }
                Statement::Loop(variable, bound, body) => {
                    let depth = self.depth;
                    self.line(&format!(
                        "for (int i{depth} = 0; i{depth} < {bound}; i{depth}++) {{"
                    ));
                    self.line(&format!("{name}{variable} += i{depth};"));
                    self.body(body);
                    self.line("}");
                }
                Statement::Call(function, variable) => {
                    self.line(&format!(
                        "{name}{variable} = function{function}({name}{variable}, 7);"
                    ));
                }
            }
        }
        self.depth -= 1;
    }
}
