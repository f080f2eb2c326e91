//! Source locations and variables.

use super::Reader;
use super::llvm::{self, MetadataKind};
use crate::{
    DebugValue, File, FileId, FunctionId, Location, LocationId, Place, Site, Variable, VariableId,
};

impl<'m> Reader<'m> {
    pub(super) fn location(&mut self, location: llvm::Metadata<'m>) -> LocationId {
        if let Some(&id) = self.locations.get(&location) {
            return id;
        }
        // Outermost call first, so that each step finds its caller's number;
        // chains can be too long for recursion.
        let chain: Vec<_> =
            std::iter::successors(Some(location), |inner| inner.inlined_at()).collect();
        let mut outer = None;
        for &link in chain.iter().rev() {
            outer = Some(match self.locations.get(&link) {
                Some(&id) => id,
                None => self.new_location(link, outer),
            });
        }
        self.locations[&location]
    }

    fn new_location(
        &mut self,
        location: llvm::Metadata<'m>,
        inlined_at: Option<LocationId>,
    ) -> LocationId {
        let (file, scope) = match location.location_scope() {
            Some(scope) => self.scope(scope),
            None => (self.file(None), String::new()),
        };
        self.program.locations.push(Location {
            file,
            line: location.location_line(),
            column: location.location_column(),
            scope,
            inlined_at,
        });
        let id = LocationId::new(self.program.locations.len() - 1);
        self.locations.insert(location, id);
        id
    }

    /// The scope's file, and the symbol of the function around it.
    fn scope(&mut self, scope: llvm::Metadata<'m>) -> (FileId, String) {
        if let Some(known) = self.scopes.get(&scope) {
            return known.clone();
        }
        let file = self.file(scope.scope_file());
        let mut around = Some(scope);
        let mut name = String::new();
        while let Some(here) = around {
            let operands = self.source.operands(here);
            if matches!(here.kind(), MetadataKind::LLVMDISubprogramMetadataKind) {
                // Operands: file, scope, name, linkage name, …
                let text = |n: usize| operands.get(n).copied().flatten()?.metadata_text();
                name = text(3)
                    .filter(|s| !s.is_empty())
                    .or_else(|| text(2))
                    .unwrap_or_default();
                break;
            }
            // Lexical blocks: file, scope.
            around = operands
                .get(1)
                .copied()
                .flatten()
                .and_then(|value| value.as_metadata());
        }
        self.scopes.insert(scope, (file, name.clone()));
        (file, name)
    }

    pub(super) fn subprogram_place(&mut self, subprogram: llvm::Metadata<'m>) -> Option<Place> {
        let file = self.file(Some(subprogram.scope_file()?));
        let line = subprogram.subprogram_line();
        (line != 0).then_some(Place { file, line })
    }

    pub(super) fn subprogram_name(&self, subprogram: llvm::Metadata<'m>) -> Option<String> {
        // Operands: file, scope, name, …
        let operands = self.source.operands(subprogram);
        operands.get(2).copied().flatten()?.metadata_text()
    }

    pub(super) fn variable_place(&mut self, variable: llvm::Metadata<'m>) -> Option<Place> {
        let file = self.file(Some(variable.variable_file()?));
        let line = variable.variable_line();
        (line != 0).then_some(Place { file, line })
    }

    fn file(&mut self, file: Option<llvm::Metadata<'m>>) -> FileId {
        let read = match file {
            Some(file) => File {
                name: file.file_name(),
                directory: file.file_directory(),
            },
            None => File {
                name: String::new(),
                directory: String::new(),
            },
        };
        let program = &mut self.program;
        *self.files.entry(read).or_insert_with_key(|file| {
            program.files.push(file.clone());
            FileId::new(program.files.len() - 1)
        })
    }

    /// Notes what the debug records in front of an instruction say.
    pub(super) fn debug_values(
        &mut self,
        function: FunctionId,
        site: Site,
        instruction: llvm::Value<'m>,
    ) {
        for record in instruction.debug_records() {
            let Some((variable, value, address)) = record.variable() else {
                continue;
            };
            let read = DebugValue {
                before: site,
                variable: self.variable(function, variable),
                value: self.value(value),
                address,
                location: record.location().map(|location| self.location(location)),
            };
            self.program.debug_values.push(read);
        }
    }

    fn variable(&mut self, function: FunctionId, variable: llvm::Metadata<'m>) -> VariableId {
        if let Some(&id) = self.variables.get(&(function, variable)) {
            return id;
        }
        // Operands: scope, name, …
        let operands = self.source.operands(variable);
        let name = operands
            .get(1)
            .copied()
            .flatten()
            .and_then(|value| value.metadata_text());
        self.program.variables.push(Variable {
            name: name.unwrap_or_default(),
            function,
            line: variable.variable_line(),
        });
        let id = VariableId::new(self.program.variables.len() - 1);
        self.variables.insert((function, variable), id);
        id
    }
}
