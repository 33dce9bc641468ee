# SPDX-License-Identifier: Apache-2.0
"""What serving needs beside operators: priorities, events without a time, pinned memory and copies that do not wait,
allocation in stream order, modes of capture, updates of a graph, peers."""
import gc
import pathlib
import threading
import unittest
import weakref

import numpy as np
from support import OnDevice

from libspark import (Context, DeviceArray, Event, InvalidArgument, OutOfMemory, PinnedArray, SparkError, Status,
                      Stream, ops)

COUNT = 1024
LARGE = 16 << 20  # bytes, which no bookkeeping of a driver hides


class Serving(OnDevice):
    def setUp(self):
        super().setUp()
        self.stream = Stream(self.ctx, priority=-1)
        self.x = self.zeros((COUNT,), "u32")

    def refused(self, status):
        test = self

        class Refused:
            def __enter__(self):
                return self

            def __exit__(self, kind, error, _):
                test.assertIsInstance(error, SparkError)
                test.assertEqual(error.status, status, error)
                self.error = error
                return True
        return Refused()

    def other(self):
        ctx = Context()
        self.addCleanup(ctx.close)
        return ctx, Stream(ctx)

    def counted(self):
        made = PinnedArray.empty((COUNT,), "u32", ctx=self.ctx)
        made.array[...] = np.arange(1, COUNT + 1)
        return made

    def lost(self, before):
        """How many large arrays are missing from the free memory of before."""
        return round((before - self.ctx.memory()[0]) / LARGE)


class Tuned(Serving):
    def test_a_tuning_file_of_a_context(self):
        missing = pathlib.Path("/no/such/file")
        for path in (missing, str(missing), bytes(missing)):
            with self.refused(Status.INVALID_VALUE) as refused:
                Context(tuning=path)
            self.assertIn(f"No such file or directory: {missing}", refused.error.message)
        with self.refused(Status.INVALID_VALUE) as refused:
            Context.offline(120, tuning="/dev/null")
        self.assertIn("line 1", refused.error.message)
        Context.offline(120, tuning="").close()


class Queues(Serving):
    def test_priorities_and_events_without_a_time(self):
        with self.refused(Status.INVALID_VALUE):
            Stream(self.ctx, priority=1)
        with self.refused(Status.INVALID_VALUE) as refused:
            Stream(self.ctx, priority=-1000)
        self.assertIn("to 0 wanted", refused.error.message)
        blocking, timed = Stream(self.ctx, blocking=True), Event(self.ctx, blocking_sync=True)
        untimed = Event(self.ctx, timing=False)
        timed.record(self.stream)
        untimed.record(self.stream)
        blocking.wait(untimed)
        blocking.synchronize()
        self.assertTrue(untimed.is_done())
        self.assertGreaterEqual(timed.since(timed), 0)
        with self.assertRaises(InvalidArgument):
            untimed.since(timed)

    def test_modes_of_capture(self):
        def allocate(found):
            try:
                DeviceArray.empty((1,), "u1", ctx=self.ctx).free()
                found.append(None)
            except SparkError as error:
                found.append(error.status)
        refused = Status.INVALID_CAPTURE
        for mode, wanted in (("thread_local", [refused, None]), ("global", [refused, refused]),
                             ("relaxed", [None, None])):
            found = []
            with self.stream.capture(mode) as graph:
                allocate(found)
                thread = threading.Thread(target=allocate, args=(found,))
                thread.start()
                thread.join()
                self.x.fill_bytes(2, self.stream)
            self.assertEqual(found, wanted, mode)
            graph.launch()
            self.assertEqual(self.x.numpy()[0], 0x02020202)
        with self.assertRaisesRegex(ValueError, "thread_local, global, relaxed"), self.stream.capture("none"):
            pass

    def test_a_graph_is_updated_or_stays(self):
        other, y = Stream(self.ctx), self.zeros((LARGE,), "u1")
        before = self.ctx.memory()[0]
        first, second = self.zeros((LARGE,), "u1"), self.array(np.full(LARGE, 2, "u1"))
        with self.stream.capture() as graph:
            y.copy_from(first)
        graph.launch(other)
        self.assertTrue(graph.update(lambda: y.copy_from(second, self.stream)))
        del first, second
        graph.launch()
        self.assertTrue((y.numpy(self.stream) == 2).all())
        self.assertFalse(graph.update(lambda: y.fill_bytes(9, self.stream), mode="relaxed"))
        self.assertFalse(graph.update(lambda: None))
        with self.assertRaisesRegex(ValueError, "making an array"):
            graph.update(lambda: self.zeros((1,), "u1"))
        with self.assertRaisesRegex(ValueError, "another context"):
            graph.update(lambda: None, self.other()[1])
        with self.refused(Status.INVALID_CAPTURE):  # what never joins is another mistake
            graph.update(lambda: (other.wait(self.stream.record()), self.x.fill_bytes(1, other)))
        graph.launch()
        self.assertTrue((y.numpy(self.stream) == 2).all())
        third = self.zeros((LARGE,), "u1")
        self.assertTrue(graph.update(lambda: y.copy_from(third, other), other))
        self.assertEqual(self.lost(before), 2, "the first came back; launches of the second may be under way")
        graph.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            graph.update(lambda: None)
        del third
        self.assertEqual(self.lost(before), 0)

    def test_an_update_of_an_operator(self):
        x, y = self.array(np.full((1, 64), 3, "f4")), self.zeros((1, 64), "f4")
        graph_of = ops.rmsnorm.prepare(x, y=y, stream=self.stream, eps=0)
        with self.stream.capture() as graph:
            graph_of()
        self.assertTrue(graph.update(ops.rmsnorm.prepare(x, y=y, stream=self.stream, eps=27)))
        graph.launch()
        np.testing.assert_allclose(y.numpy(self.stream), np.full((1, 64), 0.5), rtol=1e-6)


class Pinned(Serving):
    def test_there_and_back(self):
        other, there = Stream(self.ctx), self.counted()
        back = PinnedArray.from_numpy(np.zeros(COUNT, "u4"), ctx=self.ctx)
        self.x.write_async(there)
        self.x.read_async(back)
        np.testing.assert_array_equal(back.array, there)
        self.x[-2:].write_async(there[7:9])
        self.x[-2:].read_async(back[:2])
        self.x[:1].read_async(back[2:3], other)  # behind the copy before it
        self.assertEqual(back.array[:3].tolist(), [8, 9, 1])
        self.assertEqual((len(back), back.shape, back.nbytes, memoryview(back.array).nbytes),
                         (COUNT, (COUNT,), 4 * COUNT, 4 * COUNT))
        np.testing.assert_array_equal(DeviceArray.from_numpy(there, stream=self.stream).numpy(), np.array(there))

        for wrong in (lambda: self.x.write_async(there[1:]), lambda: self.x[1:].read_async(back),
                      lambda: self.x[::2].write_async(there[:COUNT // 2]),
                      lambda: self.zeros((COUNT,), "f4").write_async(there),
                      lambda: self.x.write_async(PinnedArray.empty((COUNT,), "u32", ctx=self.other()[0])),
                      lambda: PinnedArray.empty((-1,), "u1", ctx=self.ctx)):
            with self.assertRaises((ValueError, TypeError)):
                wrong()
        with self.assertRaises(IndexError):
            there[::2]
        with self.refused(Status.HOST_MEMORY) as refused:
            PinnedArray.empty((1 << 60,), "u1", ctx=self.ctx)
        self.assertIsInstance(refused.error, OutOfMemory)
        none = PinnedArray.empty((0, 4), "f4", ctx=self.ctx)
        self.assertEqual((none.array.shape, none.address), ((0, 4), 0))
        self.zeros((0, 4), "f4").write_async(none)

    def test_types_that_numpy_does_not_have(self):
        host = PinnedArray.from_numpy(np.array([1.0, -2.0], "f4"), "bf16", ctx=self.ctx)
        self.assertEqual(host.array.tolist(), [0x3f80, 0xc000])
        y = self.zeros((2,), "bf16")
        y.write_async(host)
        self.assertEqual(y.numpy().tolist(), [1, -2])
        self.assertEqual(PinnedArray.empty((3, 4), "e2m1", ctx=self.ctx).shape, (6,))
        with self.assertRaisesRegex(TypeError, "smaller than a byte"):
            PinnedArray.from_numpy(np.zeros(2, "u1"), "e2m1", ctx=self.ctx)

    def test_a_recorded_copy_reads_at_every_launch(self):
        step, out = (PinnedArray.empty((1,), "u32", ctx=self.ctx) for _ in range(2))
        with self.stream.capture() as graph:
            self.x[3:4].write_async(step, self.stream)
            self.x[3:4].read_async(out, self.stream)
        for value in (5, 6):
            step.array[0] = value
            graph.launch()
            self.stream.synchronize()
            self.assertEqual(out.array[0], value)
        del step, out  # the graph has them too
        gc.collect()
        graph.launch()
        self.assertEqual(self.x.numpy(self.stream)[3], 6)

    def test_the_memory_lives_as_long_as_a_view(self):
        with self.counted() as host:
            view = host.array
            memory = weakref.ref(host.memory)
            self.x.write_async(host)
        for use in (lambda: host.array, lambda: host[:1], lambda: host.address, lambda: self.x.write_async(host)):
            with self.assertRaisesRegex(ValueError, "freed"):
                use()
        self.assertEqual((repr(host), view[7]), ("PinnedArray(U32, freed)", 8))
        del host
        gc.collect()
        self.assertEqual(view[-1], COUNT)
        del view
        gc.collect()
        self.assertIsNone(memory())
        lasting = self.counted().array
        self.ctx.close()
        self.assertEqual(lasting[-1], COUNT, "a view outlives the context")


class Memory(Serving):
    def test_allocation_in_stream_order(self):
        side = Stream(self.ctx)
        scratch = DeviceArray.empty((COUNT,), "u32", stream=self.stream, ordered=True)
        scratch.fill_bytes(1)
        self.x.copy_from(scratch)
        scratch.fill_bytes(2, side)  # behind the allocation, and before the end
        scratch.free(self.stream)
        with self.assertRaisesRegex(ValueError, "freed"):
            scratch.numpy()
        self.assertEqual(self.x.numpy()[-1], 0x01010101)
        self.zeros((4,), "u1").free(side)  # of whatever origin
        DeviceArray.empty((4,), "u1", stream=self.stream, ordered=True).free()  # as others are
        DeviceArray.empty((0,), "u1", stream=self.stream, ordered=True).free(side)
        with self.refused(Status.DEVICE_MEMORY):
            DeviceArray.empty((1 << 60,), "u1", stream=self.stream, ordered=True)
        with self.assertRaisesRegex(ValueError, "another context"):
            self.x.free(self.other()[1])

    def test_before_and_in_a_capture(self):
        side, kept = Stream(self.ctx), DeviceArray.empty((COUNT,), "u32", stream=self.stream, ordered=True)
        with self.stream.capture() as graph:
            kept.fill_bytes(3)
            self.x.copy_from(kept, self.stream)
            with self.assertRaisesRegex(ValueError, "making an array"):
                DeviceArray.empty((1,), "u1", stream=self.stream, ordered=True)
            with self.assertRaisesRegex(ValueError, "freeing memory"):
                kept.free(self.stream)
        graph.launch(side)
        self.assertEqual(self.x.numpy(side)[0], 0x03030303)

    def test_a_capture_elsewhere_does_not_count(self):
        host, other, failures = self.counted(), Stream(self.ctx), []

        def work():
            try:
                self.x.write_async(host)
                scratch = DeviceArray.empty((COUNT,), "u32", stream=self.stream, ordered=True)
                scratch.copy_from(self.x)
                np.testing.assert_array_equal(scratch.numpy(), host.array)
            except BaseException as failure:  # noqa: B902  any of them fails the test
                failures.append(failure)
        with other.capture():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        self.assertEqual(failures, [])

    def test_the_end_under_a_capture_elsewhere(self):
        """It forbids freeing: that is done with what ends next."""
        before, elsewhere = self.ctx.memory()[0], self.other()[1]
        x, small = self.zeros((LARGE,), "u1"), self.zeros((1,), "u1")
        with elsewhere.capture():
            x.free()
        self.assertEqual(self.lost(before), 1)
        small.free()
        self.assertEqual(self.lost(before), 0)

    def test_peers_on_one_device(self):
        peer, elsewhere = self.other()
        there = DeviceArray.from_numpy(np.full(COUNT, 6, "u4"), stream=elsewhere)
        self.assertFalse(self.ctx.can_access(peer))
        with self.refused(Status.INVALID_DEVICE):
            self.ctx.enable_peer(peer)
        for stream in (self.stream, elsewhere):
            self.x.fill_bytes(0)
            self.stream.synchronize()
            self.x.copy_from_peer(there, stream)
            stream.synchronize()
            np.testing.assert_array_equal(self.x.numpy(), there.numpy())
        with self.assertRaisesRegex(ValueError, "neither of the two"):
            self.x.copy_from_peer(there, self.other()[1])
        with self.assertRaisesRegex(ValueError, "one size"):
            self.x.copy_from_peer(there[1:])


if __name__ == "__main__":
    unittest.main()
