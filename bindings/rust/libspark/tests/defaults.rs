// SPDX-License-Identifier: Apache-2.0
//! What is not set has its default, a 0 that is set is 0, and what has no default is asked for.
use libspark::ops::{Gemm, L2norm, Layernorm, Rmsnorm, Rope, Softmax};
use libspark::{Arch, Context, DeviceBuffer, Error, OpInfo, Result, Status, Stream, TensorView, TensorViewMut, BF16};

fn stream() -> Stream {
    Stream::new(&Context::new(0).expect("a device, or LIBSPARK_DRIVER=emu")).unwrap()
}

fn halves(stream: &Stream, values: &[f32]) -> DeviceBuffer<BF16> {
    let halves: Vec<_> = values.iter().map(|&value| BF16::from_f32(value)).collect();
    DeviceBuffer::from_slice(stream, &halves).unwrap()
}

#[test]
fn alpha_of_gemm() {
    let stream = stream();
    let (a, b) = (halves(&stream, &[1.0, 2.0]), halves(&stream, &[3.0, 4.0]));
    let bias = DeviceBuffer::from_slice(&stream, &[0.5f32]).unwrap();
    for (alpha, wanted) in [(None, 11.5), (Some(1.0), 11.5), (Some(2.0), 22.5), (Some(0.0), 0.5)] {
        let mut d = DeviceBuffer::<f32>::zeroed(&stream, 1).unwrap();
        let call = Gemm::new().a(a.view(&[1, 2]).unwrap()).b(b.view(&[1, 2]).unwrap()).bias(bias.view(&[1]).unwrap());
        let call = call.d(d.view_mut(&[1, 1]).unwrap());
        let call = if let Some(alpha) = alpha { call.alpha(alpha) } else { call };
        call.launch(&stream).unwrap();
        assert_eq!(d.to_vec(&stream).unwrap(), [wanted], "alpha {alpha:?}");
    }
}

#[test]
fn scale_of_softmax() {
    let stream = stream();
    let odds = 1.0 / (1.0 + 1f32.exp());
    for (scale, wanted) in [(None, odds), (Some(1.0), odds), (Some(0.0), 0.5)] {
        let mut x = DeviceBuffer::from_slice(&stream, &[2.0f32, 3.0]).unwrap();
        let call = Softmax::new().y_over_x(x.view_mut(&[1, 2]).unwrap());
        let call = if let Some(scale) = scale { call.scale(scale) } else { call };
        call.launch(&stream).unwrap();
        let found = x.to_vec(&stream).unwrap()[0];
        assert!((found - wanted).abs() < 1e-6, "scale {scale:?}: {found} is not {wanted}");
    }
}

#[test]
fn theta_of_rope() {
    let ctx = Context::offline(Arch::SM_120).unwrap();
    let positions = TensorView::<i32>::planned(&[1]).unwrap();
    let rope = || {
        let x = TensorView::<f32>::planned(&[1, 1, 4]).unwrap();
        Rope::new().positions(positions).x(x).y(TensorViewMut::<f32>::planned(&[1, 1, 4]).unwrap())
    };
    rope().query(&ctx).unwrap();
    let error = rope().theta(0.0).query(&ctx).unwrap_err();
    assert_eq!((error.status(), error.field()), (Status::INVALID_VALUE, Some("theta")), "{error}");
}

/// Every question that a call answers.
fn asked(query: Result<OpInfo>, prepare: Result<OpInfo>, more: [Result<()>; 3]) -> Vec<Option<Error>> {
    [query.err(), prepare.err()].into_iter().chain(more.into_iter().map(Result::err)).collect()
}

macro_rules! needs_eps {
    ($op:ident, $name:expr, $stream:expr) => {{
        let (stream, ctx) = ($stream, $stream.context());
        let mut x = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
        let call = $op::new().y_over_x(x.view_mut(&[1, 4]).unwrap());
        let kernels = call.kernels(&ctx).map(drop);
        for error in
            asked(call.query(&ctx), call.prepare(&ctx), [call.launch(stream), call.explain(&ctx).map(drop), kernels])
        {
            let error = error.expect("eps is not set");
            assert_eq!((error.status(), error.operator()), (Status::INVALID_NULL, Some($name)));
            assert_eq!(error.field(), Some("eps"));
            assert!(error.message().contains("eps is not set") && error.message().contains("1e-"), "{error}");
        }
        call.eps(0.0).launch(stream).unwrap();
    }};
}

#[test]
fn norms_ask_for_eps() {
    let stream = stream();
    needs_eps!(Rmsnorm, "rmsnorm", &stream);
    needs_eps!(L2norm, "l2norm", &stream);
    needs_eps!(Layernorm, "layernorm", &stream);
}

#[test]
fn reflection_knows_them() {
    let of = |op: &str, field: &str| {
        let operator = libspark::operators().find(|o| o.name() == op).unwrap();
        let found = operator.fields().find(|f| f.name() == field).unwrap();
        (found.default_text(), found.is_required())
    };
    assert_eq!(of("gemm", "alpha"), (Some("1"), false));
    assert_eq!(of("gemm", "beta"), (None, false));
    assert_eq!(of("attention", "scale"), (Some("1 / sqrt(D)"), false));
    assert_eq!(of("rmsnorm", "eps"), (None, true));
}
