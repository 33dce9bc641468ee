// SPDX-License-Identifier: Apache-2.0
//! Quantised tensors: what reaches the library, what is refused before, and the forms that it reads.
use libspark::ops::{Dequantize, Gemm, Quantize};
use libspark::{Arch, Context, DeviceBuffer, Quant, Record, ScaleLayout, Scheme, Status, Stream, TensorView};
use libspark::{Dtype, TensorViewMut, U4x2, E4M3, F16, UE4M3, UE8M0};

#[test]
fn every_word_reaches_the_c_structure() {
    let stream = Stream::new(&Context::new(0).unwrap()).unwrap();
    let data = DeviceBuffer::<E4M3>::zeroed(&stream, 4 * 256 * 64).unwrap();
    let scales = DeviceBuffer::<UE8M0>::zeroed(&stream, 4096).unwrap();
    let zeros = DeviceBuffer::<U4x2>::zeroed(&stream, 2048).unwrap();
    let globals = DeviceBuffer::from_slice(&stream, &[1.0f32; 7]).unwrap();
    let quant = Quant::blocks(&[1, 2, 32])
        .scale(scales.view(&[4096]).unwrap())
        .scale_stride(&[1024, 3, 1])
        .tiled(ScaleLayout::TILED_128X4, [1, 2])
        .zero_point(zeros.view(&[4096]).unwrap())
        .global_scale(globals.view(&[7]).unwrap(), 2);
    let view = data.view(&[4, 256, 64]).unwrap().quantized(quant).unwrap();
    let raw = view.as_raw().quant;
    assert_eq!((raw.scheme, raw.scale_layout, raw.tile), (Scheme::BLOCK.0, ScaleLayout::TILED_128X4.0, [1, 2]));
    assert_eq!((raw.block, raw.record), ([1, 2, 32, 0, 0, 0], 0));
    assert_eq!((raw.scale_dtype, raw.scale, raw.scale_bytes), (Dtype::UE8M0.0, scales.as_raw(), 4096));
    assert_eq!((raw.zero_dtype, raw.zero_point, raw.zero_bytes), (Dtype::U4.0, zeros.as_raw(), 2048));
    assert_eq!((raw.global_scale, raw.global_stride), (globals.as_raw(), 2));
    assert_eq!(raw.scale_stride, [1024, 3, 1, 0, 0, 0]);
    assert_eq!(Quant::per_row().as_raw().scheme, Scheme::PER_ROW.0);
    assert_eq!(Quant::per_tensor().as_raw().scheme, Scheme::PER_TENSOR.0);
    assert_eq!(Quant::record(Record::Q4_1).as_raw().record, 3);
    assert_eq!(Quant::record(Record(1 << 16 | 3)).as_raw().record, u16::MAX, "no other format");
}

#[test]
fn scales_that_do_not_fit() {
    let ctx = Context::new(0).unwrap();
    let data = DeviceBuffer::<E4M3>::uninit(&ctx, 64).unwrap();
    let globals = DeviceBuffer::<f32>::uninit(&ctx, 7).unwrap();
    let with = |quant: Quant| data.view(&[4, 16]).unwrap().quantized(quant).map(|_| ()).map_err(|e| e.status());
    assert_eq!(with(Quant::blocks(&[1, 2, 3])), Err(Status::INVALID_SHAPE));
    assert_eq!(with(Quant::blocks(&[0; 9])), Err(Status::INVALID_SHAPE));
    assert_eq!(with(Quant::per_row().scale_stride(&[1])), Err(Status::INVALID_SHAPE));
    assert_eq!(with(Quant::per_row().global_scale(globals.view(&[7]).unwrap(), 2)), Ok(()));
    assert_eq!(with(Quant::per_row().global_scale(globals.view(&[7]).unwrap(), 3)), Err(Status::INVALID_BOUNDS));
    assert_eq!(
        with(Quant::per_row().global_scale(globals.view(&[7]).unwrap(), usize::MAX >> 2)),
        Err(Status::INVALID_BOUNDS)
    );
    // An empty rest of a buffer is no memory of unknown size.
    let none = globals.strided(7, &[0], &[1]).unwrap();
    assert_eq!(Quant::per_row().scale(none).as_raw().scale, 0);
    assert_eq!(with(Quant::per_row().global_scale(none, 0)), Err(Status::INVALID_BOUNDS));
}

#[test]
fn the_library_answers() {
    let ctx = Context::offline(Arch::SM_120).unwrap();
    let a = TensorView::<F16>::planned(&[8, 32]).unwrap();
    let quant = Quant::blocks(&[1, 32]).scale(TensorView::<UE4M3>::planned(&[8, 1]).unwrap());
    let call = Gemm::new().a(a.quantized(quant).unwrap()).b(a).d(TensorViewMut::<f32>::planned(&[8, 8]).unwrap());
    let error = call.query(&ctx).unwrap_err();
    assert_eq!((error.status(), error.field()), (Status::UNSUPPORTED_DTYPE, Some("a")), "{error}");

    let x = TensorView::<u8>::planned(&[2, 34]).unwrap();
    let y = || TensorViewMut::<f32>::planned(&[2, 32]).unwrap();
    Dequantize::new().x(x.records(Record::Q8_0)).y(y()).query(&ctx).unwrap();
    Dequantize::new().x(x.quantized(Quant::record(Record::Q8_0)).unwrap()).y(y()).query(&ctx).unwrap();
    let error = Dequantize::new().x(x.quantized(Quant::per_row()).unwrap()).y(y()).query(&ctx).unwrap_err();
    assert_eq!((error.status(), error.field()), (Status::UNSUPPORTED_DTYPE, Some("x")), "{error}");
    assert!(error.message().contains("Q8_0"), "the whole sentence: {error}");
}

#[test]
fn codes_are_written_over_scales_that_are_given_or_made() {
    let stream = Stream::new(&Context::new(0).unwrap()).unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32, -3.0, 0.5, 448.0, 7.0, 900.0]).unwrap();
    let mut codes = DeviceBuffer::<E4M3>::zeroed(&stream, 6).unwrap();
    let mut quantize = |quant: Quant| {
        let y = codes.view_mut(&[2, 3]).unwrap().quantized(quant).unwrap();
        Quantize::new().x(x.view(&[2, 3]).unwrap()).y(y).launch(&stream).unwrap();
        codes.to_vec(&stream).unwrap().iter().map(|code| code.0).collect::<Vec<u8>>()
    };
    let given = DeviceBuffer::from_slice(&stream, &[1.0f32]).unwrap();
    let written = quantize(Quant::per_tensor().scale(given.view(&[1]).unwrap()));
    assert_eq!(written, [0x38, 0xc4, 0x30, 0x7e, 0x4e, 0x7e]);
    let made = DeviceBuffer::<f32>::zeroed(&stream, 2).unwrap();
    let written = quantize(Quant::per_row().scale(made.view(&[2]).unwrap()));
    assert_eq!(made.to_vec(&stream).unwrap(), [3.0 / 448.0, 900.0 / 448.0]);
    assert_eq!((written[1], written[5]), (0xfe, 0x7e));
}

#[test]
fn forms_are_told() {
    let operator = libspark::operators().find(|operator| operator.name() == "dequantize").unwrap();
    let forms: Vec<_> = operator.fields().flat_map(|field| field.forms().collect::<Vec<_>>()).collect();
    let (forms, scaled): (Vec<_>, Vec<_>) = forms.into_iter().partition(|form| form.scheme() == Scheme::RECORD);
    for told in ["TENSOR", "128X128", "NVFP4"] {
        assert!(scaled.iter().any(|form| form.name() == told), "{told}");
    }
    assert!(scaled.iter().all(|form| form.has_global_scale() == (form.name() == "NVFP4")));
    let of_int4 = |name: &str| name.starts_with("INT4_");
    let scales_of_three = |name: &str| of_int4(name) || name.starts_with("NF4_");
    assert!(scaled.iter().all(|form| form.scale_dtypes().count() == if scales_of_three(form.name()) { 3 } else { 1 }));
    assert!(scaled.iter().all(|form| form.zero_dtypes().eq(of_int4(form.name()).then_some(Dtype::U4))));
    assert!(scaled.iter().all(|form| form.record().is_none()));
    let found: Vec<_> = forms.iter().map(|form| (form.name(), form.record().unwrap())).collect();
    for told in [("Q8_0", (Record::Q8_0, 34, 32)), ("Q4_K", (Record::Q4_K, 144, 256))] {
        assert!(found.contains(&told), "{found:?}");
    }
    for form in forms {
        assert_eq!((form.scheme(), form.dtypes().collect::<Vec<_>>()), (Scheme::RECORD, vec![Dtype::U8]));
        assert_eq!(form.scale_dtypes().chain(form.zero_dtypes()).count(), 0);
        assert!(form.block().is_empty() && !form.has_global_scale() && !form.about().is_empty());
    }
    let gemm = libspark::operators().find(|operator| operator.name() == "gemm").unwrap();
    for field in gemm.fields() {
        let names: Vec<_> = field.forms().map(|form| form.name()).collect();
        match field.name() {
            "a" => assert!(names.contains(&"1X128") && !names.contains(&"128X128")),
            "b" => assert!(names.contains(&"128X128") && names.contains(&"Q8_0")),
            "d" => assert!(names.contains(&"1X128") && !names.contains(&"Q8_0")),
            _ => assert!(names.is_empty(), "{}", field.name()),
        }
    }
    let d: Vec<_> = gemm.fields().find(|field| field.name() == "d").unwrap().dtypes().collect();
    assert_eq!(d[..5], [Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I8, Dtype::I32]);
    assert_eq!(d[5..], [Dtype::I4, Dtype::E4M3, Dtype::E5M2, Dtype::E2M1]);
}
