// SPDX-License-Identifier: Apache-2.0

// One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
// caches of two sequences. The first step also runs without the graph, and must give the same bits.
//
// go run ./examples/decode_step, with LIBSPARK_DRIVER=emu on a computer without a GPU.
package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math"

	"libspark/spark"
)

const (
	sequences  = 2
	hidden     = 64
	heads      = 2 // of queries; one head of keys and values serves both
	head       = 32
	qkv        = (heads + 2) * head
	inner      = 96 // behind the gate; the projection before it has twice as many
	vocabulary = 128
	rows       = 16 // of a sequence in the cache
	steps      = 4
	scratch    = 1 << 20 // more than any of these calls asks for (Query says how much)
)

// numbers are small ones that every language can make: a linear congruence, its upper bits as multiples of 2^-10.
func numbers(seed uint32, count int) []spark.BF16 {
	made := make([]spark.BF16, count)
	for i := range made {
		seed = seed*1664525 + 1013904223
		made[i] = spark.ToBF16(float32(int32(seed>>24)-128) / 1024)
	}
	return made
}

func repeat[T any](value T, count int) []T {
	made := make([]T, count)
	for i := range made {
		made[i] = value
	}
	return made
}

// layer is what stays, and what a step reads and writes.
type layer struct {
	normWeight, qkvWeight, innerWeight, logitsWeight *spark.Buffer[spark.BF16]

	x, h, qkv, keys, values, mixed, gates, inner *spark.Buffer[spark.BF16]

	logits    *spark.Buffer[float32]
	tokens    *spark.Buffer[int32]
	positions *spark.Buffer[int32]  // of the new tokens
	lengths   *spark.Buffer[int32]  // with them
	draws     *spark.Buffer[uint64] // which of the seed's random numbers
	sequence  *spark.Buffer[int32]
	invalid   *spark.Buffer[int32]
	scratch   *spark.Workspace
	all       []io.Closer
}

// put makes a buffer of the layer, unless something failed before.
func put[T spark.Element](l *layer, stream *spark.Stream, err *error, values []T) *spark.Buffer[T] {
	if *err != nil {
		return nil
	}
	var made *spark.Buffer[T]
	made, *err = spark.BufferOf(stream, values)
	l.all = append(l.all, made)
	return made
}

func newLayer(stream *spark.Stream) (*layer, error) {
	l, err := new(layer), error(nil)
	weights := func(values []spark.BF16) *spark.Buffer[spark.BF16] { return put(l, stream, &err, values) }
	zeros := func(count int) *spark.Buffer[spark.BF16] { return put(l, stream, &err, make([]spark.BF16, count)) }
	numbered := func(values ...int32) *spark.Buffer[int32] { return put(l, stream, &err, values) }

	l.normWeight = weights(repeat(spark.ToBF16(1), hidden))
	l.qkvWeight = weights(numbers(1, qkv*hidden))
	l.innerWeight = weights(numbers(2, 2*inner*heads*head))
	l.logitsWeight = weights(numbers(3, vocabulary*inner))
	l.x, l.h = zeros(sequences*hidden), zeros(sequences*hidden)
	l.qkv = zeros(sequences * qkv)
	l.keys, l.values = zeros(sequences*rows*head), zeros(sequences*rows*head)
	l.mixed = zeros(sequences * heads * head)
	l.gates, l.inner = zeros(sequences*2*inner), zeros(sequences*inner)
	l.logits = put(l, stream, &err, make([]float32, sequences*vocabulary))
	l.tokens, l.positions, l.lengths = numbered(5, 77), numbered(0, 0), numbered(0, 0)
	l.draws = put(l, stream, &err, make([]uint64, sequences))
	l.sequence, l.invalid = numbered(0, 1), numbered(0)
	if err == nil {
		l.scratch, err = spark.NewWorkspace(stream, scratch)
		l.all = append(l.all, l.scratch)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *layer) close() {
	for _, thing := range l.all {
		thing.Close()
	}
}

// feed puts the tokens of a step in: what they are and where they stand.
func (l *layer) feed(stream *spark.Stream, tokens []int32, step int) error {
	for sequence, token := range tokens {
		if err := l.x.Write(stream, sequence*hidden, numbers(1000+uint32(token), hidden)); err != nil {
			return err
		}
	}
	if err := l.positions.Write(stream, 0, repeat(int32(step), sequences)); err != nil {
		return err
	}
	if err := l.draws.Write(stream, 0, repeat(uint64(step), sequences)); err != nil {
		return err
	}
	return l.lengths.Write(stream, 0, repeat(int32(step+1), sequences))
}

// step lists the operators of a step, in order.
func (l *layer) step() []spark.Op {
	const b = sequences
	cache, strides := []int{b, rows, 1, head}, []int{rows * head, head, head, 1}
	// Queries and keys are neighbours in a row of the projection: one call turns both.
	turned := l.qkv.Strided(0, []int{b, heads + 1, head}, []int{qkv, head, 1})
	return []spark.Op{
		spark.Rmsnorm{X: l.x.View(b, hidden), Weight: l.normWeight.View(hidden), Y: l.h.View(b, hidden),
			Eps: spark.F32(1e-5)},
		spark.Gemm{A: l.h.View(b, hidden), B: l.qkvWeight.View(qkv, hidden), D: l.qkv.View(b, qkv), Workspace: l.scratch},
		spark.Rope{Positions: l.positions.View(b), X: turned, Y: turned},
		spark.KVAppend{
			K:            l.qkv.Strided(heads*head, []int{b, 1, head}, []int{qkv, head, 1}),
			V:            l.qkv.Strided((heads+1)*head, []int{b, 1, head}, []int{qkv, head, 1}),
			Positions:    l.positions.View(b),
			Batch:        l.sequence.View(b),
			KCache:       l.keys.Strided(0, cache, strides),
			VCache:       l.values.Strided(0, cache, strides),
			InvalidCount: l.invalid.View(1),
		},
		spark.Attention{
			Q:         l.qkv.Strided(0, []int{b, 1, heads, head}, []int{qkv, qkv, head, 1}),
			K:         l.keys.Strided(0, cache, strides),
			V:         l.values.Strided(0, cache, strides),
			O:         l.mixed.View(b, 1, heads, head),
			SeqLens:   l.lengths.View(b),
			Workspace: l.scratch,
		},
		spark.Gemm{
			A:         l.mixed.View(b, heads*head),
			B:         l.innerWeight.View(2*inner, heads*head),
			D:         l.gates.View(b, 2*inner),
			Workspace: l.scratch,
		},
		spark.GLU{
			Gate:       l.gates.Strided(0, []int{b, inner}, []int{2 * inner, 1}),
			Up:         l.gates.Strided(inner, []int{b, inner}, []int{2 * inner, 1}),
			Y:          l.inner.View(b, inner),
			Activation: spark.ActivationSilu,
		},
		spark.Gemm{
			A:         l.inner.View(b, inner),
			B:         l.logitsWeight.View(vocabulary, inner),
			D:         l.logits.View(b, vocabulary),
			Workspace: l.scratch,
		},
		spark.Sample{
			Logits:      l.logits.View(b, vocabulary),
			IDs:         l.tokens.View(b),
			Offsets:     l.draws.View(b),
			Temperature: 0.8,
			TopK:        20,
			Seed:        42,
			Workspace:   l.scratch,
		},
	}
}

func (l *layer) enqueue(stream *spark.Stream) error {
	for _, op := range l.step() {
		if err := op.Launch(stream); err != nil {
			return err
		}
	}
	return nil
}

// hash is FNV-1a over the bits of the logits: on one device the same in every language.
func (l *layer) hash(stream *spark.Stream) (uint64, error) {
	logits, err := l.logits.Values(stream)
	sum := fnv.New64a()
	for _, value := range logits {
		bits := math.Float32bits(value)
		sum.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	return sum.Sum64(), err
}

// once makes a step from tokens, which become the next ones, and gives the hash of its logits.
func (l *layer) once(stream *spark.Stream, tokens []int32, step int, run func(*spark.Stream) error) (uint64, error) {
	if err := l.feed(stream, tokens, step); err != nil {
		return 0, err
	}
	if err := run(stream); err != nil {
		return 0, err
	}
	if err := l.tokens.Read(stream, 0, tokens); err != nil {
		return 0, err
	}
	return l.hash(stream)
}

func (l *layer) decode(stream *spark.Stream) error {
	// Once without a graph: this also loads the code, which a capture does not.
	direct, err := l.once(stream, []int32{5, 77}, 0, l.enqueue)
	if err != nil {
		return err
	}
	graph, err := stream.Capture(l.enqueue)
	if err != nil {
		return err
	}
	defer graph.Close()
	var sum uint64
	tokens := []int32{5, 77}
	for step := 0; step < steps; step++ {
		if sum, err = l.once(stream, tokens, step, graph.Launch); err != nil {
			return err
		}
		if step == 0 && sum != direct {
			return errors.New("the graph gives other bits")
		}
		fmt.Printf("step %d: tokens [%d, %d]\n", step, tokens[0], tokens[1])
	}
	invalid, err := l.invalid.Values(stream)
	if err != nil {
		return err
	}
	if invalid[0] != 0 {
		return errors.New("a token has no row in the cache")
	}
	fmt.Printf("logits %016x\n", sum)
	return nil
}

func run() error {
	ctx, err := spark.NewContext(0)
	if err != nil {
		return err
	}
	defer ctx.Close()
	stream, err := ctx.NewStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	l, err := newLayer(stream)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.decode(stream); err != nil {
		return err
	}
	device, err := ctx.Device()
	fmt.Println("on", device.Name)
	return err
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
