// SPDX-License-Identifier: Apache-2.0
//! Conversions of the sixteen-bit types, on every value.
use libspark::{Element, BF16, F16};
use std::mem::size_of;

fn bits_of<T: Element>() -> usize {
    8 * size_of::<T>() / T::PER
}

#[test]
fn sizes_are_those_of_the_dtypes() {
    assert_eq!((bits_of::<F16>(), bits_of::<BF16>(), bits_of::<libspark::E4M3>()), (16, 16, 8));
    assert_eq!((bits_of::<libspark::E2M1x2>(), bits_of::<libspark::E2M3x4>()), (4, 6));
    assert_eq!(BF16::DTYPE.name(), "BF16");
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
