//! Definitions and uses of memory: which stores a load can see.
//!
//! What instructions touch is known from the pointers; what calls touch, from
//! summaries. Ways through a function are followed when they are asked for, one
//! cell at a time, since the table of all of them would be too large.

use std::collections::{HashMap, HashSet};

use changeling_program::{BlockId, Callee, FunctionId, Operation, Program, Site, Value};

use crate::calls::Calls;
use crate::library::{self, Writes};
use crate::pointers::{Cell, Origin, Pointers};

pub struct Memory {
    cells: Vec<Cell>,
    number: HashMap<Cell, u32>,
    /// By site: what instructions other than calls of defined functions touch.
    accesses: HashMap<Site, Access>,
    /// Per function: cells it or what it calls may write, and may read.
    writes: Vec<Bits>,
    reads: Vec<Bits>,
    /// Per function: its memory accesses and calls, in order.
    events: Vec<Vec<Site>>,
    predecessors: HashMap<BlockId, Vec<BlockId>>,
}

/// Cells touched; sorted.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub reads: Vec<Cell>,
    pub writes: Vec<Cell>,
    /// The write replaces all the cell held.
    pub replaces: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    fn has(&self, n: u32) -> bool {
        self.0[n as usize / 64] >> (n % 64) & 1 == 1
    }

    fn set(&mut self, n: u32) {
        self.0[n as usize / 64] |= 1 << (n % 64);
    }

    /// Adds the other's bits but for `without`.
    fn join(&mut self, other: &Bits, without: &Bits) -> bool {
        let mut grown = false;
        for ((own, other), without) in self.0.iter_mut().zip(&other.0).zip(&without.0) {
            let new = *own | (other & !without);
            grown |= new != *own;
            *own = new;
        }
        grown
    }
}

/// Where a definition gets to inside a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Instructions that read it.
    pub uses: Vec<Site>,
    /// Calls of defined functions that may read it.
    pub calls: Vec<Site>,
    /// It may still be there when the function is left.
    pub leaves: bool,
}

/// What a use inside a function can see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Instructions that wrote it.
    pub definitions: Vec<Site>,
    /// Calls of defined functions that may have written it.
    pub calls: Vec<Site>,
    /// It may have been there when the function was entered.
    pub enters: bool,
}

impl Memory {
    pub fn new(program: &Program, pointers: &Pointers, calls: &Calls) -> Memory {
        let cells = pointers.all_cells();
        let number: HashMap<Cell, u32> = cells
            .iter()
            .enumerate()
            .map(|(n, &cell)| (cell, n as u32))
            .collect();
        let count = program.functions.len();
        let mut memory = Memory {
            writes: Vec::new(),
            reads: Vec::new(),
            cells,
            number,
            accesses: HashMap::new(),
            events: vec![Vec::new(); count],
            predecessors: HashMap::new(),
        };
        for function in program.definitions() {
            memory.read_function(program, pointers, calls, function);
        }
        memory.join_alike(program, pointers);
        memory.summarise(program, pointers, calls);
        memory
    }

    fn read_function(
        &mut self,
        program: &Program,
        pointers: &Pointers,
        calls: &Calls,
        id: FunctionId,
    ) {
        for block in program.function(id).blocks() {
            for next in program.successors(block) {
                self.predecessors.entry(next).or_default().push(block);
            }
        }
        for site in program.function(id).sites() {
            let access = access(program, pointers, id, site);
            let calls_defined = calls
                .callees(site)
                .any(|callee| program.function(callee).is_defined());
            let touches = !access.reads.is_empty() || !access.writes.is_empty();
            if touches || calls_defined {
                self.events[id.index()].push(site);
            }
            if touches {
                self.accesses.insert(site, access);
            }
        }
    }

    /// Cells that are always touched together are as good as one: of each such
    /// group only the first stays. Pointers that may point to almost anything
    /// would otherwise make everything that follows many times slower.
    fn join_alike(&mut self, program: &Program, pointers: &Pointers) {
        let mut signatures: Vec<u64> = self
            .cells
            .iter()
            .map(|&cell| match pointers.describe(cell).0 {
                Origin::Stack(site) => mixed(program.function_of(site).0.into()),
                _ => 0,
            })
            .collect();
        for (site, access) in &self.accesses {
            for (side, list) in [&access.reads, &access.writes].into_iter().enumerate() {
                let key = mixed(1 << 40 | u64::from(site.0) << 1 | side as u64);
                for cell in list {
                    let signature = &mut signatures[self.number[cell] as usize];
                    *signature = signature.wrapping_add(key);
                }
            }
        }
        let mut first: HashMap<u64, Cell> = HashMap::new();
        let stays: Vec<bool> = self
            .cells
            .iter()
            .zip(&signatures)
            .map(|(&cell, &signature)| *first.entry(signature).or_insert(cell) == cell)
            .collect();
        let number = &self.number;
        for access in self.accesses.values_mut() {
            access.reads.retain(|cell| stays[number[cell] as usize]);
            access.writes.retain(|cell| stays[number[cell] as usize]);
        }
        self.cells = self
            .cells
            .iter()
            .zip(&stays)
            .filter(|(_, stays)| **stays)
            .map(|(&cell, _)| cell)
            .collect();
        self.number = self
            .cells
            .iter()
            .enumerate()
            .map(|(n, &cell)| (cell, n as u32))
            .collect();
        let count = self.cells.len();
        self.reads = vec![Bits::new(count); program.functions.len()];
        self.writes = vec![Bits::new(count); program.functions.len()];
        for (&site, access) in &self.accesses {
            let function = program.function_of(site).index();
            access
                .reads
                .iter()
                .for_each(|cell| self.reads[function].set(self.number[cell]));
            access
                .writes
                .iter()
                .for_each(|cell| self.writes[function].set(self.number[cell]));
        }
    }

    /// What callees touch, callers touch, but for the callees' own variables.
    fn summarise(&mut self, program: &Program, pointers: &Pointers, calls: &Calls) {
        let mut own = vec![Bits::new(self.cells.len()); program.functions.len()];
        for (n, &cell) in self.cells.iter().enumerate() {
            if let (Origin::Stack(site), _) = pointers.describe(cell) {
                own[program.function_of(site).index()].set(n as u32);
            }
        }
        let mut work: Vec<FunctionId> = program.definitions().collect();
        let mut queued = vec![true; program.functions.len()];
        while let Some(callee) = work.pop() {
            queued[callee.index()] = false;
            let callers: Vec<FunctionId> = calls
                .callers(callee)
                .map(|site| program.function_of(site))
                .collect();
            for caller in callers {
                if caller == callee {
                    continue;
                }
                let without = &own[callee.index()];
                let (writes, reads) = (
                    self.writes[callee.index()].clone(),
                    self.reads[callee.index()].clone(),
                );
                let grown = self.writes[caller.index()].join(&writes, without)
                    | self.reads[caller.index()].join(&reads, without);
                if grown && !std::mem::replace(&mut queued[caller.index()], true) {
                    work.push(caller);
                }
            }
        }
    }

    /// What the instruction itself touches; nothing for calls of defined functions.
    pub fn access(&self, site: Site) -> Option<&Access> {
        self.accesses.get(&site)
    }

    pub fn may_write(&self, function: FunctionId, cell: Cell) -> bool {
        self.writes[function.index()].has(self.number[&cell])
    }

    pub fn may_read(&self, function: FunctionId, cell: Cell) -> bool {
        self.reads[function.index()].has(self.number[&cell])
    }

    /// Cells that the function or what it calls may write.
    pub fn written(&self, function: FunctionId) -> Vec<Cell> {
        let bits = &self.writes[function.index()];
        self.cells
            .iter()
            .enumerate()
            .filter(|&(n, _)| bits.has(n as u32))
            .map(|(_, &cell)| cell)
            .collect()
    }

    /// What a search needs to know about a cell in a function. Used again, it
    /// leaves out what earlier questions have already found.
    pub fn trail(
        &self,
        program: &Program,
        calls: &Calls,
        function: FunctionId,
        cell: Cell,
    ) -> Trail {
        let events = self.events_of(program, calls, function, cell);
        Trail {
            function,
            events,
            seen: HashSet::new(),
        }
    }

    /// Where the cell's contents get to from just behind `from`, or from the
    /// function's entry.
    pub fn spread(&self, program: &Program, trail: &mut Trail, from: Option<Site>) -> Spread {
        let Trail {
            function,
            events,
            seen,
        } = trail;
        let mut spread = Spread::default();
        let entry = program.function(*function).first_block;
        let mut work: Vec<(BlockId, Option<Site>)> = vec![match from {
            Some(site) => (program.instruction(site).block, Some(site)),
            None => (entry, None),
        }];
        while let Some((block, after)) = work.pop() {
            if after.is_none() && !seen.insert(block) {
                continue;
            }
            let own = events.get(&block).map_or(&[][..], Vec::as_slice);
            let own = own
                .iter()
                .filter(|event| after.is_none_or(|after| event.site > after));
            let mut replaced = false;
            for event in own {
                if event.reads {
                    let list = if event.call {
                        &mut spread.calls
                    } else {
                        &mut spread.uses
                    };
                    list.push(event.site);
                }
                if event.replaces {
                    replaced = true;
                    break;
                }
            }
            if replaced {
                continue;
            }
            let next = program.successors(block);
            spread.leaves |= next.is_empty();
            work.extend(next.into_iter().map(|block| (block, None)));
        }
        spread.uses.sort_unstable();
        spread.uses.dedup();
        spread.calls.sort_unstable();
        spread.calls.dedup();
        spread
    }

    /// What the cell can hold just before `before`, or when the function returns.
    pub fn sources(&self, program: &Program, trail: &mut Trail, before: Option<Site>) -> Sources {
        let Trail {
            function,
            events,
            seen,
        } = trail;
        let mut sources = Sources::default();
        let entry = program.function(*function).first_block;
        let mut work: Vec<(BlockId, Option<Site>)> = match before {
            Some(site) => vec![(program.instruction(site).block, Some(site))],
            None => {
                let exits = program
                    .function(*function)
                    .blocks()
                    .filter(|&b| program.successors(b).is_empty());
                exits.map(|block| (block, None)).collect()
            }
        };
        while let Some((block, before)) = work.pop() {
            if before.is_none() && !seen.insert(block) {
                continue;
            }
            let own = events.get(&block).map_or(&[][..], Vec::as_slice);
            let own = own
                .iter()
                .rev()
                .filter(|event| before.is_none_or(|before| event.site < before));
            let mut replaced = false;
            for event in own {
                if event.writes {
                    let list = if event.call {
                        &mut sources.calls
                    } else {
                        &mut sources.definitions
                    };
                    list.push(event.site);
                }
                if event.replaces {
                    replaced = true;
                    break;
                }
            }
            if replaced {
                continue;
            }
            sources.enters |= block == entry;
            let previous = self.predecessors.get(&block).map_or(&[][..], Vec::as_slice);
            work.extend(previous.iter().map(|&block| (block, None)));
        }
        sources.definitions.sort_unstable();
        sources.definitions.dedup();
        sources.calls.sort_unstable();
        sources.calls.dedup();
        sources
    }

    fn events_of(
        &self,
        program: &Program,
        calls: &Calls,
        function: FunctionId,
        cell: Cell,
    ) -> HashMap<BlockId, Vec<Event>> {
        let mut events: HashMap<BlockId, Vec<Event>> = HashMap::new();
        for &site in &self.events[function.index()] {
            let block = program.instruction(site).block;
            let has = |list: &[Cell]| list.binary_search(&cell).is_ok();
            if let Some(access) = self.accesses.get(&site) {
                let (reads, writes) = (has(&access.reads), has(&access.writes));
                if reads || writes {
                    let replaces = writes && access.replaces;
                    events.entry(block).or_default().push(Event {
                        site,
                        reads,
                        writes,
                        replaces,
                        call: false,
                    });
                }
            }
            let defined = || {
                calls
                    .callees(site)
                    .filter(|&callee| program.function(callee).is_defined())
            };
            let reads = defined().any(|callee| self.may_read(callee, cell));
            let writes = defined().any(|callee| self.may_write(callee, cell));
            if reads || writes {
                events.entry(block).or_default().push(Event {
                    site,
                    reads,
                    writes,
                    replaces: false,
                    call: true,
                });
            }
        }
        events
    }
}

/// A number spread over all bits, so that sums tell sets apart.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (n ^ (n >> 31)).wrapping_add(0x9e37_79b9_7f4a_7c15)
}

/// One cell in one function, as far as it was followed.
pub struct Trail {
    function: FunctionId,
    events: HashMap<BlockId, Vec<Event>>,
    seen: HashSet<BlockId>,
}

struct Event {
    site: Site,
    reads: bool,
    writes: bool,
    replaces: bool,
    call: bool,
}

fn access(program: &Program, pointers: &Pointers, function: FunctionId, site: Site) -> Access {
    let instruction = program.instruction(site);
    let size = |ty| program.ty(ty).size.unwrap_or(1);
    let operand = |n: usize| instruction.operands[n];
    match &instruction.operation {
        Operation::Load(_) => Access {
            reads: pointers.cells(function, operand(0), size(instruction.ty)),
            ..Access::default()
        },
        Operation::Store(_) => {
            let bytes = program.type_of(function, operand(0)).map_or(1, size);
            let writes = pointers.cells(function, operand(1), bytes);
            let replaces = matches!(writes[..], [cell] if pointers.is_single(cell, bytes, program));
            Access {
                writes,
                replaces,
                ..Access::default()
            }
        }
        Operation::AtomicUpdate { .. } | Operation::CompareExchange => {
            let cells = pointers.cells(function, operand(0), 16);
            Access {
                reads: cells.clone(),
                writes: cells,
                replaces: false,
            }
        }
        Operation::VariadicArgument => {
            let cells = pointers.whole_objects(function, operand(0));
            Access {
                reads: cells.clone(),
                writes: cells,
                replaces: false,
            }
        }
        Operation::Call(call) => {
            let external = match &call.callee {
                Callee::Direct(callee) => {
                    let callee = program.function(*callee);
                    (!callee.is_defined()).then(|| library::writes(&callee.symbol))
                }
                Callee::Indirect(_) => pointers
                    .callees(site)
                    .next()
                    .is_none()
                    .then_some(Writes::Anything),
                Callee::Assembly(_) => Some(Writes::Anything),
            };
            external.map_or_else(Access::default, |writes| {
                external_access(pointers, function, &instruction.operands, writes)
            })
        }
        _ => Access::default(),
    }
}

fn external_access(
    pointers: &Pointers,
    function: FunctionId,
    operands: &[Value],
    writes: Writes,
) -> Access {
    let mut access = Access::default();
    for (n, &operand) in operands.iter().enumerate() {
        // Formats and strings are read whole; what they lead to is not followed
        // unless the function is one nothing is known about.
        let cells = match writes {
            Writes::Anything => pointers.reachable(function, operand),
            _ => pointers.whole_objects(function, operand),
        };
        let written = match writes {
            Writes::Nothing => false,
            Writes::First => n == 0,
            Writes::Anything => true,
        };
        if written {
            access.writes.extend(&cells);
        }
        access.reads.extend(cells);
    }
    access.reads.sort_unstable();
    access.reads.dedup();
    access.writes.sort_unstable();
    access.writes.dedup();
    access
}
