//! Expression nodes: one fixed-size record per symbolic value.

/// Index into the node table. 0 means "concrete"; the table's entry 0 is unused.
pub type Label = u32;

/// Labels use the low bits of a shadow cell; the high bits say which byte of
/// the labelled value the cell stands for (see `layout::CELL_BYTE_SHIFT`).
pub const MAX_LABEL: Label = (1 << 29) - 1;

/// The operand is not a label but the constant in [`Node::imm`].
/// At most one of the three flags is set on a node.
pub const A_CONST: u8 = 1;
pub const B_CONST: u8 = 2;
pub const C_CONST: u8 = 4;

/// One symbolic value.
///
/// Operands `a`, `b`, `c` are labels of earlier nodes (the table is in
/// topological order), unless a `*_CONST` flag says that the operand is the
/// constant `imm` (zero-extended to the operand's width; operands wider than
/// 64 bits are always labels, built from [`Op::Const`] and [`Op::Concat`]).
/// `value` is what the run computed: the low 64 bits of the concrete value.
/// Bits above the width are zero in `imm` and `value`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Node {
    pub op: u8,
    pub flags: u8,
    /// Width of the result in bits; comparisons have width 1.
    pub width: u16,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub imm: u64,
    pub value: u64,
}

const _: () = assert!(core::mem::size_of::<Node>() == 32);

/// What a node computes. Semantics are those of SMT-LIB's bit-vector theory:
/// division by zero gives all ones, remainder by zero the dividend, shifting by
/// the width or more gives zero (or copies of the sign). Machine code traps or
/// is undefined in those cases; the tracer records a guard in front of them.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `imm`, at most 64 bits wide.
    Const = 1,
    /// Byte `imm` of input stream `a`; width 8.
    Input = 2,
    /// Number of bytes of input stream `a`; width 64.
    Length = 3,

    Add = 10,
    Sub = 11,
    Mul = 12,
    UDiv = 13,
    SDiv = 14,
    URem = 15,
    SRem = 16,
    And = 17,
    Or = 18,
    Xor = 19,
    Shl = 20,
    LShr = 21,
    AShr = 22,

    /// Comparisons: operands of equal width, result of width 1.
    Eq = 30,
    Ne = 31,
    Ult = 32,
    Ule = 33,
    Slt = 34,
    Sle = 35,

    /// Unary, operand `a`.
    ZExt = 40,
    SExt = 41,
    /// Bits `imm .. imm + width` of `a` (truncation is `imm == 0`).
    Extract = 42,
    /// `a` above `b`; width is the sum. A constant part narrower than 64 bits
    /// may be `imm`; its width is the node's width less the other operand's.
    Concat = 43,
    /// `a` has width 1; `b` if it is 1, else `c`.
    Ite = 44,
    /// `width / 8` bytes, little-endian, at byte offset `a` (64 bits wide) of
    /// table `b` (see `layout::TableHeader`). Always in bounds: a guard precedes.
    Read = 45,
    /// Number of ones, leading zeros, trailing zeros (the width for zero).
    Popcount = 46,
    LeadingZeros = 47,
    TrailingZeros = 48,
    /// Bytes in reverse order; bits in reverse order.
    ByteSwap = 49,
    BitReverse = 50,

    /// IEEE 754 on 32- or 64-bit patterns, rounding to nearest even.
    FAdd = 60,
    FSub = 61,
    FMul = 62,
    FDiv = 63,
    FRem = 64,
    FSqrt = 65,
    /// `a * b + c` rounded once.
    FFma = 66,
    FNeg = 67,
    FAbs = 68,
    /// Ordered comparisons, false if an operand is NaN; result of width 1.
    FEq = 69,
    FLt = 70,
    FLe = 71,
    /// 1 if either operand is NaN.
    FUnordered = 72,
    /// Conversions; truncation towards zero for float to integer.
    UToF = 73,
    SToF = 74,
    FToU = 75,
    FToS = 76,
    /// Between 32 and 64 bits, by the widths of operand and result.
    FToF = 77,
}

impl Op {
    pub const fn from_u8(n: u8) -> Option<Op> {
        use Op::*;
        Some(match n {
            1 => Const,
            2 => Input,
            3 => Length,
            10 => Add,
            11 => Sub,
            12 => Mul,
            13 => UDiv,
            14 => SDiv,
            15 => URem,
            16 => SRem,
            17 => And,
            18 => Or,
            19 => Xor,
            20 => Shl,
            21 => LShr,
            22 => AShr,
            30 => Eq,
            31 => Ne,
            32 => Ult,
            33 => Ule,
            34 => Slt,
            35 => Sle,
            40 => ZExt,
            41 => SExt,
            42 => Extract,
            43 => Concat,
            44 => Ite,
            45 => Read,
            46 => Popcount,
            47 => LeadingZeros,
            48 => TrailingZeros,
            49 => ByteSwap,
            50 => BitReverse,
            60 => FAdd,
            61 => FSub,
            62 => FMul,
            63 => FDiv,
            64 => FRem,
            65 => FSqrt,
            66 => FFma,
            67 => FNeg,
            68 => FAbs,
            69 => FEq,
            70 => FLt,
            71 => FLe,
            72 => FUnordered,
            73 => UToF,
            74 => SToF,
            75 => FToU,
            76 => FToS,
            77 => FToF,
            _ => return None,
        })
    }

    pub const fn is_comparison(self) -> bool {
        let n = self as u8;
        (n >= Op::Eq as u8 && n <= Op::Sle as u8)
            || (n >= Op::FEq as u8 && n <= Op::FUnordered as u8)
    }

    /// How many of `a`, `b`, `c` are operands (labels or constants).
    pub const fn arity(self) -> usize {
        use Op::*;
        match self {
            Const | Input | Length => 0,
            ZExt | SExt | Extract | Read | Popcount | LeadingZeros | TrailingZeros | ByteSwap
            | BitReverse | FSqrt | FNeg | FAbs | UToF | SToF | FToU | FToS | FToF => 1,
            Ite | FFma => 3,
            _ => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        let known: Vec<u8> = (0..=255).filter(|&n| Op::from_u8(n).is_some()).collect();
        assert_eq!(known.len(), 51);
        for n in known {
            assert_eq!(Op::from_u8(n).unwrap() as u8, n);
        }
    }

    #[test]
    fn comparisons_are_the_width_one_operators() {
        assert!(
            Op::Eq.is_comparison() && Op::Sle.is_comparison() && Op::FUnordered.is_comparison()
        );
        assert!(
            !Op::ZExt.is_comparison() && !Op::AShr.is_comparison() && !Op::UToF.is_comparison()
        );
    }
}
