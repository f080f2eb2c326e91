//! The order in which variables are decided.

/// Variables by activity, highest first.
#[derive(Default)]
pub(super) struct Heap {
    items: Vec<u32>,
    /// Place of a variable in `items`, or `u32::MAX`.
    places: Vec<u32>,
}

impl Heap {
    pub fn grow(&mut self) {
        self.places.push(u32::MAX);
    }

    pub fn clear(&mut self) {
        for &var in &self.items {
            self.places[var as usize] = u32::MAX;
        }
        self.items.clear();
    }

    pub fn insert(&mut self, var: usize, activity: &[f64]) {
        if self.places[var] != u32::MAX {
            return;
        }
        self.places[var] = self.items.len() as u32;
        self.items.push(var as u32);
        self.up(self.items.len() - 1, activity);
    }

    /// Its activity has grown; it comes in if it was not there.
    pub fn raise(&mut self, var: usize, activity: &[f64]) {
        match self.places[var] {
            u32::MAX => self.insert(var, activity),
            place => self.up(place as usize, activity),
        }
    }

    pub fn pop(&mut self, activity: &[f64]) -> Option<usize> {
        let top = *self.items.first()? as usize;
        let last = self.items.pop()?;
        self.places[top] = u32::MAX;
        if !self.items.is_empty() {
            self.items[0] = last;
            self.places[last as usize] = 0;
            self.down(0, activity);
        }
        Some(top)
    }

    fn up(&mut self, mut at: usize, activity: &[f64]) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if activity[self.items[at] as usize] <= activity[self.items[parent] as usize] {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn down(&mut self, mut at: usize, activity: &[f64]) {
        loop {
            let weight = |place: usize| activity[self.items[place] as usize];
            let mut best = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.items.len() && weight(child) > weight(best) {
                    best = child;
                }
            }
            if best == at {
                return;
            }
            self.swap(at, best);
            at = best;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
        self.places[self.items[a] as usize] = a as u32;
        self.places[self.items[b] as usize] = b as u32;
    }
}
