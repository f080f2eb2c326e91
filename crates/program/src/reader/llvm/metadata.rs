//! Debug information.

use super::*;

impl<'m> Metadata<'m> {
    pub fn kind(self) -> MetadataKind {
        unsafe { LLVMGetMetadataKind(self.0) }
    }

    pub fn location_line(self) -> u32 {
        unsafe { LLVMDILocationGetLine(self.0) }
    }

    pub fn location_column(self) -> u32 {
        unsafe { LLVMDILocationGetColumn(self.0) }
    }

    pub fn location_scope(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMDILocationGetScope(self.0) })
    }

    pub fn inlined_at(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMDILocationGetInlinedAt(self.0) })
    }

    /// Whether it describes a type, so that the questions below may be asked.
    pub fn is_type(self) -> bool {
        matches!(
            self.kind(),
            MetadataKind::LLVMDIBasicTypeMetadataKind
                | MetadataKind::LLVMDIDerivedTypeMetadataKind
                | MetadataKind::LLVMDICompositeTypeMetadataKind
                | MetadataKind::LLVMDISubroutineTypeMetadataKind
        )
    }

    pub fn tag(self) -> u16 {
        unsafe { LLVMGetDINodeTag(self.0) }
    }

    pub fn type_name(self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMDITypeGetName(self.0, &mut length) };
        copied(text, length)
    }

    pub fn type_bits(self) -> u64 {
        unsafe { LLVMDITypeGetSizeInBits(self.0) }
    }

    pub fn type_offset(self) -> u64 {
        unsafe { LLVMDITypeGetOffsetInBits(self.0) }
    }

    pub fn type_flags(self) -> i32 {
        unsafe { LLVMDITypeGetFlags(self.0) }
    }

    pub fn scope_file(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMDIScopeGetFile(self.0) })
    }

    pub fn subprogram_line(self) -> u32 {
        unsafe { LLVMDISubprogramGetLine(self.0) }
    }

    pub fn variable_line(self) -> u32 {
        unsafe { LLVMDIVariableGetLine(self.0) }
    }

    pub fn variable_file(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMDIVariableGetFile(self.0) })
    }

    pub fn file_name(self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMDIFileGetFilename(self.0, &mut length) };
        copied(text, length as usize)
    }

    pub fn file_directory(self) -> String {
        let mut length = 0;
        let text = unsafe { LLVMDIFileGetDirectory(self.0, &mut length) };
        copied(text, length as usize)
    }
}

impl<'m> DebugRecord<'m> {
    /// The variable it is about: (variable, value, whether the value is the
    /// variable's address). `None` for labels and values that are gone.
    pub fn variable(self) -> Option<(Metadata<'m>, Value<'m>, bool)> {
        let address = match unsafe { LLVMDbgRecordGetKind(self.0) } {
            LLVMDbgRecordKind::LLVMDbgRecordDeclare => true,
            LLVMDbgRecordKind::LLVMDbgRecordValue => false,
            _ => return None,
        };
        let variable = Metadata::maybe(unsafe { LLVMDbgVariableRecordGetVariable(self.0) })?;
        let value = Value::maybe(unsafe { LLVMDbgVariableRecordGetValue(self.0, 0) })?;
        Some((variable, value, address))
    }

    pub fn location(self) -> Option<Metadata<'m>> {
        Metadata::maybe(unsafe { LLVMDbgRecordGetDebugLoc(self.0) })
    }
}
