#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The server among clients that want too much of it: prompts that cannot fit, connections that send nothing, half of
# something, or do not read. Whatever they do, others are served. usage: hostile_test.py INTO PREFIX DRIVER
import json
import sys
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import client

sys.path.insert(0, str(client.ROOT / "tests" / "generate"))
import synthetic  # noqa: E402

PROGRAM, MODEL = None, None
SOON = 2  # seconds of patience where it is to end
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
HALVES = {"nothing": b"", "half a head": HEAD, "half a body": HEAD + b"\r\n{\"model\": \"synth"}
GOOD = {"prompt": "the thing", "max_tokens": 3, "temperature": 0}


def ask(server, path="/v1/completions", **fields):
    """Status and answer."""
    body = json.dumps({"model": server.model, **fields}).encode()
    request = urllib.request.Request(f"http://{server.address}{path}", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=client.LIMIT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["error"]


class TooMuch(unittest.TestCase):
    def prompts(self, size, *options):
        """What 64 long prompts are told, and the memory in MB that they take."""
        with client.Server(PROGRAM, MODEL, *options) as server:
            self.assertEqual(ask(server, **GOOD)[0], 200)
            before = server.peak()
            with ThreadPoolExecutor(64) as pool:
                told = list(pool.map(lambda _: ask(server, prompt="the thing " * (size // 10)), range(64)))
            self.assertEqual(ask(server, **GOOD)[0], 200)
            grown = server.peak() - before
            print(f"64 prompts of {size} bytes {options}: {grown:.0f} MB")
            return told, grown

    def test_a_prompt_that_cannot_fit_is_not_kept(self):
        told, grown = self.prompts(1_900_000)
        self.assertEqual({status for status, _ in told}, {413})
        self.assertLess(grown, 64)

    def test_a_prompt_that_cannot_fit_is_not_cut_into_tokens(self):
        told, grown = self.prompts(1_900_000, "--body", 4_000_000, "--queue", 100)
        self.assertEqual({status for status, _ in told}, {400})
        self.assertRegex(told[0][1]["message"], r"1900000 bytes, which are \d+ tokens or more; the context holds 96")
        self.assertEqual(told[0][1]["code"], "context_length_exceeded")
        self.assertLess(grown, 512)

    def test_numbers_and_lengths_are_bounded(self):
        with client.Server(PROGRAM, MODEL, "--body", 100_000) as server:
            said = {"role": "user", "content": ""}
            status, error = ask(server, "/v1/chat/completions", messages=[said] * 30)
            self.assertEqual((status, error["code"]), (400, "context_length_exceeded"))
            self.assertIn("are 120 tokens or more", error["message"])
            for wrong in ({"stop": "x" * 1025}, {"n": 10**9}, {"best_of": 5}, {"max_tokens": 10**30},
                          {"max_tokens": 10**9}, {"stop": ["x"] * 5}, {"logit_bias": {"x" * 50_000: 1}},
                          {"x" * 50_000: 1}, {"temperature": "x" * 50_000}):
                status, error = ask(server, **{**GOOD, **wrong})
                self.assertEqual(status, 400, error)
                self.assertLess(len(json.dumps(error)), 1500)
            self.assertEqual(ask(server, **{**GOOD, "stop": "x" * 1024})[0], 200)
            self.assertEqual(ask(server, **{**GOOD, "model": "x" * 50_000})[0], 404)


class TooSlow(unittest.TestCase):
    def test_who_waits_keeps_nobody_out(self):
        for what, sent in HALVES.items():
            with self.subTest(what), client.Server(PROGRAM, MODEL, "--patience", 600, descriptors=64) as server:
                sockets = [server.connect() for _ in range(100)]
                for one in sockets:
                    try:
                        one.sendall(sent)
                    except ConnectionError:
                        pass  # closed for another
                self.assertEqual(ask(server, **GOOD)[0], 200)
                self.assertEqual(server.health()["status"], "ok")
                for one in sockets:
                    one.close()

    def test_patience_ends(self):
        kept = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        with client.Server(PROGRAM, MODEL, "--patience", SOON) as server:
            sockets = {what: server.connect(sent) for what, sent in {**HALVES, "a question": kept}.items()}
            for what, one in sockets.items():
                with self.subTest(what), one:
                    said = b"".join(iter(lambda: one.recv(4096), b""))
                    wanted = {"half a body": b"HTTP/1.1 408", "a question": b"HTTP/1.1 200"}.get(what, b"")
                    self.assertEqual(said[:12], wanted)
            client.wait_for("they have gone", lambda: server.health()["connections"] == 1)

    def test_who_does_not_read_is_given_up(self):
        with client.Server(PROGRAM, MODEL, "--patience", SOON) as server, server.connect() as one:
            one.settimeout(1)
            with self.assertRaises((TimeoutError, ConnectionError)):
                for _ in range(20_000):
                    one.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
            client.wait_for("it has gone", lambda: server.health()["connections"] == 1)

    def test_those_who_work_stay(self):
        options = ("--slots", 2, "--queue", 3, "--connections", 13, "--patience", 600)
        with client.Server(PROGRAM, MODEL, *options) as server, ThreadPoolExecutor() as pool:
            answers = [pool.submit(ask, server, prompt="the thing", max_tokens=90) for _ in range(5)]
            server.wait_until(active=2, waiting=3)
            sockets = [server.connect() for _ in range(40)]
            self.assertEqual([answer.result()[0] for answer in answers], [200] * 5)
            for one in sockets:
                one.close()


if __name__ == "__main__":
    INTO = Path(sys.argv[1])
    PROGRAM, MODEL = client.begin(*sys.argv[1:4]) / "serve", INTO / "hostile" / "synthetic.gguf"
    MODEL.parent.mkdir(exist_ok=True)
    MODEL.write_bytes(synthetic.build(synthetic.values(), synthetic.tensors())[0])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
