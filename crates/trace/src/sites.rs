//! The site table: what `instrument` knows about every site, written beside a
//! traced binary so that a trace can be read without LLVM.

use serde::{Deserialize, Serialize};

pub const FORMAT: u32 = 1;

/// All sites of one traced program. `sites[n]` describes site number `n`;
/// site 0 stands for "unknown". Sites are the instructions of the prepared
/// bitcode in module order (functions, blocks, instructions), counted from 1;
/// `program` numbers the same way. Library models come after the user's code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTable {
    pub format: u32,
    pub files: Vec<String>,
    pub functions: Vec<FunctionName>,
    /// Sparse: only sites that events can name, by ascending number.
    pub sites: Vec<Site>,
    /// One per coverage byte.
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionName {
    /// As in the bitcode.
    pub symbol: String,
    /// Demangled.
    pub name: String,
    /// A library model, not the user's code.
    pub model: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub number: u32,
    pub function: u32,
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// For calls: the callee's demangled name. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub callee: String,
    /// For switches: the selector values that have a case of their own, with
    /// the number of the target block; the default block is last, with no value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<(Option<u64>, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub function: u32,
    /// Number of the block's first site.
    pub site: u32,
    /// Distinct source lines of the block's instructions, as (file, line).
    pub lines: Vec<(u32, u32)>,
    /// A block that stands for an edge of the program: the site of the branch that it
    /// starts from, and which of its sides it is (`then` is 0, `else` 1; for a switch, the cases
    /// in their order and the default last).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<(u32, u32)>,
    /// Site of the conditional branch or switch that the block ends in, 0 if it goes on in one way only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub branch: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl SiteTable {
    /// Blocks of the user's code that end in a branch, each with the branch's site.
    pub fn branches(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let blocks = self.blocks.iter().zip(0..);
        let own = blocks.filter(|(block, _)| !self.functions[block.function as usize].model);
        own.filter(|(block, _)| block.branch != 0)
            .map(|(block, number)| (number, block.branch))
    }

    pub fn site(&self, number: u32) -> Option<&Site> {
        let at = self
            .sites
            .binary_search_by_key(&number, |site| site.number)
            .ok()?;
        Some(&self.sites[at])
    }

    /// `file:line:column`, or the function's name if there is no debug info.
    pub fn place(&self, number: u32) -> String {
        let Some(site) = self.site(number) else {
            return "unknown place".into();
        };
        if site.line == 0 {
            return format!("in {}", self.functions[site.function as usize].name);
        }
        format!(
            "{}:{}:{}",
            self.files[site.file as usize], site.line, site.column
        )
    }
}
