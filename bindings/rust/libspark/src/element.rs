// SPDX-License-Identifier: Apache-2.0
//! What a buffer may hold: plain numbers whose every bit pattern is a value.
use crate::elements::{BF16, F16};
use crate::Dtype;

/// A type of numbers in device memory. Device addresses are none of them: whoever could write those from the host could
/// make a kernel follow them anywhere.
///
/// # Safety
/// `Self` has no padding, every bit pattern of it is a value, and it is laid out as `DTYPE` says: `PER` elements in
/// `size_of::<Self>()` bytes.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// What the library calls it.
    const DTYPE: Dtype;
    /// How many elements of a tensor one `Self` holds: more than one where elements are smaller than a byte.
    const PER: usize = 1;
}

macro_rules! elements {
    ($($kind:ty = $dtype:ident;)*) => {
        $(
            // SAFETY: a number of Rust, of the width that the header gives this dtype.
            unsafe impl $crate::Element for $kind {
                const DTYPE: $crate::Dtype = $crate::Dtype::$dtype;
            }
        )*
    };
}

pub(crate) use elements;

macro_rules! wrapped {
    ($($(#[$about:meta])* $name:ident($bits:ty) = $dtype:ident, $per:expr;)*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(transparent)]
            pub struct $name(
                /// The bits.
                pub $bits,
            );

            // SAFETY: transparent over unsigned bytes or words.
            unsafe impl $crate::Element for $name {
                const DTYPE: $crate::Dtype = $crate::Dtype::$dtype;
                const PER: usize = $per;
            }
        )*
    };
}

pub(crate) use wrapped;

/// A row of the list of all.
pub(crate) const fn of<T: Element>() -> (Dtype, usize, usize) {
    (T::DTYPE, T::PER, std::mem::size_of::<T>())
}

impl BF16 {
    /// Rounded to nearest even; NaN stays NaN.
    pub fn from_f32(value: f32) -> BF16 {
        let bits = value.to_bits();
        if value.is_nan() {
            return BF16((bits >> 16) as u16 | 0x40);
        }
        BF16(((u64::from(bits) + 0x7fff + u64::from(bits >> 16 & 1)) >> 16) as u16)
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl F16 {
    /// Rounded to nearest even; beyond the largest it is infinity, NaN stays NaN.
    pub fn from_f32(value: f32) -> F16 {
        let sign = (value.to_bits() >> 16 & 0x8000) as u16;
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return F16(sign | 0x7e00);
        }
        if magnitude >= 65520.0 {
            return F16(sign | 0x7c00);
        }
        // Adding a power of two whose last place is half precision's last place there rounds, to nearest even.
        let exponent = (magnitude.to_bits() >> 23).max(113);
        let anchor = f32::from_bits((exponent + 13) << 23);
        let steps = (magnitude + anchor).to_bits() - anchor.to_bits();
        F16(sign | (((exponent - 113) << 10) + steps) as u16)
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let (exponent, fraction) = (u32::from(self.0 >> 10 & 31), u32::from(self.0 & 0x3ff));
        let magnitude = match exponent {
            0 => fraction as f32 * 2f32.powi(-24),
            31 => f32::from_bits(0x7f80_0000 | fraction << 13),
            _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
        };
        f32::from_bits(sign | magnitude.to_bits())
    }
}

impl From<BF16> for f32 {
    fn from(value: BF16) -> f32 {
        value.to_f32()
    }
}

impl From<F16> for f32 {
    fn from(value: F16) -> f32 {
        value.to_f32()
    }
}
