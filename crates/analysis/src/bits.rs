//! Sets of small numbers.

/// Grows as needed; words beyond the end count as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn has(&self, bit: u32) -> bool {
        let word = self.0.get(bit as usize / 64).copied().unwrap_or(0);
        word >> (bit % 64) & 1 == 1
    }

    /// Returns whether it was not there.
    pub fn set(&mut self, bit: u32) -> bool {
        let word = bit as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let before = self.0[word];
        self.0[word] |= 1 << (bit % 64);
        self.0[word] != before
    }

    pub fn remove(&mut self, bit: u32) {
        if let Some(word) = self.0.get_mut(bit as usize / 64) {
            *word &= !(1 << (bit % 64));
        }
    }

    /// Returns whether it grew.
    pub fn join(&mut self, other: &Bits) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grown = 0;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            grown |= other & !*own;
            *own |= other;
        }
        grown != 0
    }

    pub fn intersect(&mut self, other: &Bits) {
        self.0.truncate(other.0.len());
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= other;
        }
    }

    pub fn meets(&self, other: &Bits) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .any(|(own, other)| own & other != 0)
    }

    pub fn both(&self, other: &Bits) -> Bits {
        let words = self.0.iter().zip(&other.0);
        Bits(words.map(|(own, other)| own & other).collect())
    }

    pub fn without(&self, other: &Bits) -> Bits {
        let words = self.0.iter().enumerate();
        Bits(
            words
                .map(|(n, word)| word & !other.0.get(n).copied().unwrap_or(0))
                .collect(),
        )
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn ones(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(n, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros();
                    word &= word - 1;
                    n as u32 * 64 + bit
                })
            })
        })
    }
}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Bits {
        let mut bits = Bits::default();
        for number in numbers {
            bits.set(number);
        }
        bits
    }
}
