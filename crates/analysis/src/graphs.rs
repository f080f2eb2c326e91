//! All graphs of a program, made once.

use changeling_program::{FunctionId, Program};

use crate::Node;
use crate::calls::Calls;
use crate::control::Control;
use crate::flow::Flow;
use crate::pointers::Pointers;

pub struct Graphs {
    pub pointers: Pointers,
    pub calls: Calls,
    pub flow: Flow,
    control: Vec<Option<Control>>,
}

impl Graphs {
    pub fn new(program: &Program) -> Graphs {
        Graphs::unless(program, &|| false).expect("nothing stops it")
    }

    /// `None` if it was told to stop. Graphs of large programs take long, mostly for what
    /// pointers point to.
    pub fn unless(program: &Program, stop: &dyn Fn() -> bool) -> Option<Graphs> {
        let pointers = Pointers::unless(program, stop)?;
        let calls = Calls::new(program, &pointers);
        let flow = Flow::new(program, &calls);
        let control = program
            .function_ids()
            .map(|id| {
                let function = flow.function(id);
                let made = || Control::new(&function.graph, Node(0), &function.exits);
                (!function.is_empty()).then(made)
            })
            .collect();
        (!stop()).then_some(Graphs {
            pointers,
            calls,
            flow,
            control,
        })
    }

    /// Of a function with a body.
    pub fn control(&self, function: FunctionId) -> &Control {
        self.control[function.index()]
            .as_ref()
            .expect("a defined function")
    }

    /// Functions that run first: `main`, a fuzzing harness, constructors.
    pub fn starts(program: &Program) -> Vec<FunctionId> {
        let named = ["main", "LLVMFuzzerTestOneInput", "LLVMFuzzerInitialize"];
        let mut starts: Vec<FunctionId> = program
            .definitions()
            .filter(|&id| named.contains(&program.function(id).symbol.as_str()))
            .collect();
        starts.extend(crate::reach::constructors(program));
        starts
    }
}
