//! Input variables and interned sets of them.

use rustc_hash::FxHashMap;

/// What expressions range over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Var {
    /// One input byte, 8 bits wide.
    Byte { stream: u32, offset: u32 },
    /// The number of bytes of a stream, 64 bits wide, at most its capacity.
    Length { stream: u32 },
}

/// Dense number of a variable inside one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct VarId(pub u32);

/// Number of an interned set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetId(pub u32);

pub(crate) const EMPTY: SetId = SetId(0);

/// A window of a bit set: path conditions use neighbouring bytes, so most sets
/// are one or two words wherever in the input they are.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct VarSet {
    first: u32,
    words: Box<[u64]>,
}

impl VarSet {
    fn single(var: VarId) -> VarSet {
        VarSet {
            first: var.0 / 64,
            words: [1 << (var.0 % 64)].into(),
        }
    }

    fn union(&self, other: &VarSet) -> VarSet {
        if self.words.is_empty() {
            return other.clone();
        }
        if other.words.is_empty() {
            return self.clone();
        }
        let first = self.first.min(other.first);
        let end = self.end().max(other.end());
        let mut words = vec![0u64; (end - first) as usize];
        for set in [self, other] {
            for (i, word) in set.words.iter().enumerate() {
                words[(set.first - first) as usize + i] |= word;
            }
        }
        VarSet {
            first,
            words: words.into(),
        }
    }

    fn end(&self) -> u32 {
        self.first + self.words.len() as u32
    }

    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = VarId> + '_ {
        self.words.iter().enumerate().flat_map(move |(i, &word)| {
            let base = (self.first + i as u32) * 64;
            Ones(word).map(move |bit| VarId(base + bit))
        })
    }

    pub fn intersects(&self, marked: &Marks) -> bool {
        let words = marked.words.iter().skip(self.first as usize);
        self.words.iter().zip(words).any(|(a, b)| a & b != 0)
    }

    /// The members that are not marked yet; they become marked.
    pub fn mark_new(&self, marked: &mut Marks, mut found: impl FnMut(VarId)) {
        let end = self.end() as usize;
        if marked.words.len() < end {
            marked.words.resize(end, 0);
        }
        for (i, &word) in self.words.iter().enumerate() {
            let slot = &mut marked.words[self.first as usize + i];
            let fresh = word & !*slot;
            *slot |= word;
            let base = (self.first + i as u32) * 64;
            Ones(fresh).for_each(|bit| found(VarId(base + bit)));
        }
    }
}

struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// A growing set of marked variables.
#[derive(Clone, Default)]
pub(crate) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    pub fn clear(&mut self) {
        self.words.clear();
    }

    pub fn mark(&mut self, var: VarId) -> bool {
        let at = (var.0 / 64) as usize;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (var.0 % 64);
        let fresh = self.words[at] & bit == 0;
        self.words[at] |= bit;
        fresh
    }
}

/// All variables and variable sets of an arena.
pub(crate) struct Variables {
    vars: Vec<Var>,
    ids: FxHashMap<Var, VarId>,
    sets: Vec<VarSet>,
    interned: FxHashMap<VarSet, SetId>,
    unions: FxHashMap<(SetId, SetId), SetId>,
}

impl Variables {
    pub fn new() -> Variables {
        let mut interned = FxHashMap::default();
        interned.insert(VarSet::default(), EMPTY);
        Variables {
            vars: Vec::new(),
            ids: FxHashMap::default(),
            sets: vec![VarSet::default()],
            interned,
            unions: FxHashMap::default(),
        }
    }

    pub fn id(&mut self, var: Var) -> VarId {
        *self.ids.entry(var).or_insert_with(|| {
            self.vars.push(var);
            VarId(self.vars.len() as u32 - 1)
        })
    }

    pub fn find(&self, var: Var) -> Option<VarId> {
        self.ids.get(&var).copied()
    }

    pub fn var(&self, id: VarId) -> Var {
        self.vars[id.0 as usize]
    }

    pub fn set(&self, id: SetId) -> &VarSet {
        &self.sets[id.0 as usize]
    }

    pub fn single(&mut self, var: VarId) -> SetId {
        self.intern(VarSet::single(var))
    }

    pub fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let key = if a.0 < b.0 { (a, b) } else { (b, a) };
        if let Some(&known) = self.unions.get(&key) {
            return known;
        }
        let set = self.set(a).union(self.set(b));
        let id = self.intern(set);
        self.unions.insert(key, id);
        id
    }

    fn intern(&mut self, set: VarSet) -> SetId {
        if let Some(&id) = self.interned.get(&set) {
            return id;
        }
        let id = SetId(self.sets.len() as u32);
        self.sets.push(set.clone());
        self.interned.insert(set, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_set() {
        let mut variables = Variables::new();
        let ids: Vec<VarId> = [0, 70, 700]
            .map(|offset| variables.id(Var::Byte { stream: 0, offset }))
            .into();
        let far = variables.id(Var::Byte {
            stream: 0,
            offset: 0,
        });
        assert_eq!(far, ids[0]);
        let singles: Vec<SetId> = ids.iter().map(|&id| variables.single(id)).collect();
        let ab = variables.union(singles[0], singles[1]);
        let ab_c = variables.union(ab, singles[2]);
        let bc = variables.union(singles[2], singles[1]);
        let a_bc = variables.union(singles[0], bc);
        assert_eq!(ab_c, a_bc);
        assert_eq!(variables.set(ab_c).iter().collect::<Vec<_>>(), ids);
        assert_eq!(variables.set(ab_c).len(), 3);
    }

    #[test]
    fn marks_report_new_members_once() {
        let mut variables = Variables::new();
        let sets: Vec<SetId> = (0..130)
            .map(|offset| {
                let id = variables.id(Var::Byte { stream: 0, offset });
                variables.single(id)
            })
            .collect();
        let both = variables.union(sets[3], sets[129]);
        let mut marks = Marks::default();
        marks.mark(VarId(3));
        assert!(variables.set(both).intersects(&marks));
        assert!(!variables.set(sets[129]).intersects(&marks));
        let mut fresh = Vec::new();
        variables
            .set(both)
            .mark_new(&mut marks, |id| fresh.push(id.0));
        assert_eq!(fresh, [129]);
        assert!(!marks.mark(VarId(129)) && marks.mark(VarId(128)));
    }
}
