// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"strings"
	"testing"
)

func TestAlphaThatIsAbsentIsOne(t *testing.T) {
	ctx, stream := device(t)
	a, b, bias := put(t, stream, bf16(1, 2)...), put(t, stream, bf16(3, 4)...), put(t, stream, float32(0.5))
	d := empty[float32](t, ctx, 1)
	for alpha, want := range map[Opt[float32]]float64{{}: 11.5, F32(1): 11.5, F32(2): 22.5, F32(0): 0.5} {
		call := Gemm{A: a.View(1, 2), B: b.View(1, 2), D: d.View(1, 1), Bias: bias.View(1), Alpha: alpha}
		near(t, do(t, stream, call, d), want)
	}
}

func TestScaleThatIsAbsentIsOne(t *testing.T) {
	ctx, stream := device(t)
	x, y := put(t, stream, float32(2), 3), empty[float32](t, ctx, 2)
	odds := 1 / (1 + math.E)
	for scale, want := range map[Opt[float32]]float64{{}: odds, F32(1): odds, F32(0): 0.5} {
		near(t, do(t, stream, Softmax{X: x.View(1, 2), Y: y.View(1, 2), Scale: scale}, y), want, 1-want)
	}
}

func TestThetaOfZeroIsNoDefault(t *testing.T) {
	ctx := must(NewOfflineContext(SM120))
	ends(t, ctx)
	call := Rope{Positions: Planned[int32](1), X: Planned[float32](1, 1, 4), Y: Planned[float32](1, 1, 4)}
	must(call.Query(ctx))
	call.Theta = F32(0)
	_, err := call.Query(ctx)
	if said := refused(t, err, ErrInvalidValue); said.Field != "theta" {
		t.Errorf("the error is %#v", said)
	}
}

func TestNormsAskForEps(t *testing.T) {
	ctx, stream := device(t)
	x := put(t, stream, float32(1), 2, 3, 4)
	view := x.View(1, 4)
	for name, op := range map[string]Op{"rmsnorm": Rmsnorm{X: view, Y: view}, "l2norm": L2norm{X: view, Y: view},
		"layernorm": Layernorm{X: view, Y: view}} {
		_, query := op.Query(ctx)
		_, prepare := op.Prepare(ctx)
		_, explain := op.Explain(ctx)
		_, kernels := op.Kernels(ctx)
		for _, err := range []error{query, prepare, explain, kernels, op.Launch(stream)} {
			said := refused(t, err, ErrInvalidNull)
			if said.Op != name || said.Field != "eps" || !strings.Contains(said.Message, "eps is not set") {
				t.Errorf("the error is %#v", said)
			}
		}
	}
	ok(t, L2norm{X: view, Y: view, Eps: F32(0)}.Launch(stream))
}

func TestOptHoldsWhatItIsGiven(t *testing.T) {
	if value, there := (Opt[int64]{}).Get(); there || value != 0 {
		t.Errorf("nothing is %v, %v", value, there)
	}
	i64, _ := I64(-5).Get()
	u64, _ := U64(5).Get()
	i32, _ := I32(-5).Get()
	u32, there := U32(0).Get()
	if i64 != -5 || u64 != 5 || i32 != -5 || u32 != 0 || !there {
		t.Errorf("got %v %v %v %v %v", i64, u64, i32, u32, there)
	}
}

func TestDefaultsAreDescribed(t *testing.T) {
	for _, op := range Ops() {
		for _, field := range op.Fields {
			what := op.Name + "." + field.Name
			want := map[string]string{"gemm.alpha": "1", "attention.scale": "1 / sqrt(D)", "gemm.beta": ""}
			if text, asked := want[what]; asked && field.Default != text {
				t.Errorf("%s is %q", what, field.Default)
			}
			required := map[string]bool{"rmsnorm.eps": true, "layernorm.eps": true, "l2norm.eps": true, "hadamard.size": true}
			if field.Required != required[what] {
				t.Errorf("%s: Required is %v", what, field.Required)
			}
		}
	}
}
