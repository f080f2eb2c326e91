//! Which functions stand in for which.

use crate::ir::{Ir, Value};
use std::collections::HashSet;

/// Functions of the C and C++ libraries about which the runtime must be told.
const GLUE: &[(&str, &str)] = &[
    ("malloc", "__chg_malloc"),
    ("calloc", "__chg_calloc"),
    ("realloc", "__chg_realloc"),
    ("aligned_alloc", "__chg_aligned_alloc"),
    ("memalign", "__chg_aligned_alloc"),
    ("posix_memalign", "__chg_posix_memalign"),
    ("free", "__chg_free"),
    ("exit", "__chg_exit"),
    ("quick_exit", "__chg_quick_exit"),
    ("_exit", "__chg__exit"),
    ("_Exit", "__chg__exit"),
    ("fork", "__chg_fork"),
    ("vfork", "__chg_fork"),
    ("pthread_create", "__chg_pthread_create"),
    (
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
        "__chg_start_thread",
    ),
    ("_Znwm", "__chg_Znwm"),
    ("_Znam", "__chg_Znam"),
    ("_ZnwmRKSt9nothrow_t", "__chg_ZnwmRKSt9nothrow_t"),
    ("_ZnamRKSt9nothrow_t", "__chg_ZnamRKSt9nothrow_t"),
    ("_ZnwmSt11align_val_t", "__chg_ZnwmSt11align_val_t"),
    ("_ZnamSt11align_val_t", "__chg_ZnamSt11align_val_t"),
    ("_ZdlPv", "__chg_ZdlPv"),
    ("_ZdaPv", "__chg_ZdaPv"),
    ("_ZdlPvm", "__chg_ZdlPvm"),
    ("_ZdaPvm", "__chg_ZdaPvm"),
    ("_ZdlPvSt11align_val_t", "__chg_ZdlPvSt11align_val_t"),
    ("_ZdlPvmSt11align_val_t", "__chg_ZdlPvmSt11align_val_t"),
];

/// Functions of ours that programs define themselves, from our header, so that
/// they work without us.
const OBSERVERS: &[&str] = &["changeling_observe", "changeling_observe_bytes"];

/// Functions of headers, so that programs define them, that have models.
const IN_HEADERS: &str = "_ZNSt7__cxx119to_stringE";

/// Sends uses of library functions to their models. Only in the user's code: a
/// model that calls the function it stands for means the real one.
pub fn to_models(ir: Ir, models: &HashSet<String>) {
    for function in ir.functions() {
        let name = function.name();
        let replaceable = function.is_declaration()
            || OBSERVERS.contains(&name.as_str())
            || name.starts_with(IN_HEADERS);
        let model = format!("__model_{name}");
        if replaceable && models.contains(&model) {
            function.replace_uses(ir.declare_like(&model, function));
        }
    }
}

/// Sends uses of allocation and process functions to the glue.
pub fn to_glue(ir: Ir) {
    for (name, replacement) in GLUE {
        if let Some(function) = ir.function(name)
            && function.is_declaration()
        {
            function.replace_uses(ir.declare_like(replacement, function));
        }
    }
}

pub fn defined(ir: Ir) -> Vec<Value> {
    ir.functions()
        .into_iter()
        .filter(|function| !function.is_declaration())
        .collect()
}
