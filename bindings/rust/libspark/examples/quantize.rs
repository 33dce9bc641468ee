// SPDX-License-Identifier: Apache-2.0
//! Quantises two matrices, multiplies them, and compares with the product of the numbers before: E4M3 with a scale for
//! each row, and NVFP4.
//!
//! `cargo run --example quantize`, with LIBSPARK_DRIVER=emu on a computer without a GPU.
use libspark::ops::{Gemm, Quantize};
use libspark::{Context, DeviceBuffer, E2M1x2, Quant, Result, Stream, TensorView, Workspace, BF16, E4M3, UE4M3};

const M: usize = 4; // y[M, N] = x[M, K] w[N, K]^T
const N: usize = 64;
const K: usize = 128;
const BLOCK: usize = 16; // of NVFP4: so many numbers share a scale
const SCRATCH: usize = 1 << 20; // more than any of these calls asks for (query says how much)

/// Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10.
fn numbers(stream: &Stream, seed: u32, rows: usize) -> Result<DeviceBuffer<BF16>> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        BF16::from_f32(((state >> 24) as i32 - 128) as f32 / 1024.0)
    };
    DeviceBuffer::from_slice(stream, &(0..rows * K).map(|_| next()).collect::<Vec<_>>())
}

/// A matrix in E4M3, a scale for each row.
struct Fp8 {
    codes: DeviceBuffer<E4M3>,
    scales: DeviceBuffer<f32>,
    rows: usize,
}

impl Fp8 {
    fn of(stream: &Stream, x: &DeviceBuffer<BF16>, rows: usize) -> Result<Self> {
        let mut codes = DeviceBuffer::zeroed(stream, rows * K)?;
        let scales = DeviceBuffer::<f32>::zeroed(stream, rows)?;
        let y = codes.view_mut(&[rows, K])?.quantized(Quant::per_row().scale(scales.view(&[rows])?))?;
        Quantize::new().x(x.view(&[rows, K])?).y(y).launch(stream)?;
        Ok(Fp8 { codes, scales, rows })
    }

    fn view(&self) -> Result<TensorView<'_, E4M3>> {
        self.codes.view(&[self.rows, K])?.quantized(Quant::per_row().scale(self.scales.view(&[self.rows])?))
    }
}

/// A matrix in NVFP4: scales of blocks, and one for all, which is made of the largest magnitude.
struct Fp4 {
    codes: DeviceBuffer<E2M1x2>,
    scales: DeviceBuffer<UE4M3>,
    global: DeviceBuffer<f32>,
    rows: usize,
}

impl Fp4 {
    fn of(stream: &Stream, x: &DeviceBuffer<BF16>, rows: usize, scratch: &Workspace) -> Result<Self> {
        let mut codes = DeviceBuffer::zeroed(stream, rows * K / 2)?;
        let scales = DeviceBuffer::zeroed(stream, rows * K / BLOCK)?;
        let global = DeviceBuffer::zeroed(stream, 1)?;
        let y = codes.view_mut(&[rows, K])?.quantized(Self::quant(&scales, &global, rows)?)?;
        Quantize::new().x(x.view(&[rows, K])?).y(y).own_amax(true).workspace(scratch).launch(stream)?;
        Ok(Fp4 { codes, scales, global, rows })
    }

    fn quant<'a>(scales: &'a DeviceBuffer<UE4M3>, global: &'a DeviceBuffer<f32>, rows: usize) -> Result<Quant<'a>> {
        let scales = scales.view(&[rows, K / BLOCK])?;
        Ok(Quant::blocks(&[1, BLOCK as u16]).scale(scales).global_scale(global.view(&[1])?, 0))
    }

    fn view(&self) -> Result<TensorView<'_, E2M1x2>> {
        self.codes.view(&[self.rows, K])?.quantized(Self::quant(&self.scales, &self.global, self.rows)?)
    }
}

/// How far the product is from the exact one, as a line of the table; `most`: what is too far, in percent.
fn compare(format: &str, product: &[f32], exact: &[f32], most: f64) {
    let errors = || product.iter().zip(exact).map(|(a, b)| f64::from(a - b));
    let worst = errors().fold(0.0, |worst: f64, error| worst.max(error.abs()));
    let all: f64 = exact.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    let part = 100.0 * (errors().map(|error| error * error).sum::<f64>() / all).sqrt();
    println!("{format:12} {worst:.6}        {part:.2} %");
    assert!(part < most, "twice what rounding both factors explains");
}

fn main() -> Result<()> {
    let stream = Stream::new(&Context::new(0)?)?;
    let scratch = Workspace::new(&stream, SCRATCH)?;
    let (x, w) = (numbers(&stream, 1, M)?, numbers(&stream, 2, N)?);
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, M * N)?;

    let (a, b) = (x.view(&[M, K])?, w.view(&[N, K])?);
    Gemm::new().a(a).b(b).d(y.view_mut(&[M, N])?).workspace(&scratch).launch(&stream)?;
    let exact = y.to_vec(&stream)?;
    println!("format       largest error   error, of the product");

    let (a, b) = (Fp8::of(&stream, &x, M)?, Fp8::of(&stream, &w, N)?);
    Gemm::new().a(a.view()?).b(b.view()?).d(y.view_mut(&[M, N])?).workspace(&scratch).launch(&stream)?;
    compare("E4M3, rows", &y.to_vec(&stream)?, &exact, 7.5);

    let (a, b) = (Fp4::of(&stream, &x, M, &scratch)?, Fp4::of(&stream, &w, N, &scratch)?);
    Gemm::new().a(a.view()?).b(b.view()?).d(y.view_mut(&[M, N])?).workspace(&scratch).launch(&stream)?;
    compare("NVFP4", &y.to_vec(&stream)?, &exact, 27.0);
    Ok(())
}
