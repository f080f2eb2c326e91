//! From the bitcode of parts to prepared whole-program bitcode.
//!
//! *Prepared* means: SSA form, every `if` of the source still a branch, no
//! inlining, no vectors that the source does not ask for, no dead functions,
//! and a body for every function whose body was seen. Sites are numbered on
//! this form, so the passes are few and their order is fixed.

use crate::cache::Work;
use crate::choices;
use crate::coroutines;
use crate::error::BuildError;
use crate::lines;
use crate::process::run;
use crate::rust;
use crate::tools::{ARCHITECTURE, Tool};
use crate::version::{BuildOptions, Language, Lines};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use inkwell::values::FunctionValue;
use inkwell::{GlobalVisibility, OptimizationLevel};
use std::path::{Path, PathBuf};

/// Part of cache keys: changes whenever prepared bitcode would look different.
pub const PREPARATION: &str = "5";

/// The prepared program in an entry of the cache.
pub const BITCODE: &str = "program.bc";

/// `simplifycfg` without everything that would turn branches into selects,
/// merge conditions or move instructions out of their statement.
const PASSES: &str = "function(sroa<preserve-cfg>,early-cse,simplifycfg<bonus-inst-threshold=0;\
no-forward-switch-cond;no-switch-range-to-icmp;no-switch-to-lookup;keep-loops;no-hoist-common-insts;\
no-sink-common-insts;no-speculate-blocks;no-simplify-cond-branch;no-speculate-unpredictables>,dce),\
elim-avail-extern,globaldce";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Main,
    /// `LLVMFuzzerTestOneInput` without a `main`.
    Harness,
}

/// What a function says that is not to be optimised though others are.
const UNOPTIMISED: &str = "changeling-optnone";

/// What the whole-program bitcode told about itself.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The bitcode as it was before.
    pub linked: PathBuf,
    pub entry: Entry,
    pub languages: Vec<Language>,
    /// A function has so many blocks that some of the compiler's work takes for ever.
    pub huge: bool,
}

/// Blocks of a function from which on putting them in order takes the compiler minutes.
const HUGE: u32 = 3000;

/// Puts modules together and prepares what they make for the entry. `name` is what the user calls it.
pub fn prepare(
    modules: &[PathBuf],
    work: &Work,
    name: &str,
    options: &BuildOptions,
) -> Result<Facts, BuildError> {
    let linked = work.path().join("linked.bc");
    link_modules(modules, &linked)?;
    prepare_linked(linked, &work.entry().join(BITCODE), name, options.lines)
}

/// Puts modules together.
pub fn link_modules(modules: &[PathBuf], output: &Path) -> Result<(), BuildError> {
    let finished = run(Tool::LlvmLink
        .command()?
        .args(modules)
        .arg("--suppress-warnings")
        .arg("-o")
        .arg(output))?;
    if finished.succeeded() {
        return Ok(());
    }
    let place = output.parent().unwrap_or(output).to_path_buf();
    Err(match modules {
        [module] => BuildError::Bitcode {
            path: module.clone(),
            output: finished.output,
        },
        _ => BuildError::Link {
            place: "bitcode of the whole program".into(),
            output: finished.output,
        },
    }
    .or_disk_full(&place))
}

fn prepare_linked(
    linked: PathBuf,
    output: &Path,
    name: &str,
    lines: Lines,
) -> Result<Facts, BuildError> {
    let broken = |output: String| BuildError::Bitcode {
        path: PathBuf::from(name),
        output,
    };
    let context = Context::create();
    let module = Module::parse_bitcode_from_path(&linked, &context)
        .map_err(|message| broken(message.to_string()))?;
    check_architecture(&module, name)?;
    let entry = entry_of(&module).ok_or_else(|| BuildError::NoEntry {
        place: name.to_string(),
    })?;
    let languages = languages_of(&module);
    keep_bodies(&module);
    allow_passes(&module);
    rust::drop_backtraces(&module);
    let machine = target_machine().map_err(broken)?;
    choices::make_plain(&module, &machine).map_err(broken)?;
    lines::keep(&module, lines);
    let first = coroutines::passes(&module);
    let passes: Vec<&str> = first.into_iter().chain([PASSES]).collect();
    module
        .run_passes(&passes.join(","), &machine, PassBuilderOptions::create())
        .and_then(|()| {
            coroutines::allow_returns(&module);
            module.verify()
        })
        .map_err(|message| broken(message.to_string()))?;
    write(&module, output)?;
    Ok(Facts {
        linked,
        entry,
        languages,
        huge: has_huge_function(&module),
    })
}

/// Writes a module. LLVM itself would end the process if the disk is full.
pub fn write(module: &Module<'_>, output: &Path) -> Result<(), BuildError> {
    let bitcode = module.write_bitcode_to_memory();
    std::fs::write(output, bitcode.as_slice())
        .map_err(|error| BuildError::io(crate::error::WRITE, output, error))
}

/// The same of bitcode that was prepared before.
pub fn is_huge(prepared: &Path) -> bool {
    let context = Context::create();
    Module::parse_bitcode_from_path(prepared, &context)
        .is_ok_and(|module| has_huge_function(&module))
}

fn has_huge_function(module: &Module) -> bool {
    let mut functions = module.get_functions();
    functions.any(|function| function.count_basic_blocks() > HUGE)
}

/// Whether a module defines `main` or a harness.
pub fn defines_entry(module: &Path) -> bool {
    let context = Context::create();
    Module::parse_bitcode_from_path(module, &context)
        .is_ok_and(|module| entry_of(&module).is_some())
}

fn check_architecture(module: &Module, name: &str) -> Result<(), BuildError> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy().into_owned();
    let architecture = triple.split('-').next().unwrap_or_default();
    if architecture == ARCHITECTURE {
        return Ok(());
    }
    let found = if architecture.is_empty() {
        "an unknown architecture"
    } else {
        architecture
    };
    Err(BuildError::Architecture {
        path: name.into(),
        found: found.to_string(),
    })
}

fn entry_of(module: &Module) -> Option<Entry> {
    let defines = |name| {
        module
            .get_function(name)
            .is_some_and(|f| f.count_basic_blocks() > 0)
    };
    if defines("main") {
        Some(Entry::Main)
    } else if defines("LLVMFuzzerTestOneInput") {
        Some(Entry::Harness)
    } else {
        None
    }
}

/// Bodies of functions that live elsewhere too (inline functions of C, extern
/// templates of C++) are kept, so that they can be traced. Functions that the
/// linker may find twice are hidden: code of shared libraries, which is not
/// traced, must not end up in our copy of a template.
fn keep_bodies(module: &Module) {
    for function in module
        .get_functions()
        .filter(|f| f.count_basic_blocks() > 0)
    {
        match function.get_linkage() {
            Linkage::AvailableExternally => function.set_linkage(Linkage::LinkOnceODR),
            Linkage::LinkOnceODR => {}
            _ => continue,
        }
        function
            .as_global_value()
            .set_visibility(GlobalVisibility::Hidden);
    }
}

/// A compiler that was asked not to optimise forbids it for good; then the passes above would leave
/// its functions as they are, and every one of them would look changed beside one that was prepared.
/// Where only some functions say so the source does, and those are marked: the plain program has other code for them.
fn allow_passes(module: &Module<'_>) {
    let forbidden = Attribute::get_named_enum_kind_id("optnone");
    let forbids = |function: &FunctionValue<'_>| {
        let found = function.get_enum_attribute(AttributeLoc::Function, forbidden);
        found.is_some()
    };
    let defined = module
        .get_functions()
        .filter(|f| f.count_basic_blocks() > 0);
    let (unoptimised, others): (Vec<_>, Vec<_>) = defined.partition(forbids);
    for function in unoptimised {
        function.remove_enum_attribute(AttributeLoc::Function, forbidden);
        if !others.is_empty() {
            let mark = module
                .get_context()
                .create_string_attribute(UNOPTIMISED, "");
            function.add_attribute(AttributeLoc::Function, mark);
        }
    }
}

fn languages_of(module: &Module) -> Vec<Language> {
    let mut languages = Vec::new();
    let mut note = |language| {
        if !languages.contains(&language) {
            languages.push(language);
        }
    };
    for function in module
        .get_functions()
        .filter(|f| f.count_basic_blocks() > 0)
    {
        let name = function.get_name().to_bytes();
        if name.starts_with(b"_R") || name.ends_with(b"E") && is_legacy_rust(name) {
            note(Language::Rust);
        } else if name.starts_with(b"_Z") {
            note(Language::Cpp);
        } else {
            note(Language::C);
        }
    }
    // The entry point of a Rust program has a C name.
    if languages.contains(&Language::Rust) {
        languages.retain(|language| *language != Language::C);
    }
    languages.sort();
    languages
}

/// Names of the older scheme end in `17h` and 16 hexadecimal digits.
fn is_legacy_rust(name: &[u8]) -> bool {
    name.len() > 20 && name[name.len() - 20..].starts_with(b"17h") && name.starts_with(b"_ZN")
}

fn target_machine() -> Result<TargetMachine, String> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create("x86_64-pc-linux-gnu");
    let target = Target::from_triple(&triple).map_err(|message| message.to_string())?;
    target
        .create_target_machine(
            &triple,
            "x86-64",
            "",
            OptimizationLevel::None,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| "LLVM has no x86-64 back end".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error() {
        let context = Context::create();
        let module = context.create_module("m");
        let error = write(&module, Path::new("/dev/full")).unwrap_err();
        assert_eq!(error.code(), 21, "{error}");
    }
}
