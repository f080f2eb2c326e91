//! Who uses what, as far as no memory lies between.

use changeling_program::{Callee, FunctionId, Operation, Program, Site, Value};
use std::collections::HashMap;

pub(super) struct Users {
    results: HashMap<Site, Vec<Site>>,
    arguments: HashMap<(FunctionId, u32), Vec<Site>>,
    /// Calls by name.
    calls: HashMap<FunctionId, Vec<Site>>,
}

impl Users {
    pub fn new(program: &Program) -> Users {
        let mut arguments: HashMap<(FunctionId, u32), Vec<Site>> = HashMap::new();
        let mut calls: HashMap<FunctionId, Vec<Site>> = HashMap::new();
        for site in program.sites() {
            let instruction = program.instruction(site);
            for value in instruction.uses() {
                if let Value::Argument(n) = value {
                    let key = (program.function_of(site), n);
                    arguments.entry(key).or_default().push(site);
                }
            }
            if let Some(Callee::Direct(callee)) = instruction.call().map(|call| &call.callee) {
                calls.entry(*callee).or_default().push(site);
            }
        }
        Users {
            results: of_results(program),
            arguments,
            calls,
        }
    }

    /// Calls of a function by its name.
    pub fn calls(&self, function: FunctionId) -> &[Site] {
        self.calls.get(&function).map_or(&[], Vec::as_slice)
    }

    /// Instructions that go on with what one has computed. What is handed to a function is used inside of it; what one
    /// returns is used behind its calls, which are asked for.
    pub fn next<C: IntoIterator<Item = Site>>(
        &self,
        program: &Program,
        site: Site,
        calls: impl FnOnce(FunctionId) -> C,
    ) -> Vec<Site> {
        let mut results = vec![site];
        if let Operation::Return = program.instruction(site).operation {
            results.extend(calls(program.function_of(site)));
        }
        let mut next = Vec::new();
        for result in results {
            for &user in self.results.get(&result).into_iter().flatten() {
                let instruction = program.instruction(user);
                match instruction.call().map(|call| &call.callee) {
                    Some(Callee::Direct(callee)) => {
                        let operands = (0u32..).zip(&instruction.operands);
                        let handed = operands.filter(|(_, value)| **value == Value::Result(result));
                        let inside = handed.filter_map(|(n, _)| self.arguments.get(&(*callee, n)));
                        next.extend(inside.flatten());
                    }
                    Some(_) => {}
                    None => next.push(user),
                }
            }
        }
        next
    }
}

/// Who uses the result of whom.
pub(super) fn of_results(program: &Program) -> HashMap<Site, Vec<Site>> {
    let mut users: HashMap<Site, Vec<Site>> = HashMap::new();
    for site in program.sites() {
        for used in program.instruction(site).used_sites() {
            users.entry(used).or_default().push(site);
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_program::{BinaryOp, Builder};

    /// `main` hands a sum to `double` and that one's result on to `double` and to a call through a pointer.
    #[test]
    fn values_are_followed_into_functions_and_out_of_them() {
        let mut b = Builder::new();
        let (double, main) = (b.declare("double", 1), b.declare("main", 1));
        let mut f = b.define(double, 1);
        f.start(0);
        let x = f.argument(0);
        let one = f.int(1);
        let inside = f.binary(BinaryOp::Add, x, one);
        f.ret(Some(inside));
        let mut f = b.define(main, 1);
        f.start(0);
        let x = f.argument(0);
        let sum = f.binary(BinaryOp::Add, x, x);
        let once = f.call(double, &[sum]);
        let twice = f.call(double, &[once]);
        let last = f.binary(BinaryOp::Sub, twice, once);
        f.ret(Some(last));
        let program = b.finish();
        let users = Users::new(&program);
        let site = |value: Value| value.site().expect("an instruction");
        let next = |value: Site| users.next(&program, value, |id| users.calls(id).iter().copied());
        assert_eq!(users.calls(double), [site(once), site(twice)]);
        assert_eq!(next(site(sum)), [site(inside)], "it is handed over");
        let ret = program.terminator(program.function(double).first_block);
        assert_eq!(next(site(inside)), [ret]);
        // Behind the first call it is handed over once more, and used; behind the second it is used.
        assert_eq!(next(ret), [site(inside), site(last), site(last)]);
    }
}
