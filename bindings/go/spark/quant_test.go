// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestEveryWordReachesTheStructure(t *testing.T) {
	ctx, _ := device(t)
	data, scales := empty[E4M3](t, ctx, 4*256*64), empty[UE8M0](t, ctx, 4096)
	zeros, globals := empty[U4x2](t, ctx, 2048), empty[float32](t, ctx, 7)
	view := data.View(4, 256, 64).Quantized(Quant{Scheme: QuantBlock, Block: []int{1, 2, 32}, Scale: scales.View(4096),
		ScaleStride: []int{1024, 3, 1}, ScaleLayout: ScaleTiled128x4, Tile: [2]int{1, 2}, ZeroPoint: zeros.View(4096),
		GlobalScale: globals.View(7), GlobalStride: 2})
	ok(t, view.Err())
	raw := view.raw.quant
	for i, pair := range [][2]uint64{
		{uint64(raw.scheme), 3}, {uint64(raw.scale_layout), 1}, {uint64(raw.tile[0]), 1}, {uint64(raw.tile[1]), 2},
		{uint64(raw.block[0]), 1}, {uint64(raw.block[1]), 2}, {uint64(raw.block[2]), 32}, {uint64(raw.block[3]), 0},
		{uint64(raw.scale_dtype), uint64(DtypeUE8M0)}, {uint64(raw.scale), scales.Address()}, {uint64(raw.scale_bytes), 4096},
		{uint64(raw.zero_dtype), uint64(DtypeU4)}, {uint64(raw.zero_point), zeros.Address()}, {uint64(raw.zero_bytes), 2048},
		{uint64(raw.global_scale), globals.Address()}, {uint64(raw.global_stride), 2}, {uint64(raw.record), 0},
		{uint64(raw.scale_stride[0]), 1024}, {uint64(raw.scale_stride[1]), 3}, {uint64(raw.scale_stride[2]), 1},
	} {
		if pair[0] != pair[1] {
			t.Errorf("number %d is %d; %d wanted", i, pair[0], pair[1])
		}
	}
	if records := view.Records(RecordQ4_1).raw.quant; records.record != 3 || records.scale != 0 {
		t.Errorf("records are %+v", records)
	}
}

func TestScalesThatDoNotFit(t *testing.T) {
	ctx, _ := device(t)
	data, globals := empty[E4M3](t, ctx, 64), empty[float32](t, ctx, 7)
	none := globals.Strided(7, []int{0}, []int{1}) // an empty rest is no memory of unknown size
	for name, tried := range map[string]struct {
		quant  Quant
		status Status
	}{
		"many blocks":    {Quant{Scheme: QuantBlock, Block: []int{1, 2, 3}}, ErrInvalidShape},
		"more blocks":    {Quant{Scheme: QuantBlock, Block: make([]int, 9)}, ErrInvalidShape},
		"few strides":    {Quant{Scheme: QuantPerRow, ScaleStride: []int{1}}, ErrInvalidShape},
		"a huge block":   {Quant{Scheme: QuantBlock, Block: []int{1, 1 << 16}}, ErrInvalidValue},
		"a negative one": {Quant{Scheme: QuantBlock, Block: []int{1, -1}}, ErrInvalidValue},
		"no dimension":   {Quant{Scheme: QuantBlock, Tile: [2]int{0, 256}}, ErrInvalidValue},
		"no format":      {Quant{Scheme: QuantRecord, Record: 1<<16 | 3}, ErrInvalidValue},
		"global halves":  {Quant{Scheme: QuantPerRow, GlobalScale: Planned[F16](1)}, ErrInvalidDtype},
		"far globals":    {Quant{Scheme: QuantPerRow, GlobalScale: globals.View(7), GlobalStride: 3}, ErrInvalidBounds},
		"no end": {Quant{Scheme: QuantPerRow, GlobalScale: globals.View(7), GlobalStride: math.MaxInt},
			ErrInvalidBounds},
		"no globals":   {Quant{Scheme: QuantPerRow, GlobalScale: none}, ErrInvalidBounds},
		"a wrong view": {Quant{Scheme: QuantPerRow, Scale: globals.View(8)}, ErrInvalidBounds},
	} {
		if said := refused(t, data.View(4, 16).Quantized(tried.quant).Err(), tried.status); said.Message == "" {
			t.Errorf("%s: no sentence", name)
		}
	}
	fine := data.View(4, 16).Quantized(Quant{Scheme: QuantPerRow, Scale: none, GlobalScale: globals.View(7),
		GlobalStride: 2})
	ok(t, fine.Err())
	if fine.raw.quant.scale != 0 {
		t.Error("scales without room have an address")
	}
}

func TestScalesAreHeldLikeTheirTensor(t *testing.T) {
	ctx, stream := device(t)
	a, scales := empty[F16](t, ctx, 64), empty[float32](t, ctx, 8)
	d := empty[float32](t, ctx, 64)
	quantized := a.View(8, 8).Quantized(Quant{Scheme: QuantPerRow, Scale: scales.View(8, 1)})
	call := Gemm{A: quantized, B: a.View(8, 8), D: d.View(8, 8)}
	said := refused(t, call.Launch(stream), ErrUnsupportedDtype) // F16 has none
	if said.Field != "a" {
		t.Errorf("the error is %#v", said)
	}
	ok(t, scales.Close())
	if said := refused(t, call.Launch(stream), ErrInvalidHandle); said.Op != "gemm" || said.Field != "a" {
		t.Errorf("the error is %#v", said)
	}
}

func TestFormsAreTold(t *testing.T) {
	// A form of each of some fields, and types of some forms: what is told of the others is read by the same lines.
	told := map[string]string{"dequantize.x": "128X128", "gemm.a": "ROW", "gemm.b": "NVFP4", "quantize.y": "1X128"}
	types := map[string][]Dtype{"128X128": {DtypeE4M3}, "MXFP8": {DtypeE4M3}, "MXFP4": {DtypeE2M1}}
	records := map[string]QuantForm{"Q8_0": {Record: RecordQ8_0, RecordBytes: 34, RecordElements: 32},
		"Q4_1": {Record: RecordQ4_1, RecordBytes: 20, RecordElements: 32},
		"Q4_K": {Record: RecordQ4_K, RecordBytes: 144, RecordElements: 256}}
	for _, op := range Ops() {
		for _, field := range op.Fields {
			name, lacks := told[op.Name+"."+field.Name]
			for _, form := range field.Forms {
				lacks = lacks && form.Name != name
				if form.Scheme != QuantRecord {
					want, is := types[form.Name]
					if !is {
						want = form.Dtypes
					}
					if len(want) == 0 || !reflect.DeepEqual(form.Dtypes, want) || len(form.ScaleDtypes) == 0 {
						t.Errorf("form %+v", form)
					}
					continue
				}
				told, is := records[form.Name]
				if !is {
					told = form
				}
				want := QuantForm{Name: form.Name, Doc: form.Doc, Scheme: QuantRecord, Dtypes: []Dtype{DtypeU8},
					Layouts: form.Layouts, Record: told.Record, RecordBytes: told.RecordBytes,
					RecordElements: told.RecordElements}
				if !reflect.DeepEqual(form, want) || form.Doc == "" {
					t.Errorf("form %+v; %+v wanted", form, want)
				}
			}
			if lacks {
				t.Errorf("%s.%s has no form %s: %+v", op.Name, field.Name, name, field.Forms)
			}
		}
	}
	ctx := must(NewOfflineContext(SM120))
	ends(t, ctx)
	call := Dequantize{X: Planned[uint8](2, 34).Quantized(Quant{Scheme: QuantPerRow}), Y: Planned[float32](2, 32)}
	_, err := call.Query(ctx)
	said := refused(t, err, ErrUnsupportedDtype)
	if said.Field != "x" || !strings.Contains(said.Message, "Q8_0") {
		t.Errorf("the error is %#v", said)
	}
}
