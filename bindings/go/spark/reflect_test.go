// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestEveryOperatorHasAStructure(t *testing.T) {
	ctx := must(NewOfflineContext(SM120))
	ends(t, ctx)
	ops := Ops()
	if len(ops) != len(everyOp) {
		t.Fatalf("the library has %d operators, this package %d", len(ops), len(everyOp))
	}
	kinds := map[Kind]reflect.Kind{KindTensor: reflect.Struct, KindF32: reflect.Float32, KindI32: reflect.Int32,
		KindU32: reflect.Uint32, KindI64: reflect.Int64, KindU64: reflect.Uint64, KindEnum: reflect.Uint32}
	for i, desc := range ops {
		if everyOp[i].name != desc.Name || everyOp[i].number != desc.Number {
			t.Errorf("%v is not %v", everyOp[i], desc)
		}
		if _, err := everyOp[i].op.Query(ctx); !errors.Is(err, ErrInvalidNull) {
			t.Errorf("%s without arguments: %v", desc.Name, err)
		}
		structure := reflect.TypeOf(everyOp[i].op)
		for _, field := range desc.Fields {
			if field.Kind == KindReserved {
				continue
			}
			name := strings.ReplaceAll(field.Name, "_", "")
			found, there := structure.FieldByNameFunc(func(other string) bool { return strings.EqualFold(other, name) })
			kind := found.Type
			if opt := field.Default != "" || field.Required; there && opt {
				kind = kind.Field(0).Type // of Opt
			}
			if !there || kind.Kind() != kinds[field.Kind] || field.Doc == "" {
				t.Errorf("%s.%s: there is %v", desc.Name, field.Name, found)
			}
		}
	}
}

// Each field of a structure reaches the C field of its name: an argument that cannot be is named in the answer.
func TestFieldsReachTheirPlace(t *testing.T) {
	for i, desc := range Ops() {
		for _, field := range desc.Fields {
			if field.Kind != KindTensor {
				continue
			}
			call := reflect.New(reflect.TypeOf(everyOp[i].op)).Elem()
			name := strings.ReplaceAll(field.Name, "_", "")
			call.FieldByNameFunc(func(other string) bool { return strings.EqualFold(other, name) }).Set(
				reflect.ValueOf(Planned[float32]()))
			_, err := call.Interface().(Op).Query(nil)
			if said := refused(t, err, ErrInvalidShape); said.Op != desc.Name || said.Field != field.Name {
				t.Errorf("%s.%s: the answer is %v", desc.Name, field.Name, said)
			}
		}
	}
}

func TestDescriptions(t *testing.T) {
	for _, op := range Ops() {
		if op.Name != "gemm" {
			continue
		}
		d := op.Fields[3]
		dtypes := []Dtype{DtypeF32, DtypeF16, DtypeBF16, DtypeI8, DtypeI32, DtypeI4, DtypeE4M3, DtypeE5M2, DtypeE2M1}
		if op.Family != "gemm" || d.Name != "d" || !d.Output || d.Input || d.Optional || d.Shape != "[B?, M, N/2 if GATED]" ||
			!reflect.DeepEqual(d.Dtypes, dtypes) {
			t.Errorf("gemm is %+v", op)
		}
	}
	if Version() < 100 || !strings.Contains(BuildInfo(), "kernels") {
		t.Errorf("version %d, %s", Version(), BuildInfo())
	}
	if count := must(DeviceCount()); count < 1 || must(QueryDevice(0)).Name == "" {
		t.Errorf("%d devices", count)
	}
}

func TestNames(t *testing.T) {
	for want, value := range map[string]interface{ String() string }{
		"BF16": DtypeBF16, "UNKNOWN": Dtype(60), "SPARK_OK": StatusOK, "SPARK_STATUS_UNKNOWN": Status(9),
		"GELU_TANH": ActivationGeluTanh, "ActivationKind(99)": ActivationKind(99),
	} {
		if value.String() != want {
			t.Errorf("%v; %s wanted", value, want)
		}
	}
}
