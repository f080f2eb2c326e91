//! Memory objects and the cells inside them.

use std::collections::{BTreeMap, HashMap};

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
    /// By offset.
    cells: Vec<(u64, NodeId)>,
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
    /// Object and offset of each cell, by number of the node.
    places: Vec<Option<(ObjectId, u64)>>,
}

/// A cell that is from now on the same as another.
pub type Merge = (NodeId, NodeId);

impl Objects {
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

    /// The cell at an offset; makes it, with the number `next`, if there is none
    /// yet. A new cell may be one too many, so that all of the object's become one.
    pub fn cell(&mut self, id: ObjectId, offset: u64, next: u32) -> (NodeId, Vec<Merge>) {
        let object = &mut self.list[id.0 as usize];
        let offset = object.canonical(offset);
        let at = match object
            .cells
            .binary_search_by_key(&offset, |&(offset, _)| offset)
        {
            Ok(at) => return (object.cells[at].1, Vec::new()),
            Err(at) => at,
        };
        let cell = NodeId(next);
        object.cells.insert(at, (offset, cell));
        let many = object.cells.len() > MANY_CELLS;
        if self.places.len() <= cell.index() {
            self.places.resize(cell.index() + 1, None);
        }
        self.places[cell.index()] = Some((id, offset));
        let merges = if many {
            self.step(id, 0, 1, None)
        } else {
            Vec::new()
        };
        (cell, merges)
    }

    pub fn place(&self, cell: NodeId) -> (ObjectId, u64) {
        self.places[cell.index()].expect("a cell of memory")
    }

    pub fn cells_of(&self, id: ObjectId) -> impl Iterator<Item = NodeId> + '_ {
        self.list[id.0 as usize].cells()
    }

    /// Where a pointer to `offset` points after moving by so many bytes; `None`
    /// if that is not in the object any more.
    pub fn moved(&self, id: ObjectId, offset: u64, bytes: i64) -> Option<u64> {
        let object = &self.list[id.0 as usize];
        if matches!(object.origin, Origin::Function(_)) && bytes != 0 {
            return None;
        }
        let to = (offset as i64).wrapping_add(bytes);
        if object.modulus != 0 {
            return Some(to.rem_euclid(object.modulus as i64) as u64);
        }
        // Any element of an array stands for all: a step out of the first one
        // may be a step between two others.
        for range in &object.arrays {
            let (start, length) = (range.start as i64, range.length as i64);
            let inside = |at: i64| at >= start && at < start + length;
            if inside(offset as i64) && !inside(to) && bytes.abs() < length {
                return Some((start + (to - start).rem_euclid(range.stride as i64)) as u64);
            }
        }
        let fits = to >= 0 && object.size.is_none_or(|size| to as u64 <= size);
        fits.then_some(to as u64)
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
        if object.modulus == 1 || (object.modulus != 0 && stride.is_multiple_of(object.modulus)) {
            return Vec::new();
        }
        let array = program.and_then(|program| object.array_at(program, offset, stride));
        match array {
            Some(range) if object.arrays.contains(&range) => return Vec::new(),
            Some(range) if object.modulus == 0 => object.arrays.push(range),
            _ => object.modulus = gcd(object.modulus, stride),
        }
        self.merge(id)
    }

    fn merge(&mut self, id: ObjectId) -> Vec<Merge> {
        let mut merges = Vec::new();
        let cells = std::mem::take(&mut self.list[id.0 as usize].cells);
        let mut kept: BTreeMap<u64, NodeId> = BTreeMap::new();
        for (offset, cell) in cells {
            let canonical = self.list[id.0 as usize].canonical(offset);
            let keeper = *kept.entry(canonical).or_insert(cell);
            if keeper == cell {
                self.places[cell.index()] = Some((id, canonical));
            } else {
                merges.push((keeper, cell));
            }
        }
        self.list[id.0 as usize].cells = kept.into_iter().collect();
        merges
    }
}

impl Object {
    pub fn cells(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.cells.iter().map(|&(_, cell)| cell)
    }

    /// Cells from behind `offset` to before `end`.
    pub fn cells_between(&self, offset: u64, end: u64) -> impl Iterator<Item = NodeId> + '_ {
        let from = self.cells.partition_point(|&(at, _)| at <= offset);
        self.cells[from..]
            .iter()
            .take_while(move |&&(at, _)| at < end)
            .map(|&(_, cell)| cell)
    }

    fn canonical(&self, offset: u64) -> u64 {
        let mut offset = offset;
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

    /// How many bytes the cell at an offset stands for: those up to the next one, or to the object's end.
    pub fn room_at(&self, offset: u64) -> Option<u64> {
        let behind = self.cells.partition_point(|&(at, _)| at <= offset);
        let next = self.cells.get(behind).map(|&(at, _)| at);
        next.or(self.size)?.checked_sub(offset)
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
