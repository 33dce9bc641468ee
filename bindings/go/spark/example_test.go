// SPDX-License-Identifier: Apache-2.0

package spark_test

import (
	"errors"
	"fmt"
	"log"

	"libspark/spark"
)

func Example() {
	ctx, err := spark.NewContext(0) // with LIBSPARK_DRIVER=emu on a computer without a GPU
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	stream, err := ctx.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	x, err := spark.BufferOf(stream, []float32{2, 2, -2, 2})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := (spark.Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: spark.F32(0)}).Launch(stream); err != nil {
		log.Fatal(err)
	}
	values, err := x.Values(stream)
	fmt.Println(values, err)
	// Output: [1 1 -1 1] <nil>
}

func ExampleError() {
	ctx, err := spark.NewOfflineContext(spark.SM120)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	x, y := spark.Planned[float32](2, 64), spark.Planned[float32](2, 63)
	_, err = spark.Rmsnorm{X: x, Y: y, Eps: spark.F32(1e-5)}.Query(ctx)
	var said *spark.Error
	fmt.Println(errors.As(err, &said), said.Op, said.Field)
	fmt.Println(errors.Is(err, spark.ErrInvalidShape), errors.Is(err, spark.ErrInvalid))
	// Output:
	// true rmsnorm y
	// true true
}

func ExampleStream_Capture() {
	ctx, err := spark.NewContext(0)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	stream, err := ctx.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	sum, err := spark.BufferOf(stream, []float32{1})
	if err != nil {
		log.Fatal(err)
	}
	defer sum.Close()
	double := spark.Add{A: sum.View(1), B: sum.View(1), Y: sum.View(1)}
	if _, err := double.Prepare(ctx); err != nil { // a capture loads no code
		log.Fatal(err)
	}
	graph, err := stream.Capture(double.Launch)
	if err != nil {
		log.Fatal(err)
	}
	defer graph.Close()
	for i := 0; i < 10; i++ {
		if err := graph.Launch(stream); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(sum.Values(stream))
	// Output: [1024] <nil>
}

func ExampleBuffer_Strided() {
	ctx, err := spark.NewContext(0)
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	qkv, err := spark.NewBuffer[spark.BF16](ctx, 5*3*4*64) // [token, q or k or v, head, 64]
	if err != nil {
		log.Fatal(err)
	}
	defer qkv.Close()
	k := qkv.Strided(4*64, []int{5, 4, 64}, []int{3 * 4 * 64, 64, 1})
	fmt.Println(k.Shape(), k.Dtype(), k.Err())
	far := qkv.Strided(9*64, []int{5, 4, 64}, []int{3 * 4 * 64, 64, 1})
	fmt.Println(errors.Is(far.Err(), spark.ErrInvalidBounds))
	// Output:
	// [5 4 64] BF16 <nil>
	// true
}

func ExampleOps() {
	for _, op := range spark.Ops()[:2] {
		fmt.Println(op.Name, op.Fields[0].Name, op.Fields[0].Shape)
	}
	// Output:
	// gemm a [B?, M, K]
	// attention q [B, S, H, D]
}
