//! Random programs that depend on their input: every node is true, and every flip is followed.

mod support;

use support::{Random, parallel, trace};

const PROGRAMS: u64 = 30;
const BYTES: usize = 12;

#[test]
fn random_input_dependent_programs_are_traced_truthfully_and_follow_every_flip() {
    let seeds: Vec<u64> = (1..=PROGRAMS).collect();
    let results = parallel(&seeds, |seed| check(*seed));
    let problems: Vec<&str> = results
        .iter()
        .filter_map(|result| result.as_ref().err().map(String::as_str))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let followed: u64 = results.iter().flatten().sum();
    assert!(
        followed > 5 * PROGRAMS,
        "only {followed} flips were followed"
    );
}

/// How many flips were followed, or what is wrong.
fn check(seed: u64) -> Result<u64, String> {
    let room = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let text = Program::new(&mut random).text();
    std::fs::write(room.path().join("p.c"), &text).unwrap();
    let input: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    std::fs::write(room.path().join("input"), &input).unwrap();
    let arguments = [
        "p.c",
        "--flag=-w",
        "--flag=-fwrapv",
        "--check",
        "--flips",
        "30",
        "--stdin",
        "input",
    ];
    let traced = trace(room.path(), &arguments);
    let wrong = traced.wrong();
    let failed = |what: &str| Err(format!("program {seed} on {input:?}: {what}\n{text}"));
    if !wrong.is_empty() {
        return failed(&wrong);
    }
    if !traced.list("losses").is_empty() {
        return failed(&format!("something was lost: {:?}", traced.list("losses")));
    }
    Ok(traced.check()["followed"].as_u64().unwrap())
}

const TYPES: &[&str] = &[
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "__int128",
    "unsigned __int128",
    "_Bool",
];
/// Operators that no operand makes undefined once both sides are unsigned and 64 bits wide.
const PLAIN: &[&str] = &["+", "-", "*", "&", "|", "^"];
const COMPARISONS: &[&str] = &["<", "<=", ">", ">=", "==", "!="];

/// A program made of random statements over variables of all widths.
struct Program<'a> {
    random: &'a mut Random,
    body: String,
    /// Types of the variables `v0`, `v1`, ….
    variables: Vec<&'static str>,
    depth: usize,
}

impl Program<'_> {
    fn new(random: &mut Random) -> Program<'_> {
        Program {
            random,
            body: String::new(),
            variables: Vec::new(),
            depth: 1,
        }
    }

    fn text(mut self) -> String {
        for _ in 0..self.random.below(4) + 3 {
            let kind = self.random.pick(TYPES);
            let start = self.expression(2);
            self.line(&format!(
                "{kind} v{} = ({kind})({start});",
                self.variables.len()
            ));
            self.variables.push(kind);
        }
        for _ in 0..self.random.below(5) + 5 {
            self.statement();
        }
        for number in 0..self.variables.len() {
            self.line(&format!("sum = sum * 31 + (uint64_t)v{number};"));
        }
        format!(
            "{PRELUDE}{}    printf(\"%llu\\n\", (unsigned long long)sum);\n    return (int)(sum & 63);\n}}\n",
            self.body
        )
    }

    fn line(&mut self, text: &str) {
        self.body += &"    ".repeat(self.depth);
        self.body += text;
        self.body += "\n";
    }

    fn statement(&mut self) {
        let nested = self.depth > 2;
        match self.random.below(if nested { 8 } else { 13 }) {
            0 | 1 => self.assignment(),
            2 => {
                // Copied as a whole, then one part read back.
                let value = self.expression(2);
                let part = self.random.pick(&["a", "b", "c", "d"]);
                let to = self.variable();
                self.line(&format!("{{ struct parts x = split({value}), y; y = x; y.b += 3; {to} += rejoin(y) + y.{part}; }}"));
            }
            3 => {
                let (index, to) = (self.expression(1), self.variable());
                let table = self.random.pick(&["bytes", "words", "longs"]);
                self.line(&format!("{to} ^= {table}[(uint64_t)({index}) & 15];"));
            }
            4 => {
                let (value, index) = (self.expression(1), self.random.below(16));
                let other = self.expression(1);
                let to = self.variable();
                self.line(&format!(
                    "local[{index}] = (uint8_t)({value}); {to} += local[(uint64_t)({other}) & 15];"
                ));
            }
            5 => {
                let values: Vec<String> = (0..3)
                    .map(|_| format!("(uint64_t)({})", self.expression(1)))
                    .collect();
                let to = self.variable();
                self.line(&format!("{to} += total(3, {});", values.join(", ")));
            }
            6 => {
                let to = self.variable();
                let call = self.string_call();
                self.line(&format!("{to} ^= {call};"));
            }
            7 => {
                let value = self.expression(2);
                let to = self.variable();
                let function = self.random.pick(&["twice", "mixed", "narrow"]);
                self.line(&format!("{to} = {function}((uint64_t)({value}));"));
            }
            8 | 9 => {
                let condition = self.condition();
                self.line(&format!("if ({condition}) {{"));
                self.block();
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block();
                }
                self.line("}");
            }
            10 => {
                let value = self.expression(2);
                self.line(&format!("switch ((uint64_t)({value}) & 7) {{"));
                let first = self.random.below(8);
                for number in 0..2 + self.random.below(3) {
                    self.line(&format!("case {}:", (first + number) % 8));
                    self.block();
                    if self.random.below(4) != 0 {
                        self.line("    break;");
                    }
                }
                self.line("default:");
                self.block();
                self.line("}");
            }
            11 => {
                let bound = self.expression(1);
                self.line(&format!(
                    "for (uint64_t i = 0, end = (uint64_t)({bound}) & 3; i < end; i++) {{"
                ));
                self.block();
                self.line("}");
            }
            _ => {
                let value = self.expression(1);
                let to = self.variable();
                self.line(&format!("{{ uint64_t n = (uint64_t)({value}) & 255; while (n > 200) {{ n -= 20; {to} += n; }} }}"));
            }
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.random.below(2) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn assignment(&mut self) {
        let to = self.variable();
        let value = self.expression(3);
        let operator = self.random.pick(&["=", "+=", "^=", "|=", "&=", "-="]);
        self.line(&format!("{to} {operator} {value};"));
    }

    fn variable(&mut self) -> String {
        format!("v{}", self.random.below(self.variables.len() as u64))
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.expression(2), self.expression(1));
        let kind = self.random.pick(TYPES);
        let comparison = self.random.pick(COMPARISONS);
        let simple = format!("({kind})({left}) {comparison} ({kind})({right})");
        match self.random.below(4) {
            0 => format!(
                "{simple} && in[{}] {comparison} {}",
                self.random.below(BYTES as u64),
                self.random.below(256)
            ),
            1 => format!(
                "{simple} || in[{}] == {}",
                self.random.below(BYTES as u64),
                self.random.below(256)
            ),
            _ => simple,
        }
    }

    fn string_call(&mut self) -> String {
        let at = self.random.below(BYTES as u64 - 4);
        let other = self.random.below(BYTES as u64 - 4);
        match self.random.below(6) {
            0 => format!("(memcmp(in + {at}, in + {other}, 3) > 0)"),
            1 => format!("(memchr(in + {at}, {}, 4) != 0)", self.random.below(256)),
            2 => format!("strlen(copied(in + {at}, 4))"),
            3 => format!("(strcmp(copied(in + {at}, 3), \"ab\") < 0)"),
            4 => format!("(strchr(copied(in + {at}, 4), 'x') != 0)"),
            _ => format!("(strncmp(copied(in + {at}, 4), \"abcd\", 2) == 0)"),
        }
    }

    /// An expression of type `uint64_t`, defined for all inputs.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let left = self.expression(depth - 1);
        let shallower = self.random.below(depth as u64) as usize;
        let right = self.expression(shallower);
        let kind = self.random.pick(TYPES);
        let number = self.random.below(64);
        let text = match self.random.below(14) {
            0..=4 => format!("{left} {} {right}", self.random.pick(PLAIN)),
            5 => format!("{left} {} ({right} & 63)", self.random.pick(&["<<", ">>"])),
            6 => format!(
                "(uint32_t)({left}) {} ({right} & 31)",
                self.random.pick(&["<<", ">>"])
            ),
            7 => format!("(int64_t)({left}) >> {number}"),
            8 => format!("{left} {} ({right} | 1)", self.random.pick(&["/", "%"])),
            // A signed divisor that is neither zero nor minus one.
            9 => format!(
                "(int32_t)({left}) {} ((int32_t)({right} & 1023) + 2)",
                self.random.pick(&["/", "%"])
            ),
            10 => format!("({kind})({left})"),
            11 => format!(
                "({} ? {left} : {right})",
                format_args!("(int16_t)({left}) < (int16_t)({right})")
            ),
            12 => format!(
                "((unsigned __int128)({left}) * ({right} | 1)) >> {}",
                self.random.below(100)
            ),
            _ => format!("~({left}) + !({right})"),
        };
        format!("(uint64_t)({text})")
    }

    fn leaf(&mut self) -> String {
        let at = self.random.below(BYTES as u64 - 8);
        match self.random.below(8) {
            0 | 1 => format!("(uint64_t)in[{}]", self.random.below(BYTES as u64)),
            2 => format!("wide16(in + {at})"),
            3 => format!("wide32(in + {at})"),
            4 => format!("wide64(in + {})", at.min(BYTES as u64 - 8)),
            5 if !self.variables.is_empty() => format!("(uint64_t){}", self.variable()),
            6 => format!("{}ull", self.random.below(1 << 9)),
            _ => format!(
                "(uint64_t)(signed char)in[{}]",
                self.random.below(BYTES as u64)
            ),
        }
    }
}

const PRELUDE: &str = r#"#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct parts { uint8_t a; uint16_t b; uint32_t c; uint8_t d; };

static const uint8_t bytes[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static const uint16_t words[16] = {2, 71, 828, 18, 284, 590, 4523, 5360, 2874, 7135, 2662, 4977, 5724, 7093, 6999, 5957};
static const uint64_t longs[16] = {1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 1ull << 63, ~0ull, 7, 77, 777, 7777, 77777};
static unsigned char in[16];
static uint8_t local[16];
static char text[16];

static uint64_t wide16(const unsigned char *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
static uint64_t wide32(const unsigned char *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static uint64_t wide64(const unsigned char *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }
static uint64_t twice(uint64_t x) { return x > 1000 ? x / 2 : x * 2; }
static uint64_t mixed(uint64_t x) { return (x ^ x >> 7) * 0x9e3779b97f4a7c15ull; }
static int8_t narrow(uint64_t x) { return (int8_t)(x >> 3); }

static struct parts split(uint64_t x)
{
    struct parts p = {(uint8_t)x, (uint16_t)(x >> 8), (uint32_t)(x >> 24), (uint8_t)(x >> 56)};
    return p;
}

static uint64_t rejoin(struct parts p) { return p.a | (uint64_t)p.b << 8 | (uint64_t)p.c << 24 | (uint64_t)p.d << 56; }

static uint64_t total(int count, ...)
{
    va_list list;
    uint64_t sum = 0;
    va_start(list, count);
    while (count--)
        sum = sum * 3 + va_arg(list, uint64_t);
    va_end(list);
    return sum;
}

static const char *copied(const unsigned char *from, size_t length)
{
    memcpy(text, from, length);
    text[length] = '\0';
    return text;
}

int main(void)
{
    uint64_t sum = 0;
    if (fread(in, 1, 12, stdin) != 12)
        return 99;
"#;
