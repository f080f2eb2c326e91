//! Definitions and uses of memory: which stores a load can see.
//!
//! What instructions touch is known from the pointers; what calls touch, from
//! summaries. Ways through a function are followed when they are asked for,
//! since the table of all of them would be too large.

use std::collections::{HashMap, HashSet};

use changeling_program::{BlockId, FunctionId, Program, Site};

use crate::access::{Access, Reader};
use crate::bits::Bits;
use crate::calls::Calls;
use crate::graph::{Graph, Node};
use crate::pointers::{Cell, Origin, Pointers};

pub struct Memory {
    cells: Vec<Cell>,
    number: HashMap<Cell, u32>,
    /// By site: position in `kinds` plus 1; 0 for what touches no memory.
    accesses: Vec<u32>,
    /// Different accesses, with the same cells as sets of their numbers.
    kinds: Vec<(Access, Touched)>,
    /// Per function: cells it or what it calls may write, and may read.
    writes: Vec<Bits>,
    reads: Vec<Bits>,
    /// Per function: its own variables, which are gone when it has returned.
    own: Vec<Bits>,
    /// Per function: where its unnamed arguments lie.
    unnamed: HashMap<FunctionId, Bits>,
    /// Memory accesses, calls of defined functions and of what may not come back, and where jumps go on; ascending.
    events: Vec<Site>,
    /// Per block, where its part of `events` starts; one more at the end.
    starts: Vec<u32>,
    predecessors: Vec<Vec<BlockId>>,
}

/// Cells by number.
pub(crate) struct Touched {
    pub reads: Bits,
    pub writes: Bits,
    pub replaced: Option<u32>,
    /// Code outside of the program may look at what is written, or something of the program that it calls.
    pub shown: bool,
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
        let mut memory = Memory {
            cells: pointers.all_cells(),
            number: HashMap::new(),
            accesses: vec![0; program.instructions.len()],
            kinds: Vec::new(),
            writes: Vec::new(),
            reads: Vec::new(),
            own: Vec::new(),
            unnamed: HashMap::new(),
            events: Vec::new(),
            starts: Vec::with_capacity(program.blocks.len() + 1),
            predecessors: vec![Vec::new(); program.blocks.len()],
        };
        memory.read(program, pointers, calls);
        memory.join_alike(program, pointers);
        memory.summarise(program, pointers, calls);
        memory.show(calls);
        memory
    }

    fn read(&mut self, program: &Program, pointers: &Pointers, calls: &Calls) {
        let mut reader = Reader::new(program, pointers);
        let mut known: HashMap<Access, u32> = HashMap::new();
        for block in (0..program.blocks.len()).map(BlockId::new) {
            self.starts.push(self.events.len() as u32);
            for next in program.successors(block) {
                self.predecessors[next.index()].push(block);
            }
            for site in program.block(block).sites() {
                let access = reader.access(site);
                let calls_defined = calls
                    .callees(site)
                    .any(|callee| program.function(callee).is_defined());
                let touches = !access.reads.is_empty() || !access.writes.is_empty();
                let passes = || calls.setjmps.contains(&site) || calls.may_pass_by(program, site);
                if touches || calls_defined || passes() {
                    self.events.push(site);
                }
                if touches {
                    let next = known.len() as u32 + 1;
                    self.accesses[site.index()] = *known.entry(access).or_insert(next);
                }
            }
        }
        self.starts.push(self.events.len() as u32);
        let mut kinds: Vec<(Access, u32)> = known.into_iter().collect();
        kinds.sort_unstable_by_key(|&(_, n)| n);
        let shared = |cell: &Cell| pointers.is_shared(*cell);
        let kinds = kinds.into_iter().map(|(access, _)| {
            let touched = Touched {
                reads: Bits::default(),
                writes: Bits::default(),
                replaced: None,
                shown: access.writes.iter().any(shared),
            };
            (access, touched)
        });
        self.kinds = kinds.collect();
    }

    /// Cells that are always touched together are as good as one: of each such
    /// group only the first stays. Pointers that may point to almost anything
    /// would otherwise make everything that follows many times slower.
    fn join_alike(&mut self, program: &Program, pointers: &Pointers) {
        let position = |cells: &[Cell], cell: &Cell| cells.binary_search(cell).ok();
        let mut signatures: Vec<u64> = self
            .cells
            .iter()
            .map(|&cell| match pointers.describe(cell).0 {
                Origin::Stack(site) => mixed(program.function_of(site).0.into()),
                Origin::Variadic(function) => mixed(1 << 41 | u64::from(function.0)),
                _ => 0,
            })
            .collect();
        for (kind, (access, _)) in self.kinds.iter().enumerate() {
            for (side, list) in [&access.reads, &access.writes].into_iter().enumerate() {
                let key = mixed(1 << 40 | (kind as u64) << 1 | side as u64);
                for cell in list.iter() {
                    if let Some(at) = position(&self.cells, cell) {
                        signatures[at] = signatures[at].wrapping_add(key);
                    }
                }
            }
        }
        let mut first: HashMap<u64, Cell> = HashMap::new();
        self.cells = self
            .cells
            .iter()
            .zip(&signatures)
            .filter(|&(&cell, &signature)| *first.entry(signature).or_insert(cell) == cell)
            .map(|(&cell, _)| cell)
            .collect();
        self.number = (0..).zip(&self.cells).map(|(n, &cell)| (cell, n)).collect();
        let number = &self.number;
        for (access, touched) in &mut self.kinds {
            access.reads.retain(|cell| number.contains_key(cell));
            access.writes.retain(|cell| number.contains_key(cell));
            touched.reads = access.reads.iter().map(|cell| number[cell]).collect();
            touched.writes = access.writes.iter().map(|cell| number[cell]).collect();
            touched.replaced = match access.writes[..] {
                [cell] if access.replaces => Some(number[&cell]),
                _ => None,
            };
        }
    }

    /// What callees touch, callers touch, but for the callees' own variables.
    fn summarise(&mut self, program: &Program, pointers: &Pointers, calls: &Calls) {
        let count = program.functions.len();
        self.reads = vec![Bits::default(); count];
        self.writes = vec![Bits::default(); count];
        self.own = vec![Bits::default(); count];
        for site in program.sites() {
            if let Some(kind) = self.accesses[site.index()].checked_sub(1) {
                let touched = &self.kinds[kind as usize].1;
                let function = program.function_of(site).index();
                self.reads[function].join(&touched.reads);
                self.writes[function].join(&touched.writes);
            }
        }
        let recursive = recursive(program, calls);
        for (n, &cell) in self.cells.iter().enumerate() {
            match pointers.describe(cell).0 {
                Origin::Stack(site) => {
                    let function = program.function_of(site).index();
                    // What a pointer of an inner activation leads to may belong to
                    // an outer one, which goes on.
                    if !recursive[function] {
                        self.own[function].set(n as u32);
                    }
                }
                Origin::Variadic(function) => {
                    self.unnamed.entry(function).or_default().set(n as u32);
                }
                _ => {}
            }
        }
        let mut work: Vec<FunctionId> = program.definitions().collect();
        let mut queued = vec![true; count];
        while let Some(callee) = work.pop() {
            queued[callee.index()] = false;
            let own = &self.own[callee.index()];
            let (writes, reads) = (
                self.writes[callee.index()].without(own),
                self.reads[callee.index()].without(own),
            );
            for site in calls.callers(callee) {
                let caller = program.function_of(site).index();
                let grown = self.writes[caller].join(&writes) | self.reads[caller].join(&reads);
                if grown && !std::mem::replace(&mut queued[caller], true) {
                    work.push(FunctionId::new(caller));
                }
            }
        }
    }

    /// What code outside of the program calls, it may call at any time.
    fn show(&mut self, calls: &Calls) {
        let mut read = Bits::default();
        for id in &calls.loose {
            read.join(&self.reads[id.index()]);
        }
        for (_, touched) in &mut self.kinds {
            touched.shown |= touched.writes.meets(&read);
        }
    }

    /// Whether what the store writes may be looked at where nothing of the program leads to it from here.
    pub fn is_shown(&self, store: Site) -> bool {
        self.kind(store).is_none_or(|(_, touched)| touched.shown)
    }

    /// What the instruction itself touches; nothing for calls of defined functions.
    pub fn access(&self, site: Site) -> Option<&Access> {
        self.kind(site).map(|(access, _)| access)
    }

    /// The same by numbers of cells.
    pub(crate) fn touched(&self, site: Site) -> Option<&Touched> {
        self.kind(site).map(|(_, touched)| touched)
    }

    fn kind(&self, site: Site) -> Option<&(Access, Touched)> {
        let kind = self.accesses[site.index()].checked_sub(1)?;
        self.kinds.get(kind as usize)
    }

    /// Memory accesses, calls of defined functions and of what may not come back, and calls of `setjmp` in the block, in
    /// order.
    pub(crate) fn events(&self, block: BlockId) -> &[Site] {
        let [from, to] = [0, 1].map(|n| self.starts[block.index() + n] as usize);
        &self.events[from..to]
    }

    pub(crate) fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block.index()]
    }

    /// Cells that the function or what it calls may read, and may write.
    pub(crate) fn summary(&self, function: FunctionId) -> (&Bits, &Bits) {
        (
            &self.reads[function.index()],
            &self.writes[function.index()],
        )
    }

    /// Where callers of the function put arguments that it has no names for.
    pub(crate) fn unnamed(&self, function: FunctionId) -> Option<&Bits> {
        self.unnamed.get(&function)
    }

    /// Variables of the function that are gone when it has returned.
    pub(crate) fn own(&self, function: FunctionId) -> &Bits {
        &self.own[function.index()]
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
            let previous = self.predecessors(block);
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
        let own = program.function(function).blocks();
        for &site in own.flat_map(|block| self.events(block)) {
            let block = program.instruction(site).block;
            let has = |list: &[Cell]| list.binary_search(&cell).is_ok();
            if let Some(access) = self.access(site) {
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

/// Functions that can be active more than once at a time.
fn recursive(program: &Program, calls: &Calls) -> Vec<bool> {
    let edges = calls.edges().iter();
    let edges: Vec<(Node, Node)> = edges
        .map(|&(site, callee)| (Node(program.function_of(site).0), Node(callee.0)))
        .collect();
    let graph = Graph::new(program.functions.len(), &edges);
    let components = graph.components();
    let mut recursive = vec![false; program.functions.len()];
    for (from, to) in edges {
        if components.of[from.index()] == components.of[to.index()] {
            recursive[from.index()] = true;
            recursive[to.index()] = true;
        }
    }
    recursive
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
