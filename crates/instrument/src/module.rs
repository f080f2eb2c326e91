//! The whole program: models and glue linked in, every function traced,
//! optimised and compiled.

use crate::backtraces;
use crate::calls::{Callee, callee_of};
use crate::coverage;
use crate::early;
use crate::error::InstrumentError;
use crate::function::{Pass, Slots};
use crate::group::{Generator, Group, Labels};
use crate::ir::{Cursor, Ir, Value};
use crate::library;
use crate::named::Named;
use crate::probes::{self, Probe};
use crate::quiet;
use crate::redirect;
use crate::rust;
use crate::sites::{self, Copies, Numbering};
use crate::streams;
use crate::taint::{self, Taint};
use changeling_trace::sites::SiteTable;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};
use std::collections::HashSet;
use std::path::Path;

const GLUE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/glue.bc"));
const MODELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/models.bc"));
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.bc"));
const RUST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rust.bc"));

/// No edge is left on which no mark or label could be placed.
const EDGES: &str = "function(break-crit-edges)";
/// Small functions in place of their calls, and what that makes plain, without
/// touching a branch: a label that need not go through memory costs nothing.
/// Then vectors become scalars, which have labels.
const BEFORE: &str = "cgscc(inline),\
function(sroa<preserve-cfg>,early-cse,scalarizer<load-store>,break-crit-edges)";
/// Inlines the tests of the groups and cleans up after them.
const AFTER: &str = "default<O1>";
/// How large, as LLVM counts, such a function may be.
const INLINED: u32 = 325;
/// What the mark of a block adds to that: a call with one argument.
const MARK_SIZE: u32 = 30;
/// A function of more blocks is not optimised: what that takes grows with the square of their
/// number.
const MOST_BLOCKS: usize = 5000;

/// Turns bitcode into traced bitcode, optimised.
pub fn transform(
    bitcode: &Path,
    traced: &Path,
    probed: &[Probe],
) -> Result<SiteTable, InstrumentError> {
    let machine = target_machine()?;
    let context = Context::create();
    let module = Module::parse_bitcode_from_path(bitcode, &context).map_err(|error| {
        InstrumentError::Unreadable {
            path: bitcode.into(),
            reason: error.to_string(),
        }
    })?;
    check(&module, bitcode)?;
    let ir = Ir::new(&module);
    let users = redirect::defined(ir);
    let first_model_site = sites::number_instructions(ir, &users, 1);
    probes::place(ir, &users, probed);
    let models = link_models(&context, &module)?;
    redirect::to_glue(ir);
    for value in ir.functions().into_iter().chain(ir.globals()) {
        if models.hides(value) {
            value.set_internal();
        }
    }
    run_passes(&module, &machine, "globaldce")?;
    let model_functions: Vec<Value> = redirect::defined(ir)
        .into_iter()
        .filter(|function| models.functions.contains(&function.name()))
        .collect();
    sites::number_instructions(ir, &model_functions, first_model_site);
    run_passes(&module, &machine, EDGES)?;
    let functions = redirect::defined(ir);
    let numbering = Numbering::read(ir, &functions);
    let apart: HashSet<Value> = model_functions.into_iter().collect();
    let table = numbering.table(&functions, &apart);
    let unlabelled = backtraces::functions(&functions);
    backtraces::account(ir, &functions);
    coverage::mark_blocks(ir, &functions, &apart, &unlabelled, &numbering);
    let passages: HashSet<Value> = rust::mark_passages(ir, &functions).into_iter().collect();
    limit_inlining(ir, &functions, |function| {
        [&apart, &unlabelled, &passages]
            .iter()
            .any(|set| set.contains(&function))
    });
    let copies = Copies::read(ir, &functions);
    run_passes(&module, &machine, BEFORE)?;
    trace_functions(ir, &models, &copies);
    define_number(ir, "__chg_block_count", 64, numbering.block_count() as u64);
    define_number(ir, "__chg_first_model_site", 32, first_model_site as u64);
    if let Some(main) = ir.function("main") {
        main.set_name("__chg_user_main");
    }
    module.strip_debug_info();
    link(&module, embedded(&context, GLUE, "the glue")?)?;
    module.verify().map_err(|error| InstrumentError::Invalid {
        path: bitcode.into(),
        reason: error.to_string(),
    })?;
    run_passes(&module, &machine, AFTER)?;
    write(&module, traced)?;
    Ok(table)
}

/// LLVM itself would end the process if the disk is full.
fn write(module: &Module<'_>, path: &Path) -> Result<(), InstrumentError> {
    let bitcode = module.write_bitcode_to_memory();
    std::fs::write(path, bitcode.as_slice()).map_err(|source| InstrumentError::Write {
        path: path.into(),
        source,
    })
}

/// What was linked in beside the program, by name.
struct Models {
    functions: HashSet<String>,
    /// Functions that were written as models.
    written: HashSet<String>,
    /// Tables of virtual functions.
    tables: HashSet<String>,
    /// Functions that the glue calls before `main`.
    starts: HashSet<&'static str>,
    /// What the program may read in code that is not traced.
    unseen: u32,
}

impl Models {
    fn hides(&self, value: Value) -> bool {
        let name = value.name();
        !value.is_declaration()
            && (self.functions.contains(&name) || self.tables.contains(&name))
            && !self.starts.contains(name.as_str())
    }
}

/// Links the models of the C library, and those of the C++ and Rust libraries if the
/// program has need of them, and sends the program's calls there.
fn link_models<'ctx>(
    context: &'ctx Context,
    program: &Module<'ctx>,
) -> Result<Models, InstrumentError> {
    let ir = Ir::new(program);
    let c_models = embedded(context, MODELS, "the library models")?;
    let written = claim_names(&c_models);
    let mut models = Models {
        functions: written.clone(),
        written,
        tables: HashSet::new(),
        starts: HashSet::new(),
        unseen: 0,
    };
    let mut library = None;
    if library::is_wanted(ir) {
        let part = embedded(context, LIBRARY, "the C++ library")?;
        let names = library::prepare(Ir::new(&part), &models.functions);
        models.starts = library::starts(ir);
        library::give_tables(ir, &names.tables);
        models.tables = names.tables;
        models.written.extend(names.models);
        models.functions.extend(names.functions);
        library = Some(part);
    }
    redirect::to_models(ir, &models.functions);
    streams::account(ir, &redirect::defined(ir));
    models.unseen = library::unseen(ir) | early::unseen(ir);
    if let Some(library) = library {
        link(program, library)?;
    }
    link(program, c_models)?;
    if rust::is_wanted(ir) {
        let part = embedded(context, RUST, "the models of Rust's library")?;
        let names = claim_names(&part);
        models.written.extend(names.iter().cloned());
        models.functions.extend(names);
        rust::list_streams(ir);
        link(program, part)?;
        rust::to_models(ir);
    }
    Ok(models)
}

/// The names of all functions of the models, made such that no program has them.
fn claim_names(models: &Module<'_>) -> HashSet<String> {
    models
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .map(|function| {
            let name = function.get_name().to_string_lossy().into_owned();
            if name.starts_with("__model_") || name.starts_with("__mdl_") {
                return name;
            }
            let name = format!("__mdl_{name}");
            function.as_global_value().set_name(&name);
            name
        })
        .collect()
}

fn check(module: &Module<'_>, path: &Path) -> Result<(), InstrumentError> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy();
    if !triple.starts_with("x86_64") || !triple.contains("linux") {
        return Err(InstrumentError::Architecture {
            path: path.into(),
            triple: triple.into_owned(),
        });
    }
    let entry = ["main", "LLVMFuzzerTestOneInput"].iter().any(|name| {
        module
            .get_function(name)
            .is_some_and(|function| function.count_basic_blocks() > 0)
    });
    if !entry {
        return Err(InstrumentError::NoEntry { path: path.into() });
    }
    Ok(())
}

/// Models stay apart, for they are told who calls them, and so does code that
/// hardly ever runs.
fn limit_inlining(ir: Ir, functions: &[Value], stays_apart: impl Fn(Value) -> bool) {
    for &function in functions {
        if stays_apart(function) {
            ir.keep_apart(function);
        } else {
            let marks = function.blocks().len() as u32 * MARK_SIZE;
            ir.set_inline_threshold(function, INLINED + marks);
        }
    }
}

fn trace_functions(ir: Ir, linked: &Models, copies: &Copies) {
    let functions = redirect::defined(ir);
    let numbering = Numbering::read(ir, &functions);
    let models: HashSet<Value> = functions
        .iter()
        .copied()
        .filter(|function| linked.functions.contains(&function.name()))
        .collect();
    let unlabelled = backtraces::functions(&functions);
    let named = Named::of(ir, &functions);
    let taint = Taint::of(ir, &functions, &unlabelled, &named);
    forget_purity(ir, &functions);
    let slots = Slots::declare(ir);
    let globals = ir.globals();
    let mut generator = Generator::new(ir);
    // By what they are now: tracing adds blocks.
    let mut large = functions.clone();
    large.retain(|function| function.blocks().len() > MOST_BLOCKS);
    for &function in &functions {
        let mut pass = Pass {
            ir,
            cursor: Cursor::new(ir),
            generator: &mut generator,
            taint: &taint,
            slots,
            numbering: &numbering,
            copies,
            models: &models,
            function,
            in_model: models.contains(&function),
            is_unlabelled: unlabelled.contains(&function),
            is_accountable: linked.written.contains(&function.name()),
            labels: Labels::new(),
            group: Group::default(),
            saved_variable_arguments: None,
            is_asked_by_traced: None,
            named: &named,
            told: HashSet::new(),
        };
        pass.run();
    }
    backtraces::leave_unoptimised(ir, &unlabelled);
    for function in large {
        ir.leave_unoptimised(function);
    }
    define_tables(ir, &globals);
    define_harmless(ir);
    define_number(ir, "__chg_untraced_input", 32, linked.unseen.into());
}

/// Labels travel through memory beside every call, also of functions that touch
/// none by themselves.
fn forget_purity(ir: Ir, functions: &[Value]) {
    for function in ir.functions() {
        if !function.name().starts_with("llvm.") {
            ir.forget_purity(function);
        }
    }
    let instructions = functions
        .iter()
        .flat_map(|function| function.blocks())
        .flat_map(|block| block.instructions());
    for call in instructions {
        if call.is_call() && !matches!(callee_of(call), Callee::Intrinsic(_)) {
            ir.forget_purity_of_call(call);
        }
    }
}

/// The objects that the glue tells the runtime about at start.
fn define_tables(ir: Ir, globals: &[Value]) {
    let long = ir.int(64);
    let entry = ir.structure(&[long, long, long]);
    let objects: Vec<Value> = globals
        .iter()
        .filter(|global| {
            !global.is_declaration()
                && !global.is_thread_local()
                && global
                    .section()
                    .is_none_or(|section| !section.starts_with("llvm."))
                && !global.name().starts_with("llvm.")
                && ir.abi_size(global.value_type()) > 0
        })
        .map(|global| {
            ir.constant_struct(&[
                ir.address_of(*global),
                ir.constant(64, ir.abi_size(global.value_type())),
                ir.constant(64, global.is_constant_global() as u64),
            ])
        })
        .collect();
    let count = objects.len() as u64;
    // Sorted at start, so it is not a constant.
    let table = ir.add_global("__chg_objects", ir.array(entry, count));
    table.set_initialiser(ir.constant_array(entry, &objects));
    define_number(ir, "__chg_object_count", 64, count);
}

/// Functions that are not traced but lose nothing, and whose addresses the program uses, such as `free`: the runtime is
/// told of them too. First those that take nothing, then those that only do not look at memory.
fn define_harmless(ir: Ir) {
    let taken: Vec<Value> = ir
        .functions()
        .into_iter()
        .filter(|function| taint::is_address_taken(*function))
        .collect();
    let of = |is_harmless: &dyn Fn(&Value, &str) -> bool| -> Vec<Value> {
        let harmless = taken.iter().filter(|f| is_harmless(f, &f.name()));
        harmless.map(|function| ir.address_of(*function)).collect()
    };
    let mut addresses = of(&|function, name| {
        name.starts_with("__chg_") || function.is_declaration() && quiet::is_quiet(name)
    });
    let quiet = addresses.len() as u64;
    addresses.extend(of(&|function, name| {
        function.is_declaration() && quiet::is_decided(name)
    }));
    let long = ir.int(64);
    let count = addresses.len() as u64;
    let table = ir.add_global("__chg_harmless", ir.array(long, count));
    table.set_initialiser(ir.constant_array(long, &addresses));
    define_number(ir, "__chg_harmless_count", 64, count);
    define_number(ir, "__chg_quiet_count", 64, quiet);
}

fn define_number(ir: Ir, name: &str, bits: u32, value: u64) {
    let global = ir.add_global(name, ir.int(bits));
    global.set_initialiser(ir.constant(bits, value));
    global.set_constant();
}

fn embedded<'ctx>(
    context: &'ctx Context,
    bytes: &[u8],
    what: &'static str,
) -> Result<Module<'ctx>, InstrumentError> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, what);
    Module::parse_bitcode_from_buffer(&buffer, context).map_err(|error| InstrumentError::Llvm {
        what: "read a part of the tracer",
        reason: error.to_string(),
    })
}

fn link<'ctx>(module: &Module<'ctx>, other: Module<'ctx>) -> Result<(), InstrumentError> {
    // Bitcode of other compilers of the same LLVM may spell both differently.
    other.set_triple(&module.get_triple());
    other.set_data_layout(&module.get_data_layout());
    module
        .link_in_module(other)
        .map_err(|error| InstrumentError::Llvm {
            what: "link a part of the tracer",
            reason: error.to_string(),
        })
}

fn run_passes(
    module: &Module<'_>,
    machine: &TargetMachine,
    passes: &str,
) -> Result<(), InstrumentError> {
    module
        .run_passes(passes, machine, PassBuilderOptions::create())
        .map_err(|error| InstrumentError::Llvm {
            what: "run a pass",
            reason: error.to_string(),
        })
}

fn target_machine() -> Result<TargetMachine, InstrumentError> {
    let failed = |reason: String| InstrumentError::Llvm {
        what: "set up the x86-64 target",
        reason,
    };
    Target::initialize_x86(&InitializationConfig::default());
    let triple = inkwell::targets::TargetTriple::create("x86_64-pc-linux-gnu");
    let target = Target::from_triple(&triple).map_err(|error| failed(error.to_string()))?;
    target
        .create_target_machine(
            &triple,
            "x86-64",
            "",
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| failed("no target machine".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error() {
        let context = Context::create();
        let module = context.create_module("m");
        let error = write(&module, Path::new("/dev/full")).unwrap_err();
        let InstrumentError::Write { source, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    }
}
