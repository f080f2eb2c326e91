//! Memory objects and the cells inside them.

use std::collections::HashMap;

use changeling_program::{FunctionId, GlobalId, Program, Shape, Site, TypeId};
use serde::{Deserialize, Serialize};

use super::NodeId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(pub u32);

/// Where a piece of memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    Global(GlobalId),
    /// A local variable: the site of its alloca.
    Stack(Site),
    /// Memory that the call at this site returned.
    Heap(Site),
    Function(FunctionId),
    /// The unnamed arguments of a variadic function.
    Variadic(FunctionId),
    /// Memory that existed before the program, e.g. its arguments.
    Outside,
}

#[derive(Clone, Debug)]
pub struct Object {
    pub origin: Origin,
    ty: Option<TypeId>,
    size: Option<u64>,
    /// Arrays that were indexed by a variable: their elements are one.
    arrays: Vec<Range>,
    /// With a variable step through the whole object: offsets modulo this.
    modulus: u64,
    cells: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    length: u64,
    stride: u64,
}

/// Objects with more cells than this are taken as one.
const MANY_CELLS: usize = 96;

#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub list: Vec<Object>,
    by_origin: HashMap<Origin, ObjectId>,
    /// Object and offset of each cell, from `first_cell` on.
    places: Vec<(ObjectId, u64)>,
    by_place: HashMap<(ObjectId, u64), NodeId>,
    first_cell: u32,
}

/// A cell that is from now on the same as another.
pub type Merge = (NodeId, NodeId);

impl Objects {
    pub fn new(first_cell: u32) -> Objects {
        Objects {
            first_cell,
            ..Objects::default()
        }
    }

    pub fn object(&mut self, origin: Origin, ty: Option<TypeId>, program: &Program) -> ObjectId {
        let list = &mut self.list;
        *self.by_origin.entry(origin).or_insert_with(|| {
            let size = ty.and_then(|ty| program.ty(ty).size);
            list.push(Object {
                origin,
                ty,
                size,
                arrays: Vec::new(),
                modulus: 0,
                cells: Vec::new(),
            });
            ObjectId(list.len() as u32 - 1)
        })
    }

    pub fn find(&self, origin: Origin) -> Option<ObjectId> {
        self.by_origin.get(&origin).copied()
    }

    pub fn get(&self, id: ObjectId) -> &Object {
        &self.list[id.0 as usize]
    }

    /// The cell at an offset; makes it if there is none yet. A new cell may be
    /// one too many, so that all of the object's become one.
    pub fn cell(&mut self, id: ObjectId, offset: i64) -> (NodeId, Vec<Merge>) {
        let object = &self.list[id.0 as usize];
        let offset = object.canonical(offset);
        if let Some(&cell) = self.by_place.get(&(id, offset)) {
            return (cell, Vec::new());
        }
        let cell = NodeId(self.first_cell + self.places.len() as u32);
        self.places.push((id, offset));
        self.by_place.insert((id, offset), cell);
        let object = &mut self.list[id.0 as usize];
        object.cells.push(cell);
        let merges = if object.cells.len() > MANY_CELLS {
            self.step(id, 0, 1, None)
        } else {
            Vec::new()
        };
        (cell, merges)
    }

    pub fn place(&self, cell: NodeId) -> (ObjectId, u64) {
        self.places[(cell.0 - self.first_cell) as usize]
    }

    pub fn cells_of(&self, id: ObjectId) -> &[NodeId] {
        &self.list[id.0 as usize].cells
    }

    /// A pointer at `offset` is moved by a variable number of strides: what it
    /// can reach becomes one element. Returns the cells that fall together.
    pub fn step(
        &mut self,
        id: ObjectId,
        offset: u64,
        stride: u64,
        program: Option<&Program>,
    ) -> Vec<Merge> {
        let object = &mut self.list[id.0 as usize];
        let stride = stride.max(1);
        let array = program.and_then(|program| object.array_at(program, offset, stride));
        match array {
            Some(range) if object.arrays.contains(&range) || object.modulus != 0 => {
                return Vec::new();
            }
            Some(range) => object.arrays.push(range),
            None => {
                let modulus = gcd(object.modulus, stride);
                if modulus == object.modulus {
                    return Vec::new();
                }
                object.modulus = modulus;
            }
        }
        self.merge(id)
    }

    fn merge(&mut self, id: ObjectId) -> Vec<Merge> {
        let mut merges = Vec::new();
        let cells = std::mem::take(&mut self.list[id.0 as usize].cells);
        let mut kept: HashMap<u64, NodeId> = HashMap::new();
        let mut left = Vec::new();
        for cell in cells {
            let (_, offset) = self.place(cell);
            let canonical = self.list[id.0 as usize].canonical(offset as i64);
            let keeper = *kept.entry(canonical).or_insert(cell);
            if keeper == cell {
                left.push(cell);
                self.places[(cell.0 - self.first_cell) as usize].1 = canonical;
                self.by_place.insert((id, canonical), cell);
            } else {
                merges.push((keeper, cell));
            }
        }
        self.list[id.0 as usize].cells = left;
        merges
    }
}

impl Object {
    pub fn cells(&self) -> &[NodeId] {
        &self.cells
    }

    fn canonical(&self, offset: i64) -> u64 {
        let mut offset = match self.size {
            Some(size) if size > 0 && (offset < 0 || offset as u64 >= size) => {
                offset.rem_euclid(size as i64) as u64
            }
            _ => offset.max(0) as u64,
        };
        for range in &self.arrays {
            if offset >= range.start && offset < range.start + range.length {
                offset = range.start + (offset - range.start) % range.stride;
            }
        }
        if self.modulus != 0 {
            offset % self.modulus
        } else {
            offset
        }
    }

    /// Whether the offset is that of one place, not of all elements of an array.
    pub fn is_single_at(&self, offset: u64) -> bool {
        let indexed = |range: &Range| offset >= range.start && offset < range.start + range.stride;
        self.modulus == 0 && !self.arrays.iter().any(indexed)
    }

    /// The array inside the object's type that has an element of that size at
    /// that offset.
    fn array_at(&self, program: &Program, offset: u64, stride: u64) -> Option<Range> {
        let (mut ty, mut start) = (self.ty?, 0);
        loop {
            match &program.ty(ty).shape {
                Shape::Array { element, length } => {
                    let size = program.ty(*element).size?;
                    if size == stride {
                        return Some(Range {
                            start,
                            length: size * length,
                            stride,
                        });
                    }
                    if size == 0 {
                        return None;
                    }
                    let index = (offset - start) / size;
                    (ty, start) = (*element, start + index * size);
                }
                Shape::Struct {
                    fields, offsets, ..
                } => {
                    let field = offsets
                        .partition_point(|&at| at <= offset - start)
                        .checked_sub(1)?;
                    (ty, start) = (*fields.get(field)?, start + offsets[field]);
                }
                _ => return None,
            }
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
