// SPDX-License-Identifier: Apache-2.0
//! Widths of all types; conversions of the sixteen-bit types, on every value.
use libspark::{
    Bool8, Dtype, E2M1x2, E2M3x4, E3M2x4, Element, I4x2, NF4x2, Tf32, U4x2, BF16, E4M3, E5M2, F16, UE4M3, UE8M0,
};
use std::mem::size_of;

fn agrees<T: Element>() {
    let wanted = T::DTYPE.bits() as usize;
    assert_eq!(8 * size_of::<T>(), wanted * T::PER, "{}", T::DTYPE.name());
    assert_ne!(wanted, 0);
}

#[test]
fn widths_are_those_of_the_library() {
    macro_rules! all {
        ($($kind:ty)*) => { $(agrees::<$kind>();)* };
    }
    all! {
        f32 f64 i8 u8 i32 u32 i64 u64 F16 BF16 E4M3 E5M2 UE8M0 UE4M3 Bool8 Tf32 E2M1x2 I4x2 U4x2 NF4x2 E2M3x4 E3M2x4
    }
    assert_eq!((BF16::DTYPE.name(), Dtype::NONE.bits(), Dtype(60).bits()), ("BF16", 0, 0));
}

#[test]
fn each_value_survives() {
    for bits in 0..=u16::MAX {
        let (half, brain) = (F16(bits).to_f32(), BF16(bits).to_f32());
        assert!(half.is_nan() || F16::from_f32(half) == F16(bits), "{bits:#x}");
        assert!(brain.is_nan() || BF16::from_f32(brain) == BF16(bits), "{bits:#x}");
        assert_eq!(half.is_nan(), F16::from_f32(half).to_f32().is_nan());
        assert_eq!(brain.is_nan(), BF16::from_f32(brain).to_f32().is_nan());
    }
}

#[test]
fn halfway_goes_to_even() {
    // Between each finite value and the next one: the middle has an exact f32, and so do its neighbours.
    for bits in 0..0x7bffu16 {
        let (low, high) = (F16(bits).to_f32(), F16(bits + 1).to_f32());
        let middle = (low + high) / 2.0;
        let below = f32::from_bits(middle.to_bits() - 1);
        let above = f32::from_bits(middle.to_bits() + 1);
        let even = bits + (bits & 1);
        assert_eq!((F16::from_f32(below).0, F16::from_f32(middle).0, F16::from_f32(above).0), (bits, even, bits + 1));
        assert_eq!(F16::from_f32(-middle).0, even | 0x8000);
    }
    assert_eq!((F16::from_f32(65519.9).0, F16::from_f32(65520.0).0, F16::from_f32(1e30).0), (0x7bff, 0x7c00, 0x7c00));
    assert_eq!(BF16::from_f32(f32::from_bits(0x3f80_8000)).0, 0x3f80);
    assert_eq!(BF16::from_f32(f32::from_bits(0x3f81_8000)).0, 0x3f82);
    assert_eq!(BF16::from_f32(f32::MAX).0, 0x7f80);
}
