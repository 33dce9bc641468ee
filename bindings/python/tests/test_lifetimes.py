# SPDX-License-Identifier: Apache-2.0
"""Streams and graphs; what ends in any order ends well; use after the end; threads; leaks."""
import gc
import sys
import threading
import tracemalloc
import unittest
from types import SimpleNamespace

import numpy as np
from support import OnDevice, Producer, random

from libspark import Context, DeviceArray, Event, SparkError, Stream, default_context, ops


class Graphs(OnDevice):
    def test_recorded_not_run(self):
        x, y = self.array(random(4, 64)), self.zeros((4, 64), "f32")
        call = ops.rmsnorm.prepare(x, y=y, eps=1e-5)
        with self.stream.capture() as graph:
            call()
        self.assertFalse(y.numpy().any())
        graph.launch()
        np.testing.assert_array_equal(y.numpy(), ops.rmsnorm(x, eps=1e-5).numpy())

    def test_it_keeps_what_it_uses(self):
        x, y, lost = self.array(np.full((1, 4), 3, "f4")), self.zeros((1, 4), "f32"), self.zeros((4,), "f32")
        side, fork, join = Stream(self.ctx), Event(self.ctx), Event(self.ctx)
        with self.stream.capture() as graph:
            del lost  # freed when the capture is over
            fork.record(self.stream)
            side.wait(fork)
            y.copy_from(x, side)
            join.record(side)
            self.stream.wait(join)
        del x, side, fork, join
        gc.collect()
        filler = [self.array(np.full(4, 9, "f4")) for _ in range(8)]
        graph.launch()
        self.stream.synchronize()
        np.testing.assert_array_equal(y.numpy(self.stream), np.full((1, 4), 3, "f4"))
        del filler

    def test_an_error_in_a_capture_ends_it(self):
        x = self.zeros((4,), "f32")
        for wanted, work in (("a copy from the host cannot be recorded", lambda: x.write(np.ones(4))),
                             ("waiting for a stream", self.stream.synchronize), ("making an array", self.make),
                             ("a copy to the host", x.numpy)):
            with self.assertRaisesRegex(ValueError, wanted), self.stream.capture():
                work()
        with self.assertRaises(KeyError), self.stream.capture():
            raise KeyError("the caller's own")
        x.write(np.ones(4))
        with self.stream.capture() as graph:
            x.fill_bytes(0)
            with self.assertRaisesRegex(ValueError, "not recorded yet"):
                graph.launch()
            with self.assertRaisesRegex(ValueError, "capturing"):
                self.ctx.close()
        graph.launch()
        self.assertFalse(x.numpy().any())
        graph.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            graph.launch()

    def make(self):
        return self.zeros((1,), "f32")

    def test_a_graph_on_another_stream(self):
        x, other = self.zeros((1 << 16,), "u8"), Stream(self.ctx)
        with self.stream.capture() as graph:
            x.fill_bytes(7)
        graph.launch(other)
        self.assertIs(x.stream, other)
        self.assertTrue((x.numpy() == 7).all())
        graph.launch()
        self.assertIs(x.stream, self.stream)

    def test_a_graph_whose_arrays_are_gone(self):
        x, y = self.array(random(1, 64)), self.zeros((1, 64), "f32")
        call = ops.rmsnorm.prepare(x, y=y, eps=0)
        with self.stream.capture() as graph:
            call()
            y.fill_bytes(0)
        graph.launch()
        x.free()
        with self.assertRaisesRegex(ValueError, "the array was freed"):
            graph.launch()

    def test_a_graph_keeps_tensors_of_others(self):
        x = self.array(random(1, 64))
        tensor, y = Producer(x), self.zeros((1, 64), "f32")
        call = ops.rmsnorm.prepare(tensor, y=y, stream=self.stream, eps=0)
        before = sys.getrefcount(tensor)
        del call
        with self.stream.capture() as graph:
            ops.rmsnorm(tensor, y=y, stream=self.stream, eps=0)
        graph.launch()
        self.stream.synchronize()
        self.assertLessEqual(sys.getrefcount(tensor), before + 1)


class Ends(OnDevice):
    def test_freed_arrays(self):
        x, y = self.array(random(2, 64)), self.zeros((2, 64), "f32")
        view, call = x[1], ops.rmsnorm.prepare(x, y=y, eps=0)
        call()
        x.free()
        x.free()
        for use in (lambda: ops.rmsnorm(x, eps=0), x.numpy, lambda: view.address, lambda: x.write(random(2, 64)),
                    lambda: x.fill_bytes(0), lambda: y.copy_from(x), call, lambda: x[0],
                    lambda: x.__cuda_array_interface__):
            with self.assertRaisesRegex(ValueError, "freed"):
                use()
        self.assertIn("freed", repr(x))
        self.assertFalse(y.numpy() is None)

    def test_a_closed_stream(self):
        x, event = self.array(random(2, 64)), self.stream.record()
        call = ops.rmsnorm.prepare(x, eps=0)
        with self.stream.capture() as graph:
            x.fill_bytes(0)
            with self.assertRaisesRegex(ValueError, "closing a stream"):
                self.stream.close()
        self.stream.close()
        for use in (call, graph.launch, self.stream.synchronize, self.stream.is_done, self.stream.record,
                    lambda: self.stream.wait(event), lambda: self.stream.capture().__enter__(),
                    lambda: ops.rmsnorm(x, stream=self.stream, eps=0)):
            with self.assertRaisesRegex(ValueError, "the stream is closed"):
                use()
        self.assertEqual(x.stream.handle, 1, "what was used there goes on on the default stream")
        x.numpy()

    def test_a_closed_context(self):
        x, event = self.array(random(2, 64)), Event(self.ctx)
        call = ops.rmsnorm.prepare(x, eps=0)
        with self.stream.capture() as graph:
            x.fill_bytes(0)
        self.ctx.close()
        self.ctx.close()
        for use in (call, lambda: ops.softmax(x), x.numpy, self.stream.synchronize, graph.launch, self.ctx.memory,
                    lambda: event.record(self.stream), lambda: Stream(self.ctx), lambda: self.zeros((1,), "u8")):
            with self.assertRaises((ValueError, SparkError)):
                use()
        self.assertEqual(repr(self.ctx), "Context(closed)")

    def test_any_order(self):
        for first in range(4):
            ctx = Context()
            stream = Stream(ctx)
            y = DeviceArray.zeros((1, 64), "f32", stream=stream)
            with stream.capture() as graph:
                y.fill_bytes(0)
            ops.rmsnorm(y, y=y, eps=0)
            graph.launch()
            things = [ctx, stream, y, graph]
            del ctx, stream, y, graph
            things.pop(first)
            gc.collect()
            things.clear()

    def test_streams_of_others(self):
        x = self.array(random(1, 64))
        native = self.stream.native
        self.assertEqual(self.stream.__cuda_stream__(), (0, native))
        self.assertNotEqual(native, self.stream.handle)
        for stream in (self.stream.handle, native, SimpleNamespace(cuda_stream=native), SimpleNamespace(ptr=native),
                       self.stream, 0, 1, 2):
            ops.rmsnorm(x, stream=stream, eps=0)
        with self.assertRaisesRegex(TypeError, "no stream"):
            ops.rmsnorm(x, stream="2", eps=0)
        wrapped = Stream.wrap(self.ctx, self.stream.handle, owner=self.stream)
        self.assertEqual(ops.rmsnorm(x, stream=wrapped, eps=0).stream, wrapped)

    def test_events(self):
        begin = self.stream.record()
        self.zeros((1024,), "f32")
        end = self.stream.record()
        end.synchronize()
        self.assertTrue(end.is_done() and self.stream.is_done())
        self.assertGreaterEqual(end.since(begin), 0)
        self.assertNotIn(end.native, (0, end.handle))

    def test_the_default_context(self):
        self.assertIs(default_context(), default_context())
        default_context().close()
        self.assertEqual(DeviceArray.zeros((2,), "u8").numpy().tolist(), [0, 0])


class Leaks(OnDevice):
    def test_device_memory_comes_back(self):
        before, _ = self.ctx.memory()
        for _ in range(50):
            x = self.zeros((1 << 20,), "u8")
            with self.stream.capture() as graph:
                x.fill_bytes(1)
            graph.launch()
        del x, graph
        gc.collect()
        after, _ = self.ctx.memory()
        self.assertLess(before - after, 20 << 20)

    def test_host_memory_comes_back(self):
        x, y = self.zeros((1, 64), "f32"), self.zeros((1, 64), "f32")
        tensor = Producer(x)

        def work(rounds):
            for _ in range(rounds):
                ops.rmsnorm(tensor, y=y, ctx=self.ctx, eps=0)
                ops.rmsnorm.plan(x, eps=0).explain()
                x.__dlpack__(stream=-1, max_version=(1, 0))
                try:
                    ops.rmsnorm(x, y=self.x, eps=0)
                except SparkError:
                    pass
        self.x = self.zeros((1, 63), "f32")
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        work(200)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        work(3000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        self.assertLess(after[0] - before[0], 90000)  # Python's own lists of free objects take some 60000
        self.assertLess(after[1] - before[1], 200)


class Threads(OnDevice):
    def test_one_context_many_threads(self):
        failures = []

        def work(seed):
            try:
                stream = Stream(self.ctx)
                host = random(4, 64, seed=seed)
                wanted = host / np.sqrt((host * host).mean(-1, keepdims=True) + 1e-5)
                for _ in range(20):
                    x = DeviceArray.from_numpy(host, stream=stream)
                    np.testing.assert_allclose(ops.rmsnorm(x, eps=1e-5).numpy(), wanted, rtol=1e-5)
            except BaseException as failure:  # noqa: B902  any of them fails the test
                failures.append(failure)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_errors_stay_with_their_thread(self):
        said = {}

        def work(width):
            x, y = self.zeros((1, 64), "f32"), self.zeros((1, width), "f32")
            for _ in range(200):
                try:
                    ops.rmsnorm(x, y=y, eps=0)
                except SparkError as error:
                    said.setdefault(width, set()).add(error.message)
        threads = [threading.Thread(target=work, args=(width,)) for width in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for width in (1, 2, 3):
            self.assertEqual(len(said[width]), 1)
            self.assertIn(f"y.shape[1] is {width} ", said[width].pop())


if __name__ == "__main__":
    unittest.main()
