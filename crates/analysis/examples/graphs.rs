//! Makes all graphs of a prepared program and says how long each took.
//!
//!     cargo run --release -p changeling-analysis --example graphs -- PROGRAM.bc

use std::time::Instant;

use changeling_analysis::{
    Calls, Control, Distances, Flow, Graphs, Memory, Node, Pointers, Reach, Slicer,
    without_backtraces,
};
use changeling_program::{Callee, Site, read};

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: graphs PROGRAM.bc");
        std::process::exit(2);
    };
    let start = Instant::now();
    let program = match read(std::path::Path::new(&path)) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let step = |what: &str, since: Instant| {
        println!("{what:<12} {:>9.3} s", since.elapsed().as_secs_f64())
    };
    step("read", start);
    let program = without_backtraces(&program, &[]).unwrap_or(program);
    println!(
        "{} functions, {} blocks, {} instructions",
        program.definitions().count(),
        program.blocks.len(),
        program.instructions.len()
    );

    let since = Instant::now();
    let pointers = Pointers::new(&program);
    step("pointers", since);
    let since = Instant::now();
    let calls = Calls::new(&program, &pointers);
    step("calls", since);
    let since = Instant::now();
    let flow = Flow::new(&program, &calls);
    step("flow", since);
    let since = Instant::now();
    for id in program.definitions() {
        let function = flow.function(id);
        Control::new(&function.graph, Node(0), &function.exits);
    }
    step("control", since);

    let graphs = Graphs::new(&program);
    let since = Instant::now();
    let memory = Memory::new(&program, &graphs.pointers, &graphs.calls);
    step("memory", since);
    let defined = program.definitions();
    let defined: Vec<Site> = defined
        .flat_map(|id| program.function(id).sites())
        .collect();
    let middle = defined[defined.len() / 2];
    let since = Instant::now();
    let distances = Distances::new(&program, &graphs, &[middle]);
    step("distances", since);
    let near = program
        .sites()
        .filter(|&site| distances.of_branch(&graphs, site).is_some())
        .count();
    let since = Instant::now();
    let reach = Reach::new(&program, &graphs, &[middle]);
    step("reach", since);
    let since = Instant::now();
    let slicer = Slicer::new(&program, &graphs, &memory);
    let forward = slicer.forward(&[middle]).len();
    step("forward", since);
    let since = Instant::now();
    let backward = slicer.backward(&[middle]).len();
    step("backward", since);

    let indirect: Vec<Site> = program
        .sites()
        .filter(|&site| {
            let call = program.instruction(site).call();
            call.is_some_and(|call| matches!(call.callee, Callee::Indirect(_)))
        })
        .collect();
    let targets: usize = indirect
        .iter()
        .map(|&site| graphs.calls.callees(site).count())
        .sum();
    println!(
        "{} indirect calls with {targets} targets, {} unresolved",
        indirect.len(),
        graphs.calls.unresolved.len()
    );
    let branches = program
        .sites()
        .filter(|&site| program.instruction(site).decides());
    let sides = branches.flat_map(|site| {
        (0..program.instruction(site).successors().len()).map(move |side| (site, side))
    });
    let sides: Vec<_> = sides.collect();
    let irrelevant = sides
        .iter()
        .filter(|&&(site, side)| !reach.can_follow(&program, &graphs, site, side))
        .count();
    println!(
        "{near} branches lead to site {middle}; {irrelevant} of {} sides cannot reach it",
        sides.len()
    );
    println!("slices of site {middle}: {forward} forward, {backward} backward");
}
