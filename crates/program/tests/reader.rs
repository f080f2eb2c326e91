//! The reader on bitcode from the real compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use changeling_program::{
    Callee, Constant, Linkage, Operation, Place, Program, ReadError, Shape, Site, Value, read,
};

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a scratch directory"))
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, contents).expect("a scratch file");
        path
    }

    /// Compiles as `build` prepares bitcode: SSA form, debug information.
    fn compile(&self, name: &str, source: &str) -> PathBuf {
        let source = self.file(name, source);
        let raw = source.with_extension("raw.bc");
        let compiler = if name.ends_with(".cpp") {
            "clang++-22"
        } else {
            "clang-22"
        };
        run(Command::new(compiler)
            .args(["-O1", "-Xclang", "-disable-llvm-passes", "-g"])
            .args([
                "-emit-llvm".as_ref(),
                "-c".as_ref(),
                source.as_os_str(),
                "-o".as_ref(),
                raw.as_os_str(),
            ]));
        let prepared = source.with_extension("bc");
        run(Command::new("opt-22")
            .arg("-passes=function(sroa,early-cse,simplifycfg)")
            .arg(&raw)
            .arg("-o")
            .arg(&prepared));
        prepared
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the tool is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn read_source(name: &str, source: &str) -> Program {
    let scratch = Scratch::new();
    read(&scratch.compile(name, source)).expect("readable")
}

#[test]
fn sites_count_instructions_in_module_order() {
    let scratch = Scratch::new();
    let path = scratch.compile(
        "a.c",
        "int g(int); int f(int x) { if (x > 3) return g(x); return g(-x) + 1; }\n\
         int g(int x) { return x * x; }\n\
         int main(int argc, char **argv) { return f(argc); }\n",
    );
    let program = read(&path).expect("readable");
    // The disassembler's text, in which an instruction is an indented line, is
    // an account of the order that owes nothing to the reader.
    let text = Command::new("llvm-dis-22")
        .arg(&path)
        .args(["-o", "-"])
        .output()
        .expect("llvm-dis");
    let text = String::from_utf8(text.stdout).expect("text");
    let mut expected = Vec::new();
    let mut function = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("define ") {
            let name = rest
                .split('@')
                .nth(1)
                .and_then(|rest| rest.split('(').next());
            function = Some(name.expect("a name").to_owned());
        } else if line == "}" {
            function = None;
        } else if let Some(function) = &function
            && line.starts_with("  ")
            && !line.trim_start().starts_with('#')
        {
            let words = line.trim_start();
            let opcode = words.split_once(" = ").map_or(words, |(_, rest)| rest);
            let opcode = opcode
                .trim_start_matches("tail ")
                .split(' ')
                .next()
                .expect("an opcode");
            expected.push((function.clone(), opcode.to_owned()));
        }
    }
    let found: Vec<_> = program
        .sites()
        .map(|site| {
            let function = program.function(program.function_of(site)).symbol.clone();
            (function, opcode(&program, site).to_owned())
        })
        .collect();
    assert_eq!(found, expected);
    assert!(found.len() > 10);

    // Flat tables agree with one another.
    for function in program.definitions() {
        let sites: Vec<Site> = program.function(function).sites().collect();
        let through_blocks: Vec<Site> = program
            .function(function)
            .blocks()
            .flat_map(|block| program.block(block).sites())
            .collect();
        assert_eq!(sites, through_blocks);
    }
}

fn opcode(program: &Program, site: Site) -> &'static str {
    match &program.instruction(site).operation {
        Operation::Compare(_) => "icmp",
        Operation::Branch { .. } | Operation::Jump { .. } => "br",
        Operation::Call(_) => "call",
        Operation::Return => "ret",
        Operation::Binary(changeling_program::BinaryOp::Sub, _) => "sub",
        Operation::Binary(changeling_program::BinaryOp::Add, _) => "add",
        Operation::Binary(changeling_program::BinaryOp::Mul, _) => "mul",
        Operation::Phi { .. } => "phi",
        other => panic!("unexpected {other:?}"),
    }
}

#[test]
fn calls_globals_and_fields() {
    let program = read_source(
        "b.c",
        "struct point { char tag; int x; int y[4]; };\n\
         static struct point origin = { 'o', 1, {2, 3, 4, 5} };\n\
         static int twice(int x) { return 2 * x; }\n\
         int (*table[2])(int) = { twice, 0 };\n\
         int main(int argc, char **argv) {\n\
           struct point *p = &origin;\n\
           p->y[argc] = table[0](p->x);\n\
           return twice(p->y[2]);\n\
         }\n\
         int get(struct point *p, int i) { return p->y[i]; }\n",
    );
    let main = program.function_named("main").expect("main");
    let twice = program.function_named("twice").expect("twice");
    assert_eq!(program.function(twice).linkage, Linkage::Internal);
    let line = |n| {
        Some(Place {
            file: program.function(main).place.expect("place").file,
            line: n,
        })
    };
    assert_eq!(program.function(main).place, line(5));

    let calls: Vec<_> = program
        .function(main)
        .sites()
        .filter_map(|site| {
            Some((
                program.place(site),
                program.instruction(site).call()?.callee.clone(),
            ))
        })
        .collect();
    assert!(matches!(calls[0], (place, Callee::Indirect(Value::Result(_))) if place == line(7)));
    assert_eq!(calls[1], (line(8), Callee::Direct(twice)));

    let addresses: Vec<_> = program
        .function(main)
        .sites()
        .filter_map(|site| match &program.instruction(site).operation {
            Operation::Address(address) => Some((address.constant, address.scaled.clone())),
            _ => None,
        })
        .collect();
    assert!(
        addresses
            .iter()
            .any(|(constant, scaled)| *constant == 0 && scaled == &[(2, 4)]),
        "{addresses:?}"
    );

    let table = program
        .globals
        .iter()
        .find(|global| global.name == "table")
        .expect("table");
    let Some(Value::Constant(initialiser)) = table.initialiser else {
        panic!("no initialiser")
    };
    let Constant::Aggregate { elements, .. } = program.constant(initialiser) else {
        panic!("not an aggregate")
    };
    assert_eq!(elements[0], Value::Function(twice));
    let origin = program
        .globals
        .iter()
        .find(|global| global.name == "origin")
        .expect("origin");
    assert_eq!(origin.place.map(|place| place.line), Some(2));
    let named = program.types.iter().find_map(|ty| match &ty.shape {
        Shape::Struct {
            name: Some(name),
            offsets,
            ..
        } if name == "struct.point" => Some(offsets),
        _ => None,
    });
    assert_eq!(named, Some(&vec![0, 4, 8]));

    let names: Vec<_> = program
        .variables
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    assert!(names.contains(&"argc") && names.contains(&"p"), "{names:?}");
}

#[test]
fn inlined_code_knows_where_it_was_written_and_where_it_came_to() {
    let scratch = Scratch::new();
    let prepared = scratch.compile(
        "c.c",
        "__attribute__((always_inline)) static inline int square(int x) {\n  return x * x;\n}\n\
         int main(int argc, char **argv) {\n  return square(argc);\n}\n",
    );
    let inlined = prepared.with_extension("inlined.bc");
    run(Command::new("opt-22")
        .arg("-passes=always-inline")
        .arg(&prepared)
        .arg("-o")
        .arg(&inlined));
    let program = read(&inlined).expect("readable");
    let main = program.function_named("main").expect("main");
    let chains: Vec<Vec<(u32, &str)>> = program
        .function(main)
        .sites()
        .map(|site| {
            program
                .inlining(site)
                .map(|l| (l.line, l.scope.as_str()))
                .collect()
        })
        .collect();
    assert!(
        chains.contains(&vec![(2, "square"), (5, "main")]),
        "{chains:?}"
    );
}

#[test]
fn cpp_names_and_exceptions() {
    let program = read_source(
        "d.cpp",
        "namespace shop { int price(int n) { if (n > 9) throw n; return n; } }\n\
         int main(int argc, char **) { try { return shop::price(argc); } catch (int n) { return -n; } }\n",
    );
    let price = program
        .function_named("shop::price(int)")
        .expect("demangled name");
    assert_eq!(program.function(price).symbol, "_ZN4shop5priceEi");
    let main = program.function_named("main").expect("main");
    let invokes = program.function(main).sites().filter(|&site| {
        let call = program.instruction(site).call();
        call.is_some_and(|call| call.invoke.is_some() && call.callee == Callee::Direct(price))
    });
    assert_eq!(invokes.count(), 1);
}

#[test]
fn switches_floats_and_wide_integers() {
    let program = read_source(
        "e.c",
        "double d(double x) { return x * 0.1; }\n\
         __int128 w(__int128 x) { return x + (((__int128)1 << 100) - 1); }\n\
         int main(int argc, char **argv) {\n\
           switch (argc) { case 1: return 4; case 2: d(1); return (int)w(2); case -7: return 9; default: return argc; }\n\
         }\n",
    );
    let cases: Vec<Vec<u128>> = program
        .instructions
        .iter()
        .filter_map(|instruction| match &instruction.operation {
            Operation::Switch { cases, .. } => Some(cases.iter().map(|case| case.value).collect()),
            _ => None,
        })
        .collect();
    assert_eq!(cases, [vec![1, 2, u128::from(-7i32 as u32)]]);
    let wide = (1u128 << 100) - 1;
    assert!(
        program
            .constants
            .iter()
            .any(|c| matches!(c, Constant::Integer { bits, .. } if *bits == wide))
    );
    assert!(program.constants.iter().any(|c| matches!(c, Constant::Float { text, .. } if text.starts_with("0.1") || text.contains("e-01") || text.starts_with("0x"))));
}

#[test]
fn a_program_survives_saving() {
    let program = read_source(
        "f.c",
        "int main(int c, char **v) { return v[0][c] == 'x'; }\n",
    );
    let text = serde_json::to_string(&program).expect("serializable");
    let again: Program = serde_json::from_str(&text).expect("deserializable");
    assert_eq!(again, program);
}

#[test]
fn bad_input_is_named() {
    let scratch = Scratch::new();
    let missing = read(Path::new("/nonexistent/x.bc"));
    assert!(matches!(missing, Err(ReadError::Unreadable { .. })));

    let text = scratch.file("text.bc", "int main() {}");
    let message = read(&text).expect_err("no bitcode").to_string();
    assert!(
        message.contains("not LLVM bitcode: it starts with 69 6E 74 20"),
        "{message}"
    );
    let empty = scratch.file("empty.bc", "");
    assert!(
        read(&empty)
            .expect_err("empty")
            .to_string()
            .contains("only 0 bytes")
    );

    let good = scratch.compile("g.c", "int main(void) { return 0; }\n");
    let bytes = std::fs::read(&good).expect("readable");
    let cut = scratch.file("cut.bc", &bytes[..bytes.len() / 2]);
    let error = read(&cut).expect_err("damaged");
    assert!(matches!(error, ReadError::Damaged { .. }), "{error}");

    let library = scratch.compile("h.c", "int f(void) { return 0; }\n");
    assert!(matches!(read(&library), Err(ReadError::NoMain { .. })));
}
