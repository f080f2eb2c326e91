//! `changeling doctor`: what is here, what is missing, and how to get it.

use crate::exit::Code;
use crate::failure::Failure;
use changeling_build::tools::{LLVM, Tool, find_program, rustc_version};
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub struct Arguments {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    /// Some programs or commands need it.
    Useful,
    Optional,
}

struct Finding {
    name: String,
    need: Need,
    /// What was found, or what is missing.
    state: Result<String, String>,
    help: String,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let findings: Vec<Finding> = [compilers(), rust(), kernel(), solvers()]
        .into_iter()
        .flatten()
        .collect();
    if arguments.json {
        print_json(&findings);
    } else {
        print_text(&findings);
    }
    let lacking = findings
        .iter()
        .any(|f| f.need == Need::Required && f.state.is_err());
    Ok(if lacking { Code::LACKING } else { Code::OK })
}

fn compilers() -> Vec<Finding> {
    let mut findings = Vec::new();
    for tool in [
        Tool::Clang,
        Tool::ClangPlusPlus,
        Tool::LlvmLink,
        Tool::Objcopy,
        Tool::Archiver,
    ] {
        findings.push(program(tool.name(), tool.package(), Need::Required));
    }
    findings.push(program(
        &format!("ld.lld-{LLVM}"),
        &format!("lld-{LLVM}"),
        Need::Required,
    ));
    findings.push(sanitizers());
    for (name, package) in [("git", "git"), ("make", "make"), ("cmake", "cmake")] {
        findings.push(program(name, package, Need::Useful));
    }
    findings
}

/// Sanitizers need run-time libraries that come in a package of their own.
fn sanitizers() -> Finding {
    let library = "libclang_rt.asan-x86_64.a";
    let printed = Command::new(Tool::Clang.name())
        .arg(format!("--print-file-name={library}"))
        .output();
    let old_layout =
        printed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    let found = old_layout
        .ok()
        .filter(|path| Path::new(path).is_absolute() && Path::new(path).exists());
    Finding {
        name: "sanitizer libraries".into(),
        need: Need::Useful,
        state: found.ok_or_else(|| format!("{library} not found")),
        help: format!("apt-get install libclang-rt-{LLVM}-dev"),
    }
}

fn rust() -> Vec<Finding> {
    let cargo = program(
        "cargo",
        "the stable Rust toolchain with rustup",
        Need::Useful,
    );
    let state = match rustc_version(Path::new(".")) {
        Err(error) => Err(error.to_string()),
        Ok(version) => {
            let line = version.text.lines().next().unwrap_or_default().to_string();
            match version.llvm {
                Some(llvm) if llvm <= LLVM => Ok(format!("{line}, LLVM {llvm}")),
                Some(llvm) => Err(format!("{line} is built on LLVM {llvm}, newer than {LLVM}")),
                None => Err(format!("`rustc -vV` does not name its LLVM: {line}")),
            }
        }
    };
    let help = format!(
        "install a stable toolchain whose LLVM is {LLVM} or older; only Rust programs need it"
    );
    vec![
        cargo,
        Finding {
            name: "rustc".into(),
            need: Need::Useful,
            state,
            help,
        },
    ]
}

fn kernel() -> Vec<Finding> {
    let mut findings = vec![release(), address_space(), address_randomisation()];
    findings.extend(sandbox());
    findings
}

/// memfd_create came with Linux 3.17, and nobody switches it off by itself.
fn release() -> Finding {
    let text = read("/proc/sys/kernel/osrelease");
    let mut numbers = text
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Finding {
        name: "kernel (memfd)".into(),
        need: Need::Required,
        state: if version >= (3, 17) {
            Ok(format!("Linux {text}"))
        } else {
            Err(format!("Linux {text} is too old"))
        },
        help: "use Linux 3.17 or newer".into(),
    }
}

/// A traced program reserves 512 GiB of addresses without memory behind them.
fn address_space() -> Finding {
    let mode = read("/proc/sys/vm/overcommit_memory");
    Finding {
        name: "address space".into(),
        need: Need::Required,
        state: match mode.as_str() {
            "2" => Err("vm.overcommit_memory is 2: large reservations are refused".into()),
            _ => Ok(format!("vm.overcommit_memory is {mode}")),
        },
        help: "sysctl vm.overcommit_memory=0".into(),
    }
}

fn address_randomisation() -> Finding {
    let state = match succeeds("setarch", &["--addr-no-randomize", "true"]) {
        Some(true) => Ok("can be switched off for a program".to_string()),
        Some(false) => Err("personality(ADDR_NO_RANDOMIZE) is refused".into()),
        None => Ok("not tried: `setarch` is not installed".into()),
    };
    Finding {
        name: "address randomisation".into(),
        need: Need::Required,
        state,
        help: "in a container, allow the system call `personality` (a seccomp profile forbids it)"
            .into(),
    }
}

/// What the sandbox really gets when it is set up as for a run.
fn sandbox() -> Vec<Finding> {
    match changeling_exec::capabilities() {
        Ok(capabilities) => capabilities
            .into_iter()
            .map(|capability| Finding {
                name: format!("sandbox: {}", capability.name),
                need: Need::Useful,
                state: if capability.in_force {
                    Ok(capability.detail.clone())
                } else {
                    Err("not in force".into())
                },
                help: capability.detail,
            })
            .collect(),
        Err(error) => vec![Finding {
            name: "sandbox".into(),
            need: Need::Required,
            state: Err(error.to_string()),
            help: "docs/sandbox.md says what it needs".into(),
        }],
    }
}

fn solvers() -> Vec<Finding> {
    ["z3", "bitwuzla", "cvc5"]
        .map(|name| program(name, name, Need::Optional))
        .into()
}

fn program(name: &str, package: &str, need: Need) -> Finding {
    let found = find_program(name).map(|path| path.display().to_string());
    let help = match package.contains(' ') {
        true => format!("install {package}"),
        false => format!("apt-get install {package}"),
    };
    Finding {
        name: name.into(),
        need,
        state: found.ok_or_else(|| "not found".into()),
        help,
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_string()
}

/// Whether a command ends well; `None` if it is not there.
fn succeeds(name: &str, arguments: &[&str]) -> Option<bool> {
    let mut command = Command::new(name);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Some(command.status().ok()?.success())
}

fn print_text(findings: &[Finding]) {
    for finding in findings {
        let mark = match (&finding.state, finding.need) {
            (Ok(_), _) => "ok     ",
            (Err(_), Need::Required) => "MISSING",
            (Err(_), Need::Useful) => "missing",
            (Err(_), Need::Optional) => "without",
        };
        let (Ok(text) | Err(text)) = &finding.state;
        println!("{mark}  {:<22} {text}", finding.name);
        if finding.state.is_err() {
            println!("         {:<22} help: {}", "", finding.help);
        }
    }
    let count = |need| {
        findings
            .iter()
            .filter(|f| f.state.is_err() && f.need == need)
            .count()
    };
    match (count(Need::Required), count(Need::Useful)) {
        (0, 0) => println!("\nEverything that is needed is here."),
        (0, some) => {
            println!("\nEverything that is needed is here; {some} missing for some programs.")
        }
        (some, _) => println!("\n{some} missing without which nothing works."),
    }
}

fn print_json(findings: &[Finding]) {
    let list: Vec<serde_json::Value> = findings
        .iter()
        .map(|finding| {
            let (Ok(text) | Err(text)) = &finding.state;
            serde_json::json!({
                "name": finding.name,
                "need": match finding.need {
                    Need::Required => "required",
                    Need::Useful => "useful",
                    Need::Optional => "optional",
                },
                "ok": finding.state.is_ok(),
                "state": text,
                "help": finding.help,
            })
        })
        .collect();
    println!("{}", serde_json::json!({ "format": 1, "findings": list }));
}
