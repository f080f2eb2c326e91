//! Which values can carry a label at all.
//!
//! A least fixed point over the whole program: a counter that starts at a
//! constant and is stepped by constants can never be symbolic, and code for
//! its labels would only slow the program down.

use crate::calls::{Callee, callee_of};
use crate::ir::{Ir, Opcode, Value};
use crate::leaves::{self, Leaf};
use crate::named::Named;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub struct Taint {
    values: HashSet<Value>,
    results: HashSet<Value>,
    /// Functions whose values carry no label, whatever they are given.
    unlabelled: HashSet<Value>,
    /// Functions whose address is used otherwise than to call them, or that assembler may call.
    pub address_taken: HashSet<Value>,
}

impl Taint {
    pub fn of(ir: Ir, functions: &[Value], unlabelled: &HashSet<Value>, named: &Named) -> Taint {
        let mut taint = Taint {
            address_taken: address_taken(functions, named),
            unlabelled: unlabelled.clone(),
            ..Taint::default()
        };
        let labelled = || {
            functions
                .iter()
                .copied()
                .filter(|f| !unlabelled.contains(f))
        };
        for function in labelled() {
            if taint.address_taken.contains(&function) || is_entry(function) {
                taint.values.extend(function.parameters());
            }
        }
        let bodies: HashMap<Value, Vec<Value>> = functions
            .iter()
            .map(|&function| {
                let body = function
                    .blocks()
                    .into_iter()
                    .flat_map(|block| block.instructions());
                (function, body.collect())
            })
            .collect();
        let mut carriers = Carriers {
            ir,
            known: HashMap::new(),
        };
        loop {
            let mut changed = false;
            for function in labelled() {
                for &instruction in &bodies[&function] {
                    changed |= taint.visit(&mut carriers, function, instruction);
                }
            }
            if !changed {
                return taint;
            }
        }
    }

    pub fn contains(&self, value: Value) -> bool {
        self.values.contains(&value)
    }

    pub fn returns(&self, function: Value) -> bool {
        self.results.contains(&function)
    }

    fn visit(&mut self, carriers: &mut Carriers, function: Value, instruction: Value) -> bool {
        match instruction.opcode() {
            Opcode::LLVMRet => {
                return instruction.operand_count() == 1
                    && self.values.contains(&instruction.operand(0))
                    && self.results.insert(function);
            }
            Opcode::LLVMCall | Opcode::LLVMInvoke => return self.visit_call(carriers, instruction),
            _ => {}
        }
        if self.values.contains(&instruction) || !carriers.can(instruction) {
            return false;
        }
        let tainted = match instruction.opcode() {
            Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => true,
            Opcode::LLVMAlloca | Opcode::LLVMLandingPad => false,
            Opcode::LLVMFPToSI | Opcode::LLVMFPToUI | Opcode::LLVMFCmp => false,
            _ => instruction
                .operands()
                .iter()
                .any(|operand| self.values.contains(operand)),
        };
        tainted && self.values.insert(instruction)
    }

    fn visit_call(&mut self, carriers: &mut Carriers, call: Value) -> bool {
        let mut changed = false;
        let tainted = match callee_of(call) {
            Callee::Traced(target) if self.unlabelled.contains(&target) => false,
            Callee::Traced(target) => {
                let parameters = target.parameters();
                for (index, parameter) in parameters.into_iter().enumerate() {
                    if index < call.argument_count() as usize
                        && self.values.contains(&call.operand(index as u32))
                    {
                        changed |= self.values.insert(parameter);
                    }
                }
                self.results.contains(&target)
            }
            Callee::Intrinsic(_) | Callee::Assembler(_) => {
                (0..call.argument_count()).any(|index| self.values.contains(&call.operand(index)))
            }
            Callee::Glue(_) | Callee::Indirect(_) => true,
            Callee::External(_) => false,
        };
        if tainted && carriers.can(call) {
            changed |= self.values.insert(call);
        }
        changed
    }
}

/// Whether a value's type has a part that can carry a label; remembered per type.
struct Carriers {
    ir: Ir,
    known: HashMap<crate::ir::Type, bool>,
}

impl Carriers {
    fn can(&mut self, value: Value) -> bool {
        let ty = value.ty();
        let ir = self.ir;
        *self.known.entry(ty).or_insert_with(|| {
            ty.kind() != crate::ir::Kind::LLVMVoidTypeKind
                && leaves::parts(ir, ty)
                    .iter()
                    .any(|part| part.leaf != Leaf::Opaque)
        })
    }
}

/// Called by the glue, with labels.
fn is_entry(function: Value) -> bool {
    function.name() == "LLVMFuzzerTestOneInput"
}

/// What calls these at the start looks at labels of their results by itself.
pub fn is_start(function: Value) -> bool {
    is_entry(function) || function.name() == "main"
}

fn address_taken(functions: &[Value], named: &Named) -> HashSet<Value> {
    let is_taken = |function: Value| {
        is_entry(function) || is_address_taken(function) || named.words.contains(&function.name())
    };
    functions
        .iter()
        .copied()
        .filter(|&function| is_taken(function))
        .collect()
}

pub fn is_address_taken(function: Value) -> bool {
    function.users().into_iter().any(|user| {
        !user.is_instruction()
            || !user.is_call()
            || user.callee() != function
            || (0..user.argument_count()).any(|index| user.operand(index) == function)
    })
}
