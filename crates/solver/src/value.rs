//! Bit-vector values of any width, with the meaning of SMT-LIB's operators.
//!
//! Up to 128 bits a value is a machine number; wider ones are limbs. This is
//! the reference arithmetic that models are checked with, so it shares nothing
//! with the simplifier's and the bit-blaster's own.

use std::cmp::Ordering;
use std::fmt;

/// A bit-vector. Bits above the width are zero.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Value {
    width: u32,
    bits: Bits,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Bits {
    Small(u128),
    /// Little-endian limbs, exactly as many as the width needs.
    Wide(Box<[u64]>),
}

impl Value {
    /// `bits` cut to `width`.
    pub fn new(width: u32, bits: u128) -> Value {
        if width <= 128 {
            return Value {
                width,
                bits: Bits::Small(bits & mask128(width)),
            };
        }
        Value::from_limbs(width, vec![bits as u64, (bits >> 64) as u64])
    }

    /// Little-endian limbs, cut or filled with zeros to `width`.
    pub fn from_limbs(width: u32, mut limbs: Vec<u64>) -> Value {
        limbs.resize(width.div_ceil(64) as usize, 0);
        if !width.is_multiple_of(64) {
            let last = limbs.len() - 1;
            limbs[last] &= (1 << (width % 64)) - 1;
        }
        if width > 128 {
            return Value {
                width,
                bits: Bits::Wide(limbs.into()),
            };
        }
        let low = u128::from(limbs.first().copied().unwrap_or(0));
        let high = u128::from(limbs.get(1).copied().unwrap_or(0));
        Value {
            width,
            bits: Bits::Small(low | high << 64),
        }
    }

    pub fn zero(width: u32) -> Value {
        Value::new(width, 0)
    }

    pub fn ones(width: u32) -> Value {
        Value::from_limbs(width, vec![u64::MAX; width.div_ceil(64) as usize])
    }

    pub fn bool(truth: bool) -> Value {
        Value::new(1, u128::from(truth))
    }

    pub fn width(&self) -> u32 {
        self.width
    }

    pub fn limbs(&self) -> Vec<u64> {
        match &self.bits {
            Bits::Small(n) if self.width <= 64 => vec![*n as u64],
            Bits::Small(n) => vec![*n as u64, (*n >> 64) as u64],
            Bits::Wide(limbs) => limbs.to_vec(),
        }
    }

    /// The value as a number, if it has at most 64 significant bits.
    pub fn to_u64(&self) -> Option<u64> {
        match &self.bits {
            Bits::Small(n) => u64::try_from(*n).ok(),
            Bits::Wide(limbs) => limbs[1..].iter().all(|&limb| limb == 0).then(|| limbs[0]),
        }
    }

    /// The low 64 bits.
    pub fn low_u64(&self) -> u64 {
        match &self.bits {
            Bits::Small(n) => *n as u64,
            Bits::Wide(limbs) => limbs[0],
        }
    }

    pub fn is_zero(&self) -> bool {
        self.to_u64() == Some(0)
    }

    pub fn is_true(&self) -> bool {
        !self.is_zero()
    }

    pub fn bit(&self, index: u32) -> bool {
        match &self.bits {
            _ if index >= self.width => false,
            Bits::Small(n) => n >> index & 1 == 1,
            Bits::Wide(limbs) => limbs[(index / 64) as usize] >> (index % 64) & 1 == 1,
        }
    }

    pub fn sign(&self) -> bool {
        self.bit(self.width - 1)
    }

    pub fn add(&self, other: &Value) -> Value {
        match (&self.bits, &other.bits) {
            (Bits::Small(a), Bits::Small(b)) => Value::new(self.width, a.wrapping_add(*b)),
            _ => {
                let mut carry = 0u128;
                self.zip(other, |a, b| {
                    let sum = u128::from(a) + u128::from(b) + carry;
                    carry = sum >> 64;
                    sum as u64
                })
            }
        }
    }

    pub fn neg(&self) -> Value {
        self.not().add(&Value::new(self.width, 1))
    }

    pub fn sub(&self, other: &Value) -> Value {
        self.add(&other.neg())
    }

    pub fn mul(&self, other: &Value) -> Value {
        if let (Bits::Small(a), Bits::Small(b)) = (&self.bits, &other.bits) {
            return Value::new(self.width, a.wrapping_mul(*b));
        }
        let (a, b) = (self.limbs(), other.limbs());
        let mut out = vec![0u64; a.len()];
        for (i, &x) in a.iter().enumerate() {
            let mut carry = 0u128;
            for (j, &y) in b.iter().enumerate().take(a.len() - i) {
                let sum = u128::from(x) * u128::from(y) + u128::from(out[i + j]) + carry;
                out[i + j] = sum as u64;
                carry = sum >> 64;
            }
        }
        Value::from_limbs(self.width, out)
    }

    pub fn udiv(&self, other: &Value) -> Value {
        self.divide(other).0
    }

    pub fn urem(&self, other: &Value) -> Value {
        self.divide(other).1
    }

    pub fn sdiv(&self, other: &Value) -> Value {
        let quotient = self.abs().udiv(&other.abs());
        if self.sign() != other.sign() {
            quotient.neg()
        } else {
            quotient
        }
    }

    /// The remainder has the sign of the dividend.
    pub fn srem(&self, other: &Value) -> Value {
        let rest = self.abs().urem(&other.abs());
        if self.sign() { rest.neg() } else { rest }
    }

    fn abs(&self) -> Value {
        if self.sign() {
            self.neg()
        } else {
            self.clone()
        }
    }

    fn divide(&self, other: &Value) -> (Value, Value) {
        if other.is_zero() {
            return (Value::ones(self.width), self.clone());
        }
        if let (Bits::Small(a), Bits::Small(b)) = (&self.bits, &other.bits) {
            return (Value::new(self.width, a / b), Value::new(self.width, a % b));
        }
        // One bit more than the operands, so that the running rest cannot overflow.
        let wide = self.width + 1;
        let divisor = other.zext(wide);
        let one = Value::new(wide, 1);
        let mut rest = Value::zero(wide);
        let mut quotient = vec![0u64; self.width.div_ceil(64) as usize];
        for index in (0..self.width).rev() {
            rest = rest.shl(&one);
            if self.bit(index) {
                rest = rest.or(&one);
            }
            if !rest.ult(&divisor) {
                rest = rest.sub(&divisor);
                quotient[(index / 64) as usize] |= 1 << (index % 64);
            }
        }
        (
            Value::from_limbs(self.width, quotient),
            rest.extract(0, self.width),
        )
    }

    pub fn not(&self) -> Value {
        Value::from_limbs(self.width, self.limbs().iter().map(|limb| !limb).collect())
    }

    pub fn and(&self, other: &Value) -> Value {
        self.zip(other, |a, b| a & b)
    }

    pub fn or(&self, other: &Value) -> Value {
        self.zip(other, |a, b| a | b)
    }

    pub fn xor(&self, other: &Value) -> Value {
        self.zip(other, |a, b| a ^ b)
    }

    fn zip(&self, other: &Value, mut f: impl FnMut(u64, u64) -> u64) -> Value {
        let limbs = self
            .limbs()
            .iter()
            .zip(other.limbs())
            .map(|(&a, b)| f(a, b))
            .collect();
        Value::from_limbs(self.width, limbs)
    }

    pub fn shl(&self, amount: &Value) -> Value {
        match self.shift_amount(amount) {
            None => Value::zero(self.width),
            Some(0) => self.clone(),
            Some(n) => self.extract(0, self.width - n).concat(&Value::zero(n)),
        }
    }

    pub fn lshr(&self, amount: &Value) -> Value {
        match self.shift_amount(amount) {
            None => Value::zero(self.width),
            Some(n) => self.extract(n, self.width - n).zext(self.width),
        }
    }

    pub fn ashr(&self, amount: &Value) -> Value {
        match self.shift_amount(amount) {
            None if self.sign() => Value::ones(self.width),
            None => Value::zero(self.width),
            Some(n) => self.extract(n, self.width - n).sext(self.width),
        }
    }

    fn shift_amount(&self, amount: &Value) -> Option<u32> {
        amount
            .to_u64()
            .filter(|&n| n < u64::from(self.width))
            .map(|n| n as u32)
    }

    pub fn ult(&self, other: &Value) -> bool {
        self.cmp_unsigned(other) == Ordering::Less
    }

    pub fn slt(&self, other: &Value) -> bool {
        match (self.sign(), other.sign()) {
            (true, false) => true,
            (false, true) => false,
            _ => self.ult(other),
        }
    }

    pub fn cmp_unsigned(&self, other: &Value) -> Ordering {
        match (&self.bits, &other.bits) {
            (Bits::Small(a), Bits::Small(b)) => a.cmp(b),
            _ => self.limbs().iter().rev().cmp(other.limbs().iter().rev()),
        }
    }

    pub fn zext(&self, width: u32) -> Value {
        Value::from_limbs(width, self.limbs())
    }

    pub fn sext(&self, width: u32) -> Value {
        if !self.sign() || width == self.width {
            return self.zext(width);
        }
        Value::ones(width - self.width).concat(self)
    }

    /// Bits `low .. low + width`.
    pub fn extract(&self, low: u32, width: u32) -> Value {
        if let Bits::Small(n) = &self.bits {
            return Value::new(width, if low >= 128 { 0 } else { n >> low });
        }
        let limbs = self.limbs();
        let (skip, shift) = ((low / 64) as usize, low % 64);
        let at = |i: usize| limbs.get(i).copied().unwrap_or(0);
        let out = (0..width.div_ceil(64) as usize)
            .map(|i| match shift {
                0 => at(skip + i),
                _ => at(skip + i) >> shift | at(skip + i + 1) << (64 - shift),
            })
            .collect();
        Value::from_limbs(width, out)
    }

    /// `self` above `low`.
    pub fn concat(&self, low: &Value) -> Value {
        let width = self.width + low.width;
        if let (Bits::Small(a), Bits::Small(b), true) = (&self.bits, &low.bits, width <= 128) {
            return Value::new(
                width,
                if low.width == 128 {
                    *b
                } else {
                    a << low.width | b
                },
            );
        }
        let mut out = low.limbs();
        out.resize(width.div_ceil(64) as usize, 0);
        let (skip, shift) = ((low.width / 64) as usize, low.width % 64);
        for (i, limb) in self.limbs().into_iter().enumerate() {
            if skip + i < out.len() {
                out[skip + i] |= limb << shift;
            }
            if shift != 0 && skip + i + 1 < out.len() {
                out[skip + i + 1] |= limb >> (64 - shift);
            }
        }
        Value::from_limbs(width, out)
    }

    pub fn popcount(&self) -> u32 {
        self.limbs().iter().map(|limb| limb.count_ones()).sum()
    }

    pub fn leading_zeros(&self) -> u32 {
        (0..self.width).rev().take_while(|&i| !self.bit(i)).count() as u32
    }

    pub fn trailing_zeros(&self) -> u32 {
        (0..self.width).take_while(|&i| !self.bit(i)).count() as u32
    }

    /// The width is a multiple of 8.
    pub fn byte_swap(&self) -> Value {
        let parts = (0..self.width / 8).map(|i| self.extract(i * 8, 8));
        parts
            .reduce(|high, low| high.concat(&low))
            .expect("at least one byte")
    }

    pub fn bit_reverse(&self) -> Value {
        let mut limbs = vec![0u64; self.width.div_ceil(64) as usize];
        for index in (0..self.width).filter(|&i| self.bit(i)) {
            let target = self.width - 1 - index;
            limbs[(target / 64) as usize] |= 1 << (target % 64);
        }
        Value::from_limbs(self.width, limbs)
    }
}

fn mask128(width: u32) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}:{}", self.width)
    }
}

/// Decimal up to 64 significant bits, hexadecimal beyond.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(n) = self.to_u64() {
            return write!(f, "{n}");
        }
        let text: String = self
            .limbs()
            .iter()
            .rev()
            .map(|limb| format!("{limb:016x}"))
            .collect();
        write!(f, "0x{}", text.trim_start_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(width: u32, limbs: &[u64]) -> Value {
        Value::from_limbs(width, limbs.to_vec())
    }

    #[test]
    fn division_follows_smtlib() {
        let v = |n: i64| Value::new(8, n as u128);
        assert_eq!(v(7).udiv(&v(0)), Value::ones(8));
        assert_eq!(v(7).urem(&v(0)), v(7));
        assert_eq!(v(-128).sdiv(&v(-1)), v(-128));
        assert_eq!(v(-7).sdiv(&v(2)), v(-3));
        assert_eq!(v(-7).srem(&v(2)), v(-1));
        assert_eq!(v(7).srem(&v(-2)), v(1));
        assert_eq!(v(-7).sdiv(&v(0)), v(1));
        assert_eq!(v(-7).srem(&v(0)), v(-7));
    }

    #[test]
    fn shifts_saturate() {
        let v = Value::new(8, 0x90);
        assert_eq!(v.shl(&Value::new(8, 8)), Value::zero(8));
        assert_eq!(v.lshr(&Value::new(8, 200)), Value::zero(8));
        assert_eq!(v.ashr(&Value::new(8, 9)), Value::ones(8));
        assert_eq!(v.ashr(&Value::new(8, 4)), Value::new(8, 0xf9));
    }

    #[test]
    fn wide_arithmetic_carries_across_limbs() {
        let max = wide(200, &[u64::MAX, u64::MAX, u64::MAX]);
        let one = wide(200, &[1]);
        assert_eq!(max.add(&one), wide(200, &[0, 0, 0, 1]));
        assert_eq!(wide(200, &[0, 0, 0, 1]).sub(&one), max);
        // (2^100 + 1)^2 = 2^200 + 2^101 + 1
        let n = wide(200, &[1, 1 << 36]);
        assert_eq!(n.mul(&n), wide(200, &[1, 1 << 37]));
        let product = wide(256, &[0, 0, 7]).mul(&wide(256, &[12345]));
        assert_eq!(product.udiv(&wide(256, &[0, 0, 7])), wide(256, &[12345]));
        assert_eq!(
            product.add(&wide(256, &[9])).urem(&wide(256, &[0, 0, 7])),
            wide(256, &[9])
        );
        assert!(wide(200, &[5, 0, 1]).ult(&wide(200, &[0, 0, 2])));
    }

    #[test]
    fn wide_parts_round_trip() {
        let v = wide(
            200,
            &[0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0xaaaa, 0x55],
        );
        let (high, low) = (v.extract(77, 123), v.extract(0, 77));
        assert_eq!(high.concat(&low), v);
        assert_eq!(v.byte_swap().byte_swap(), v);
        assert_eq!(v.bit_reverse().bit_reverse(), v);
        assert_eq!(v.sext(300).extract(0, 200), v);
        assert_eq!(Value::ones(5).sext(130).popcount(), 130);
        assert_eq!(
            v.shl(&wide(200, &[70])).lshr(&wide(200, &[70])),
            v.extract(0, 130).zext(200)
        );
    }

    #[test]
    fn counts() {
        let v = Value::new(12, 0b0000_0101_1000);
        assert_eq!(
            (v.popcount(), v.leading_zeros(), v.trailing_zeros()),
            (3, 5, 3)
        );
        assert_eq!(Value::zero(12).leading_zeros(), 12);
        assert_eq!(Value::zero(12).trailing_zeros(), 12);
    }
}
