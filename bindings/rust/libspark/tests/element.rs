// SPDX-License-Identifier: Apache-2.0
//! Widths of all types; conversions of the sixteen-bit types, on every value.
use libspark::{Dtype, Element, BF16, ELEMENTS, F16};

#[test]
fn widths_are_those_of_the_library() {
    for &(dtype, per, bytes) in ELEMENTS {
        assert_eq!(8 * bytes, dtype.bits() as usize * per, "{}", dtype.name());
        assert_ne!(bytes, 0);
    }
    assert_eq!((BF16::DTYPE.name(), Dtype::NONE.bits(), Dtype(60).bits()), ("BF16", 0, 0));
}

#[test]
fn every_dtype_but_addresses_is_that_of_a_type() {
    for dtype in (0..64).map(Dtype) {
        let listed = dtype == Dtype::DEVPTR || ELEMENTS.iter().any(|row| row.0 == dtype);
        assert_eq!(dtype.bits() != 0, listed, "{dtype:?}");
    }
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
