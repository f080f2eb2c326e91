//! Which cells of memory single instructions touch.

use std::collections::HashMap;
use std::rc::Rc;

use changeling_program::{Callee, FunctionId, Operation, Program, Site, Value};

use crate::library::{self, Writes};
use crate::pointers::{Cell, Pointers, TargetsId};

/// Cells touched; sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    pub reads: Vec<Cell>,
    pub writes: Vec<Cell>,
    /// The write replaces all the cell held.
    pub replaces: bool,
}

/// Tells accesses; remembers what lies behind pointers, since many point to the
/// same.
pub struct Reader<'p> {
    program: &'p Program,
    pointers: &'p Pointers,
    known: HashMap<(TargetsId, Reach), Rc<[Cell]>>,
    /// Whether lists of arguments lie there.
    lists: HashMap<TargetsId, bool>,
}

/// How far behind a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Reach {
    Bytes(u64),
    Objects,
    Everything,
}

impl<'p> Reader<'p> {
    pub fn new(program: &'p Program, pointers: &'p Pointers) -> Reader<'p> {
        Reader {
            program,
            pointers,
            known: HashMap::new(),
            lists: HashMap::new(),
        }
    }

    fn cells(&mut self, function: FunctionId, pointer: Value, reach: Reach) -> Rc<[Cell]> {
        let pointers = self.pointers;
        let Some(targets) = pointers.targets(function, pointer) else {
            return Rc::default();
        };
        let known = self.known.entry((targets, reach)).or_insert_with(|| {
            match reach {
                Reach::Bytes(size) => pointers.cells(function, pointer, size),
                Reach::Objects => pointers.whole_objects(function, pointer),
                Reach::Everything => pointers.reachable(function, pointer),
            }
            .into()
        });
        known.clone()
    }

    fn leads_to_arguments(&mut self, function: FunctionId, pointer: Value) -> bool {
        let pointers = self.pointers;
        let Some(targets) = pointers.targets(function, pointer) else {
            return false;
        };
        let known = self.lists.entry(targets);
        *known.or_insert_with(|| pointers.leads_to_arguments(function, pointer))
    }

    pub fn access(&mut self, site: Site) -> Access {
        let (program, pointers) = (self.program, self.pointers);
        let function = program.function_of(site);
        let instruction = program.instruction(site);
        let size = |ty| program.ty(ty).size.unwrap_or(1);
        let operand = |n: usize| instruction.operands[n];
        match &instruction.operation {
            Operation::Load(_) => Access {
                reads: self
                    .cells(function, operand(0), Reach::Bytes(size(instruction.ty)))
                    .to_vec(),
                ..Access::default()
            },
            Operation::Store(_) => {
                let bytes = program.type_of(function, operand(0)).map_or(1, size);
                let writes = self
                    .cells(function, operand(1), Reach::Bytes(bytes))
                    .to_vec();
                let replaces =
                    matches!(writes[..], [cell] if pointers.is_single(cell, bytes, program));
                Access {
                    writes,
                    replaces,
                    ..Access::default()
                }
            }
            Operation::AtomicUpdate { .. } | Operation::CompareExchange => {
                let cells = self.cells(function, operand(0), Reach::Bytes(16)).to_vec();
                Access {
                    reads: cells.clone(),
                    writes: cells,
                    replaces: false,
                }
            }
            Operation::VariadicArgument => {
                let cells = self.cells(function, operand(0), Reach::Objects).to_vec();
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
                external.map_or_else(Access::default, |writes| self.external(site, writes))
            }
            _ => Access::default(),
        }
    }

    fn external(&mut self, site: Site, writes: Writes) -> Access {
        let mut access = Access::default();
        let function = self.program.function_of(site);
        let instruction = self.program.instruction(site);
        // The compiler's own make and copy lists of arguments, and look at none.
        let intrinsic = instruction.call().is_some_and(|call| match call.callee {
            Callee::Direct(callee) => self.program.function(callee).symbol.starts_with("llvm."),
            _ => false,
        });
        for (n, &operand) in instruction.operands.iter().enumerate() {
            // Formats and strings are read whole; what they lead to is not followed
            // unless the function is one nothing is known about.
            let cells = match writes {
                Writes::Anything => self.cells(function, operand, Reach::Everything),
                _ => self.cells(function, operand, Reach::Objects),
            };
            // `vprintf` looks at arguments through their list, and at what these point to.
            if !intrinsic && self.leads_to_arguments(function, operand) {
                let behind = self.cells(function, operand, Reach::Everything);
                access.reads.extend(behind.iter());
            }
            let written = match writes {
                Writes::Nothing => false,
                Writes::First => n == 0,
                Writes::Anything => true,
            };
            if written {
                access.writes.extend(cells.iter());
            }
            access.reads.extend(cells.iter());
        }
        access.reads.sort_unstable();
        access.reads.dedup();
        access.writes.sort_unstable();
        access.writes.dedup();
        access
    }
}
