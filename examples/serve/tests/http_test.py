#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The server on a small model, asked by OpenAI's client: answers whole and in pieces, one at a time and many; what must
# be refused; clients that go away; too many of them; the end. usage: http_test.py INTO PREFIX DRIVER
import json
import os
import subprocess
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
SLOTS, QUEUE = 2, 3
LONG = {"prompt": "the thing", "max_tokens": 90, "temperature": 0}  # an answer that no end cuts short
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Sing."}]


class Answers(unittest.TestCase):
    """One server for all of them; whatever a test did, nothing of it is left."""

    @classmethod
    def setUpClass(cls):
        cls.server = client.Server(PROGRAM, MODEL, "--slots", SLOTS, "--queue", QUEUE)
        cls.api = cls.server.client()
        cls.memory = cls.server.health()["device_memory_in_use"]

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def tearDown(self):
        self.server.wait_until(active=0, waiting=0, device_memory_in_use=self.memory)

    def complete(self, **options):
        return self.api.completions.create(model=self.server.model, **options)

    def chat(self, **options):
        return self.api.chat.completions.create(model=self.server.model, messages=CHAT, **options)

    def text(self, **options):
        return self.complete(**options).choices[0].text

    def send(self, body, path="/v1/completions", method="POST"):
        """Status and body of a request that no client would make."""
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.server.address}{path}", body, head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=client.LIMIT) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]

    def test_the_model_is_listed(self):
        self.assertEqual([model.id for model in self.api.models.list()], [self.server.model])

    def test_pieces_make_the_whole(self):
        whole = self.complete(**LONG)
        pieces = list(self.complete(**LONG, stream=True, stream_options={"include_usage": True}))
        *texts, end, usage = pieces
        self.assertEqual("".join(piece.choices[0].text for piece in texts), whole.choices[0].text)
        self.assertGreater(len(texts), 10)
        self.assertEqual((end.choices[0].finish_reason, usage.usage), ("length", whole.usage))
        self.assertEqual((whole.usage.completion_tokens, whole.choices[0].finish_reason), (90, "length"))

    def test_a_chat_answers_as_the_assistant(self):
        whole = self.chat(max_completion_tokens=6, temperature=0).choices[0]
        first, *texts, end = self.chat(max_completion_tokens=6, temperature=0, stream=True)
        self.assertEqual((whole.message.role, first.choices[0].delta.role), ("assistant", "assistant"))
        self.assertEqual("".join(piece.choices[0].delta.content for piece in texts), whole.message.content)
        self.assertEqual(end.choices[0].finish_reason, whole.finish_reason)

    def test_a_stream_ends_in_done(self):
        status, body = self.send(json.dumps({"model": self.server.model, **LONG, "stream": True}).encode())
        self.assertEqual((status, body.split(b"\n\n")[-2]), (200, b"data: [DONE]"))

    def test_requests_get_the_same_text_alone_and_beside_others(self):
        settings = [{"prompt": "the thing", "temperature": 0}, {"prompt": "12 (x)", "temperature": 0.9, "seed": 5},
                    {"prompt": "x" * 60, "temperature": 2, "seed": -1}, {"prompt": "and", "top_p": 0.5, "seed": 2},
                    {"prompt": "in the other", "temperature": 0}]
        alone = [self.text(max_tokens=30, **one) for one in settings]
        with ThreadPoolExecutor(len(settings)) as pool:
            self.assertEqual(list(pool.map(lambda one: self.text(max_tokens=30, **one), settings)), alone)

    def test_a_seed_decides(self):
        options = {"prompt": "x", "max_tokens": 12, "temperature": 2}
        texts = [self.text(**options, seed=seed) for seed in (1, 1, 2)]
        self.assertTrue(texts[0] == texts[1] != texts[2], texts)
        self.assertNotEqual(self.text(**options), self.text(**options))

    def test_a_stop_ends_the_text_before_it(self):
        whole = self.text(**LONG)
        stop = whole[20:23]
        for streamed in (False, True):
            answer = self.complete(**LONG, stop=["never there", stop], stream=streamed)
            choices = [piece.choices[0] for piece in (answer if streamed else [answer])]
            self.assertEqual("".join(choice.text for choice in choices), whole[:whole.find(stop)])
            self.assertEqual(choices[-1].finish_reason, "stop")

    def test_what_cannot_be_is_refused(self):
        model = {"model": self.server.model}
        for status, body in (
                (400, b'{"model": "synthetic", "prompt'), (400, b"[]"), (400, b"\xff"), (400, {}),
                (400, {**model}), (400, {**model, "prompt": 5}), (400, {**model, "prompt": ""}),
                (400, {**model, "prompt": "x", "temperature": 3}), (400, {**model, "prompt": "x", "temperature": "a"}),
                (400, {**model, "prompt": "x", "top_p": 0}), (400, {**model, "prompt": "x", "max_tokens": 0}),
                (400, {**model, "prompt": "x", "max_tokens": -1}), (400, {**model, "prompt": "x", "n": 2}),
                (400, {**model, "prompt": "x", "stop": ""}), (400, {**model, "prompt": "x", "logit_bias": {"5": 1}}),
                (404, {"model": "another", "prompt": "x"}), (413, b" " * (3 << 20))):
            got, error = self.send(body if isinstance(body, bytes) else json.dumps(body).encode())
            self.assertEqual(got, status, (body[:50] if isinstance(body, bytes) else body, error))
            self.assertTrue(error["message"] and error["type"] == "invalid_request_error", error)
        image = [{"type": "image_url"}]
        for messages in ([], [{"role": "tool", "content": "x"}], [{"role": "user", "content": image}]):
            body = json.dumps({**model, "messages": messages}).encode()
            self.assertEqual(self.send(body, "/v1/chat/completions")[0], 400, messages)
        self.assertEqual(self.send(b"{}", "/v1/nothing")[0], 404)
        self.assertEqual(self.send(None, method="GET")[0], 405)

    def test_a_prompt_that_does_not_fit_is_refused_with_the_sentence(self):
        import openai
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete(prompt="x" * 90, max_tokens=7)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertIn("the prompt has 90 tokens and the answer 7; the context holds 96", str(caught.exception))
        self.assertEqual(self.complete(prompt="x" * 90, max_tokens=6, temperature=0).usage.prompt_tokens, 90)

    def test_a_full_queue_is_429_and_the_others_are_served(self):
        import openai
        with ThreadPoolExecutor(SLOTS + QUEUE) as pool:
            texts = [pool.submit(self.text, **LONG) for _ in range(SLOTS + QUEUE)]
            self.server.wait_until(active=SLOTS, waiting=QUEUE)
            with self.assertRaises(openai.RateLimitError) as caught:
                self.complete(**LONG)
            self.assertEqual(caught.exception.response.headers["Retry-After"], "1")
            self.assertEqual(len({text.result() for text in texts}), 1)

    def test_clients_that_go_away_leave_their_slots_and_places(self):
        streams = [self.complete(**LONG, stream=True) for _ in range(SLOTS)]
        for stream in streams:
            next(iter(stream))
        body = json.dumps({"model": self.server.model, **LONG}).encode()
        head = (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n")
        sockets = [self.server.connect(head % len(body) + body) for _ in range(QUEUE)]
        self.server.wait_until(waiting=QUEUE)
        for one in sockets:
            one.close()
        self.server.wait_until(waiting=0, active=SLOTS)
        for stream in streams:
            stream.close()
        self.server.wait_until(active=0)


class Pieces(unittest.TestCase):
    def test_a_prompt_in_pieces_gets_the_same_text_beside_an_answer_that_is_being_written(self):
        prompt, texts = "the other thing (12) " * 3, []
        for options in ([], ["--piece", 7]):
            with client.Server(PROGRAM, MODEL, *options) as server, ThreadPoolExecutor() as pool:
                def text(**request):
                    return server.client().completions.create(model=server.model, **request).choices[0].text

                other = pool.submit(text, **LONG)
                server.wait_until(active=1)
                texts.append([text(prompt=prompt, max_tokens=8, temperature=0), other.result()])
        self.assertEqual(*texts)


class Broken(unittest.TestCase):
    def test_a_model_without_numbers_is_500_and_not_the_end(self):
        import openai
        parts, name = synthetic.tensors(), "output_norm.weight"
        parts[name][2] = b"\xff" * len(parts[name][2])  # NaN
        broken = Path(MODEL).with_name("broken.gguf")
        broken.write_bytes(synthetic.build(synthetic.values(), parts)[0])
        with client.Server(PROGRAM, broken) as server:
            for _ in range(2):
                with self.assertRaisesRegex(openai.InternalServerError, "the logits hold no number to choose by"):
                    server.client().completions.create(model=server.model, prompt="x")
            server.terminate()
            self.assertEqual(server.end(), 0)

    def test_a_damaged_model_or_a_wrong_option_is_refused(self):
        damaged = Path(MODEL).with_name("damaged.gguf")
        damaged.write_bytes(Path(MODEL).read_bytes()[:-5000])
        wrong = [["--context", 97], ["--slots", 0], ["--piece", 257], ["--none"], ["--page", 0], ["--pages", 5],
                 ["--cache", "e5m2"]]
        for options in [[damaged], *([MODEL, *options] for options in wrong)]:
            with self.assertRaisesRegex(AssertionError, "the server ended with 1"):
                client.Server(PROGRAM, *options)

    def test_no_device_is_said_and_so_is_what_the_library_logs(self):
        environment = {**os.environ, "LIBSPARK_DRIVER": "/nowhere.so", "LIBSPARK_NOT_THERE": "1"}
        ended = subprocess.run([PROGRAM, "--model", MODEL], env=environment, capture_output=True, timeout=client.LIMIT)
        self.assertEqual((ended.returncode, ended.stdout), (1, b""))
        self.assertRegex(ended.stderr, b"libspark Warn knobs: .*LIBSPARK_NOT_THERE(?s:.*)/nowhere.so")


class End(unittest.TestCase):
    def stream(self, server):
        return iter(server.client().completions.create(model=server.model, **LONG, stream=True))

    def test_what_runs_is_finished(self):
        with client.Server(PROGRAM, MODEL) as server:
            pieces = self.stream(server)
            next(pieces)
            server.terminate()
            self.assertEqual(list(pieces)[-1].choices[0].finish_reason, "length")
            self.assertEqual(server.end(), 0)

    def test_what_takes_too_long_is_told(self):
        import openai
        with client.Server(PROGRAM, MODEL, "--grace", 0) as server:
            pieces = self.stream(server)
            next(pieces)
            server.terminate()
            with self.assertRaisesRegex(openai.APIError, "the server is stopping"):
                list(pieces)
            self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    INTO = Path(sys.argv[1])
    PROGRAM, MODEL = client.begin(*sys.argv[1:4]) / "serve", INTO / "synthetic.gguf"
    MODEL.write_bytes(synthetic.build(synthetic.values(), synthetic.tensors())[0])
    unittest.main(argv=sys.argv[:1])
