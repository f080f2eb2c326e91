//! Numbers for program points, and the table that explains them.

use crate::calls::{Callee, callee_of};
use crate::ir::{Block, Ir, Opcode, Value, Written};
use changeling_trace::sites::{self, FunctionName, Site, SiteTable};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Gives every instruction of these functions the next number. Called on the
/// prepared bitcode, before any pass of ours changes it.
pub fn number_instructions(ir: Ir, functions: &[Value], first: u32) -> u32 {
    let mut next = first;
    for function in functions {
        for block in function.blocks() {
            for instruction in block.instructions() {
                ir.set_number(instruction, next);
                next += 1;
            }
        }
    }
    next
}

/// Which call a copy of a function stands for, after functions were put in place of their calls.
pub struct Copies(HashMap<Written, u32>);

impl Copies {
    /// Reads the calls before that is done.
    pub fn read(ir: Ir, functions: &[Value]) -> Copies {
        let mut calls = HashMap::new();
        let blocks = functions.iter().flat_map(|function| function.blocks());
        for instruction in blocks.flat_map(|block| block.instructions()) {
            let is_call = instruction.is_call();
            if let (true, (Some(place), _), Some(number)) =
                (is_call, instruction.written_at(), ir.number(instruction))
            {
                // Of two calls in one place it cannot be told which one it was.
                let known = calls.entry(place).or_insert(number);
                *known = if *known == number { number } else { 0 };
            }
        }
        Copies(calls)
    }

    /// The site of the call that an instruction's copy stands for, else 0.
    pub fn call_of(&self, instruction: Value) -> u32 {
        let (_, call) = instruction.written_at();
        call.and_then(|call| self.0.get(&call).copied())
            .unwrap_or(0)
    }
}

/// Numbers of the instructions and blocks as they are when tracing code is added.
pub struct Numbering {
    sites: HashMap<Value, u32>,
    blocks: HashMap<Block, u32>,
    order: Vec<(Value, Block)>,
}

impl Numbering {
    pub fn read(ir: Ir, functions: &[Value]) -> Numbering {
        let mut numbering = Numbering {
            sites: HashMap::new(),
            blocks: HashMap::new(),
            order: Vec::new(),
        };
        for &function in functions {
            for block in function.blocks() {
                numbering.blocks.insert(block, numbering.order.len() as u32);
                numbering.order.push((function, block));
                let mut last = 0;
                for instruction in block.instructions() {
                    // What a pass has made stands for what it replaced: the
                    // nearest numbered instruction before it.
                    last = ir.number(instruction).unwrap_or(last);
                    numbering.sites.insert(instruction, last);
                }
            }
        }
        numbering
    }

    pub fn site(&self, instruction: Value) -> u32 {
        self.sites.get(&instruction).copied().unwrap_or(0)
    }

    pub fn block(&self, block: Block) -> Option<u32> {
        self.blocks.get(&block).copied()
    }

    pub fn block_count(&self) -> usize {
        self.order.len()
    }

    pub fn table(&self, functions: &[Value], models: &HashSet<Value>) -> SiteTable {
        let mut builder = TableBuilder::default();
        let places: HashMap<Value, u32> = functions
            .iter()
            .enumerate()
            .map(|(index, function)| (*function, index as u32))
            .collect();
        let mut sites = BTreeMap::new();
        let mut blocks = Vec::new();
        let edges = self.edges();
        for (function, block) in &self.order {
            let mut lines = Vec::new();
            let mut first = 0;
            for instruction in block.instructions() {
                let number = self.site(instruction);
                let location = instruction.location();
                let (file, line, column) = builder.place(location);
                if first == 0 {
                    first = number;
                }
                if line != 0 && !lines.contains(&(file, line)) {
                    lines.push((file, line));
                }
                if number != 0 {
                    sites.entry(number).or_insert_with(|| Site {
                        number,
                        function: places[function],
                        file,
                        line,
                        column,
                        callee: callee_name(instruction),
                        cases: self.cases(instruction),
                    });
                }
            }
            blocks.push(sites::Block {
                function: places[function],
                site: first,
                lines,
                edge: edges.get(block).copied(),
                branch: self.branch(*block),
            });
        }
        SiteTable {
            format: sites::FORMAT,
            files: builder.files,
            functions: functions
                .iter()
                .map(|function| {
                    let symbol = function.name();
                    FunctionName {
                        name: demangled(&symbol),
                        symbol,
                        model: models.contains(function),
                    }
                })
                .collect(),
            sites: sites.into_values().collect(),
            blocks,
        }
    }

    /// The site of what a block ends in, if that is a branch with several ways to go on.
    fn branch(&self, block: Block) -> u32 {
        let end = block.terminator().filter(|end| {
            let decides = matches!(end.opcode(), Opcode::LLVMBr | Opcode::LLVMSwitch);
            decides && block.successors().len() > 1
        });
        end.map_or(0, |end| self.site(end))
    }

    /// Blocks without any numbered instruction were put on an edge: which one it is.
    fn edges(&self) -> HashMap<Block, (u32, u32)> {
        let numbered = |block: Block| {
            let mut own = block.instructions().into_iter();
            own.any(|instruction| self.site(instruction) != 0)
        };
        let mut edges = HashMap::new();
        for (_, block) in &self.order {
            let Some(end) = block.terminator() else {
                continue;
            };
            let targets = block.successors();
            if targets.len() < 2 || self.site(end) == 0 {
                continue;
            }
            for (at, target) in targets.iter().enumerate() {
                // A switch lists its default first.
                let side = match (end.opcode(), at) {
                    (Opcode::LLVMSwitch, 0) => targets.len() - 1,
                    (Opcode::LLVMSwitch, at) => at - 1,
                    (_, at) => at,
                };
                if !numbered(*target) {
                    let edge = (self.site(end), side as u32);
                    edges.entry(*target).or_insert(edge);
                }
            }
        }
        edges
    }

    fn cases(&self, instruction: Value) -> Vec<(Option<u64>, u32)> {
        if instruction.opcode() != Opcode::LLVMSwitch {
            return Vec::new();
        }
        let number = |block: Block| self.block(block).unwrap_or(0);
        let mut cases: Vec<(Option<u64>, u32)> = instruction
            .switch_cases()
            .into_iter()
            .filter_map(|(value, block)| Some((Some(value.constant_value()?), number(block))))
            .collect();
        cases.push((None, number(instruction.successor(0))));
        cases
    }
}

#[derive(Default)]
struct TableBuilder {
    files: Vec<String>,
    known: HashMap<String, u32>,
}

impl TableBuilder {
    fn place(&mut self, location: Option<(String, u32, u32)>) -> (u32, u32, u32) {
        let (name, line, column) = location.unwrap_or_default();
        let file = *self.known.entry(name.clone()).or_insert_with(|| {
            self.files.push(name);
            self.files.len() as u32 - 1
        });
        (file, line, column)
    }
}

fn callee_name(instruction: Value) -> String {
    if !instruction.is_call() {
        return String::new();
    }
    match callee_of(instruction) {
        Callee::Traced(target) | Callee::Glue(target) | Callee::External(target) => {
            let symbol = target.name();
            let symbol = symbol.strip_prefix("__model_").unwrap_or(&symbol);
            demangled(symbol.strip_prefix("__chg_").unwrap_or(symbol))
        }
        Callee::Intrinsic(name) => name,
        Callee::Indirect(_) => "(indirect call)".into(),
        Callee::Assembler(_) => "(inline assembler)".into(),
    }
}

/// The name as it is written in the source.
pub fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let cpp = cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|name| name.demangle().ok());
    cpp.unwrap_or_else(|| symbol.to_string())
}
