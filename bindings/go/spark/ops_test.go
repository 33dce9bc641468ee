// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// do asks everything of an operator, launches it, and gives what it wrote.
func do[T Element](t *testing.T, stream *Stream, op Op, out *Buffer[T]) []T {
	t.Helper()
	ctx := stream.ctx
	info, err := op.Query(ctx)
	ok(t, err)
	if info.Kernel == "" || info.Launches < 1 || info.Empty {
		t.Errorf("Query says %+v", info)
	}
	loaded, err := op.Prepare(ctx)
	ok(t, err)
	if !loaded.Loaded || loaded.KernelID != info.KernelID {
		t.Errorf("Prepare says %+v after %+v", loaded, info)
	}
	if text := must(op.Explain(ctx)); !strings.Contains(text, "*") {
		t.Errorf("Explain says %q", text)
	}
	if kernels := must(op.Kernels(ctx)); len(kernels) < 1 || kernels[0].KernelID != info.KernelID {
		t.Errorf("Kernels gives %+v", kernels)
	}
	ok(t, op.Launch(stream))
	return must(out.Values(stream))
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// opCases checks the results of an operator on small shapes.
var opCases = map[string]func(t *testing.T, ctx *Context, stream *Stream){
	"gemm":       gemmCase,
	"attention":  attentionCase,
	"rmsnorm":    rmsnormCase,
	"sample":     sampleCase,
	"embedding":  embeddingCase,
	"l2norm":     l2normCase,
	"layernorm":  layernormCase,
	"rope":       ropeCase,
	"kv_append":  kvAppendCase,
	"kv_gather":  kvGatherCase,
	"kv_copy":    kvCopyCase,
	"activation": activationCase,
	"glu":        gluCase,
	"add":        addCase,
	"softmax":    softmaxCase,
	"cast":       castCase,
	"dequantize": dequantizeCase,
	"amax":       amaxCase,
	"quantize":   quantizeCase,
}

func TestOperators(t *testing.T) {
	for name, check := range opCases {
		check := check
		t.Run(name, func(t *testing.T) {
			ctx, stream := device(t)
			check(t, ctx, stream)
		})
	}
}

func gemmCase(t *testing.T, ctx *Context, stream *Stream) {
	a := put(t, stream, bf16(1, 2, 3, 4, 5, 6)...)
	b := put(t, stream, bf16(1, 0, 2, 0, 1, -9)...)
	c := put(t, stream, float32(100), 0, 0, 0)
	bias := put(t, stream, float32(0.5), 0)
	d := empty[float32](t, ctx, 4)
	call := Gemm{A: a.View(2, 3), B: b.View(2, 3), C: c.View(2, 2), D: d.View(2, 2), Bias: bias.View(2),
		Alpha: F32(2), Beta: 1, Activation: ActivationRelu}
	near(t, do[float32](t, stream, call, d), 114.5, 0, 32.5, 0)
	call = Gemm{A: a.View(2, 3), B: b.View(2, 3), D: d.View(2, 2)}
	near(t, do[float32](t, stream, call, d), 7, -25, 16, -49)
}

func attentionCase(t *testing.T, ctx *Context, stream *Stream) {
	const d = 8
	row := func(x float32) []BF16 { return bf16(x, 0, 0, 0, 0, 0, 0, 0) }
	q := put(t, stream, append(row(1), row(1)...)...)
	k := put(t, stream, append(row(1), row(2)...)...)
	v := put(t, stream, append(row(4), row(8)...)...)
	o := empty[BF16](t, ctx, 2*d)
	lse := empty[float32](t, ctx, 2)
	workspace := must(NewWorkspace(stream, 1<<20))
	ends(t, workspace)
	got := do(t, stream, Attention{Q: q.View(1, 2, 1, d), K: k.View(1, 2, 1, d), V: v.View(1, 2, 1, d),
		O: o.View(1, 2, 1, d), LSE: lse.View(1, 2, 1), Scale: F32(1), Causal: true, Workspace: workspace}, o)
	near(t, must(lse.Values(stream)), 1, math.Log(math.E+math.E*math.E))
	last := (4*math.E + 8*math.E*math.E) / (math.E + math.E*math.E)
	if got[0].Float32() != 4 || math.Abs(float64(got[d].Float32())-last) > 0.04 {
		t.Errorf("got %v and %v; 4 and %v wanted", got[0].Float32(), got[d].Float32(), last)
	}
}

func rmsnormCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, float32(3), -4, 0, 12)
	weight := put(t, stream, float32(1), 2, 3, 0)
	residual := put(t, stream, float32(0), 0, 2, -12)
	y, sum := empty[float32](t, ctx, 4), empty[float32](t, ctx, 4)
	root := math.Sqrt((9+16+4)/4.0 + 0.5)
	call := Rmsnorm{X: x.View(1, 4), Weight: weight.View(4), Residual: residual.View(1, 4), Y: y.View(1, 4),
		ResidualOut: sum.View(1, 4), Eps: F32(0.5), WeightPlusOne: true}
	near(t, do(t, stream, call, y), 3*2/root, -4*3/root, 2*4/root, 0)
	near(t, must(sum.Values(stream)), 3, -4, 2, 0)
}

func sampleCase(t *testing.T, ctx *Context, stream *Stream) {
	logits := put(t, stream, float32(0), 5, 1, 7, 7, float32(math.NaN()))
	ids := empty[int32](t, ctx, 2)
	invalid := put(t, stream, int32(0))
	workspace := must(NewWorkspace(stream, 1<<20))
	ends(t, workspace)
	got := do(t, stream, Sample{Logits: logits.View(2, 3), IDs: ids.View(2), InvalidCount: invalid.View(1),
		Workspace: workspace}, ids)
	if want := []int32{1, -1}; !reflect.DeepEqual(got, want) || must(invalid.Values(stream))[0] != 1 {
		t.Errorf("got %v; %v and one invalid row wanted", got, want)
	}
}

func embeddingCase(t *testing.T, ctx *Context, stream *Stream) {
	table := put(t, stream, float32(1), 2, 3, 4, 5, 6)
	ids := put(t, stream, int64(2), 0, 3)
	y := empty[float32](t, ctx, 6)
	got := do(t, stream, Embedding{Table: table.View(3, 2), IDs: ids.View(3), Y: y.View(3, 2), ZeroInvalid: true}, y)
	near(t, got, 5, 6, 1, 2, 0, 0)
}

func l2normCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, float32(3), 4, 0, -2)
	call := L2norm{X: x.View(2, 2), Y: x.View(2, 2), Eps: F32(0)}
	got := do(t, stream, call, x) // in place; the second call finds unit rows
	near(t, got, 0.6, 0.8, 0, -1)
}

func layernormCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, float32(1), 2, 3, 6)
	weight, bias := put(t, stream, float32(1), 1, 2, 1), put(t, stream, float32(0), 10, 0, 0)
	y := empty[float32](t, ctx, 4)
	call := Layernorm{X: x.View(1, 4), Weight: weight.View(4), Bias: bias.View(4), Y: y.View(1, 4), Eps: F32(0)}
	got := do(t, stream, call, y)
	deviation := math.Sqrt((4 + 1 + 0 + 9) / 4.0)
	near(t, got, -2/deviation, 10-1/deviation, 0, 3/deviation)
}

func ropeCase(t *testing.T, ctx *Context, stream *Stream) {
	positions := put(t, stream, int32(0), 3)
	x := put(t, stream, float32(1), 2, 3, 4, 1, 2, 3, 4)
	y := empty[float32](t, ctx, 8)
	got := do(t, stream, Rope{Positions: positions.View(2), X: x.View(2, 1, 4), Y: y.View(2, 1, 4), Theta: F32(100)}, y)
	c0, s0, c1, s1 := math.Cos(3), math.Sin(3), math.Cos(0.3), math.Sin(0.3)
	near(t, got, 1, 2, 3, 4, 1*c0-3*s0, 2*c1-4*s1, 3*c0+1*s0, 4*c1+2*s1)
}

func kvAppendCase(t *testing.T, ctx *Context, stream *Stream) {
	k, v := put(t, stream, float32(1), 2, 3), put(t, stream, float32(4), 5, 6)
	positions := put(t, stream, int32(1), -1, 9)
	keys, values := put(t, stream, make([]float32, 4)...), put(t, stream, make([]float32, 4)...)
	invalid := put(t, stream, int32(0))
	call := KVAppend{K: k.View(3, 1, 1), V: v.View(3, 1, 1), Positions: positions.View(3), KCache: keys.View(2, 2, 1, 1),
		VCache: values.View(2, 2, 1, 1), InvalidCount: invalid.View(1)}
	near(t, do(t, stream, call, keys), 0, 1, 0, 0)
	near(t, must(values.Values(stream)), 0, 4, 0, 0)
	if must(invalid.Values(stream))[0] != 1 {
		t.Error("the token outside the cache was not counted")
	}
}

func kvGatherCase(t *testing.T, ctx *Context, stream *Stream) {
	keys, values := put(t, stream, float32(1), 2, 3, 4), put(t, stream, float32(5), 6, 7, 8)
	positions := put(t, stream, int32(1), -1, 9)
	k, v := put(t, stream, make([]float32, 3)...), put(t, stream, make([]float32, 3)...)
	invalid := put(t, stream, int32(0))
	call := KVGather{K: k.View(3, 1, 1), V: v.View(3, 1, 1), Positions: positions.View(3), KCache: keys.View(2, 2, 1, 1),
		VCache: values.View(2, 2, 1, 1), InvalidCount: invalid.View(1)}
	near(t, do(t, stream, call, k), 2, 0, 0)
	near(t, must(v.Values(stream)), 6, 0, 0)
	if must(invalid.Values(stream))[0] != 1 {
		t.Error("the token outside the cache was not counted")
	}
}

func kvCopyCase(t *testing.T, ctx *Context, stream *Stream) {
	keys, values := put(t, stream, float32(1), 2, 3, 4), put(t, stream, float32(5), 6, 7, 8)
	pairs := put(t, stream, int32(0), 2, 1, -1, 4, 3)
	invalid := put(t, stream, int32(0))
	call := KVCopy{Pairs: pairs.View(3, 2), KCache: keys.View(4, 1, 1, 1), VCache: values.View(4, 1, 1, 1),
		InvalidCount: invalid.View(1)}
	near(t, do(t, stream, call, keys), 1, 2, 1, 4)
	near(t, must(values.Values(stream)), 5, 6, 5, 8)
	if must(invalid.Values(stream))[0] != 1 {
		t.Error("the pair outside the cache was not counted")
	}
}

func activationCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, float32(-1), 0, 2)
	y := empty[float32](t, ctx, 3)
	for kind, f := range map[ActivationKind]func(float64) float64{
		ActivationNone:        func(x float64) float64 { return x },
		ActivationSilu:        silu,
		ActivationGeluErf:     func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
		ActivationReluSquared: func(x float64) float64 { return math.Pow(math.Max(x, 0), 2) },
	} {
		near(t, do(t, stream, Activation{X: x.View(1, 3), Y: y.View(1, 3), Activation: kind}, y), f(-1), f(0), f(2))
	}
}

func gluCase(t *testing.T, ctx *Context, stream *Stream) {
	packed := put(t, stream, float32(1), 2, 10, 20, -1, -2, 30, 40)
	y := empty[float32](t, ctx, 4)
	half := func(offset int) Tensor { return packed.Strided(offset, []int{2, 2}, []int{4, 1}) }
	got := do(t, stream, GLU{Gate: half(0), Up: half(2), Y: y.View(2, 2), Activation: ActivationSilu}, y)
	near(t, got, silu(1)*10, silu(2)*20, silu(-1)*30, silu(-2)*40)
}

func addCase(t *testing.T, ctx *Context, stream *Stream) {
	a, b := put(t, stream, bf16(1, 2, 3)...), put(t, stream, bf16(10, 20, -3)...)
	y := empty[BF16](t, ctx, 3)
	if got := do(t, stream, Add{A: a.View(3), B: b.View(3), Y: y.View(3)}, y); !reflect.DeepEqual(got, bf16(11, 22, 0)) {
		t.Errorf("got %v", got)
	}
}

func softmaxCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, float32(0), 1, 1, 0)
	y := empty[float32](t, ctx, 4)
	e := math.Exp(2)
	near(t, do(t, stream, Softmax{X: x.View(2, 2), Y: y.View(2, 2), Scale: F32(2)}, y), 1/(1+e), e/(1+e), e/(1+e), 1/(1+e))
	log := do(t, stream, Softmax{X: x.View(2, 2), Y: y.View(2, 2), Scale: F32(2), Log: true}, y)
	near(t, log, -math.Log(1+e), 2-math.Log(1+e), 2-math.Log(1+e), -math.Log(1+e))
}

func castCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, bf16(1, 2, 3, 4, 5, 6)...)
	y := empty[float32](t, ctx, 6)
	transposed := x.Strided(0, []int{3, 2}, []int{1, 3})
	near(t, do(t, stream, Cast{X: transposed, Y: y.View(3, 2)}, y), 1, 4, 2, 5, 3, 6)
}

func quantizeCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, bf16(448, -1, 0.3, 7, 0, -14)...)
	y, scales := empty[E4M3](t, ctx, 6), empty[float32](t, ctx, 2)
	rows := Quant{Scheme: QuantPerRow, Scale: scales.View(2)}
	call := Quantize{X: x.View(2, 3), Y: y.View(2, 3).Quantized(rows)}
	near(t, do(t, stream, call, scales), 1, 1.0/32)
	back := empty[float32](t, ctx, 6)
	inverse := Dequantize{X: y.View(2, 3).Quantized(rows), Y: back.View(2, 3)}
	near(t, do(t, stream, inverse, back), 448, -1, 0.3125, 7, 0, -14)
}

func amaxCase(t *testing.T, ctx *Context, stream *Stream) {
	x := put(t, stream, bf16(1, -3, 2, 0.5, 0, -0.25)...)
	y, all := empty[float32](t, ctx, 2), empty[float32](t, ctx, 1)
	call := Amax{X: x.View(2, 3), Y: y.View(2, 1), All: all.View(1)}
	near(t, do(t, stream, call, y), 3, 0.5)
	near(t, do(t, stream, call, all), 3)
}

func dequantizeCase(t *testing.T, ctx *Context, stream *Stream) {
	record, want := make([]uint8, 34), make([]float64, 32)
	scale := ToF16(0.5)
	record[0], record[1] = uint8(scale), uint8(scale>>8)
	for i := range want {
		record[2+i], want[i] = uint8(int8(i-16)), float64(i-16)/2
	}
	x := put(t, stream, record...)
	y := empty[float32](t, ctx, 32)
	near(t, do(t, stream, Dequantize{X: x.View(1, 34).Records(RecordQ8_0), Y: y.View(1, 32)}, y), want...)
}

func TestOptionsReachTheLibrary(t *testing.T) {
	ctx, stream := device(t)
	for flags, op := range map[uint32]Gemm{0: {}, 1: {Deterministic: true}, 2: {BatchInvariant: true}} {
		if found := uint32(op.call().head().flags); found != flags {
			t.Errorf("flags are %d; %d wanted", found, flags)
		}
	}
	x := put(t, stream, float32(1), 2, 3, 4)
	call := Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: F32(0)}
	for _, kernel := range must(call.Kernels(ctx)) {
		call.KernelID = kernel.KernelID
		ok(t, call.Launch(stream))
	}
	call.KernelID = 1
	refused(t, call.Launch(stream), ErrInvalidValue)
	a, d := empty[BF16](t, ctx, 128*2048), empty[float32](t, ctx, 128*128)
	product := Gemm{A: a.View(128, 2048), B: a.View(128, 2048), D: d.View(128, 128)}
	all, none := must(product.Kernels(ctx)), must(product.KernelsWithin(ctx, 0))
	if len(none) < 1 || len(none) >= len(all) || all[0].WorkspaceSize == 0 || none[0].WorkspaceSize != 0 {
		t.Errorf("%d of %d kernels need no workspace", len(none), len(all))
	}
}
