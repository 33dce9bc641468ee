#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The server's cache on a small model: pages of any size give the same text; where there are few, requests wait and get
# the text that they get alone; beginnings that are shared are counted and change no bit; a cache of codes.
# usage: pages_test.py INTO PREFIX DRIVER
import random
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import client

sys.path.insert(0, str(client.ROOT / "tests" / "generate"))
import synthetic  # noqa: E402

PROGRAM, MODEL = None, None
CONTEXT, PAGE = synthetic.CONTEXT, 16
FEW = CONTEXT // PAGE  # pages: one of the longest requests at a time
LONG = {"prompt": "the thing", "max_tokens": 90}  # an answer that no end cuts short
BEGIN = "Be kind, and answer in the other language, (x): "  # more than two pages


def answer(server, **request):
    return server.caller.completions.create(model=server.model, **{"temperature": 0, **request})


def ask(server, **request):
    return answer(server, **request).choices[0].text


def ask_all(server, requests):
    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(lambda request: ask(server, **request), requests))


def some_requests():
    """Short and long ones, many of which begin alike."""
    chance = random.Random(3)
    return [{"prompt": BEGIN[:chance.choice((5, 32, 40, 48))] + chance.choice("abc") * chance.randint(0, 20),
             "max_tokens": chance.randint(1, 25), "temperature": chance.choice((0, 1)), "seed": i} for i in range(12)]


class Case(unittest.TestCase):
    def setUp(self):
        self.servers = []

    def tearDown(self):
        """Whatever a test did, all pages are free again, and the server is whole."""
        for server in self.servers:
            server.wait_until(active=0, waiting=0, pages_free=server.health()["pages"])
            server.terminate()
            self.assertEqual(server.end(), 0)

    def serve(self, *options):
        server = client.Server(PROGRAM, MODEL, *options)
        server.caller = server.client()  # for all threads: to make one takes as long as an emulated answer
        self.addCleanup(server.__exit__)
        self.servers.append(server)
        return server


class Pages(Case):
    def test_pages_of_any_size_give_the_same_text(self):
        texts = [ask(self.serve("--page", page), **LONG) for page in (CONTEXT, 1, 7, PAGE, 1000)]
        self.assertEqual(texts, texts[:1] * len(texts))

    def test_where_pages_are_few_requests_wait_and_get_the_same_text(self):
        alone = ask(self.serve(), **LONG)
        server = self.serve("--slots", 4, "--pages", FEW)
        with ThreadPoolExecutor(4) as pool:
            texts = [pool.submit(ask, server, **LONG) for _ in range(4)]
            server.wait_until(active=1, waiting=3)
            self.assertEqual([text.result() for text in texts], [alone] * 4)

    def test_short_requests_share_the_few_pages_in_time(self):
        server = self.serve("--slots", 4, "--pages", FEW)
        with ThreadPoolExecutor(3) as pool:
            texts = [pool.submit(ask, server, prompt="x" * 8, max_tokens=24) for _ in range(3)]  # two pages each
            server.wait_until(active=3)
            self.assertEqual(len({text.result() for text in texts}), 1)

    def test_many_requests_in_few_pages_get_what_they_get_alone(self):
        requests = some_requests()
        plain = self.serve("--slots", 4)
        alone = [ask(plain, **request) for request in requests]
        self.assertEqual(ask_all(self.serve("--slots", 4, "--pages", FEW), requests), alone)

    def test_a_full_queue_is_429_where_pages_are_what_is_missing(self):
        import openai
        server = self.serve("--slots", 2, "--queue", 1, "--pages", FEW)
        with ThreadPoolExecutor(3) as pool:
            texts = [pool.submit(ask, server, **LONG) for _ in range(3)]
            server.wait_until(active=1, waiting=2)
            with self.assertRaises(openai.RateLimitError) as caught:
                ask(server, **LONG)
            self.assertEqual(caught.exception.response.headers["Retry-After"], "1")
            self.assertEqual(len({text.result() for text in texts}), 1)

    def test_who_goes_away_leaves_the_pages_to_who_waits(self):
        server = self.serve("--slots", 2, "--pages", FEW)
        stream = server.caller.completions.create(model=server.model, **LONG, stream=True)
        next(iter(stream))
        with ThreadPoolExecutor(1) as pool:
            text = pool.submit(ask, server, **LONG)
            server.wait_until(active=1, waiting=1)
            stream.close()
            self.assertTrue(text.result())


class Shared(Case):
    def cached(self, server, **request):
        return answer(server, max_tokens=4, **request).usage.prompt_tokens_details.cached_tokens

    def test_the_full_pages_of_a_beginning_are_shared_and_counted(self):
        server = self.serve("--share")
        first, again = (answer(server, prompt=BEGIN, max_tokens=30) for _ in range(2))
        tokens = first.usage.prompt_tokens
        self.assertEqual(first.usage.prompt_tokens_details.cached_tokens, 0)
        self.assertEqual(again.usage.prompt_tokens_details.cached_tokens, (tokens - 1) // PAGE * PAGE)
        self.assertGreater(tokens, 2 * PAGE)
        self.assertEqual(first.choices, again.choices)
        self.assertEqual(self.cached(server, prompt=BEGIN[:PAGE - 2]), 0, "no full page")
        self.assertEqual(self.cached(server, prompt="x" + BEGIN), 0, "the same tokens elsewhere")

    def test_no_bit_changes_whatever_is_shared(self):
        requests = some_requests()
        for cache in ("bf16", "e4m3"):
            options = ["--slots", 4, "--share", "--cache", cache]
            nothing = self.serve(*options, "--page", CONTEXT)  # which no prompt fills
            alone = [ask(nothing, **request) for request in requests]
            for page, pages in ((PAGE, FEW), (4, 200)):
                shared = self.serve(*options, "--page", page, "--pages", pages)
                self.assertEqual(ask_all(shared, requests), alone, (cache, page))

    def test_without_the_option_nothing_is(self):
        server = self.serve()
        self.assertEqual([self.cached(server, prompt=BEGIN) for _ in range(2)], [0, 0])

    def test_a_stream_tells_it_too(self):
        server = self.serve("--share")
        options = {"prompt": BEGIN, "max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}}
        told = [list(answer(server, **options))[-1].usage for _ in range(2)]
        self.assertGreater(told[1].prompt_tokens_details.cached_tokens, told[0].prompt_tokens_details.cached_tokens)

    def test_beside_who_still_writes(self):
        server = self.serve("--share", "--slots", 2)
        with ThreadPoolExecutor(1) as pool:
            stream = server.client().completions.create(model=server.model, prompt=BEGIN, max_tokens=40, stream=True)
            next(iter(stream))
            self.assertGreater(self.cached(server, prompt=BEGIN + "x"), 2 * PAGE - 1)
            pool.submit(stream.close).result()

    def test_what_has_been_overwritten_is_not_found(self):
        server = self.serve("--share", "--pages", FEW, "--slots", 1)
        whole = ask(server, prompt=BEGIN, max_tokens=10)
        ask(server, **LONG)  # takes all pages
        self.assertEqual(self.cached(server, prompt=BEGIN), 0)
        self.assertEqual(ask(server, prompt=BEGIN, max_tokens=10), whole)


class Codes(Case):
    def test_requests_get_the_same_text_alone_and_beside_others_in_half_the_memory(self):
        requests = some_requests()[:8]
        server, wide = (self.serve("--slots", 4, "--pages", 4000, *more) for more in (["--cache", "e4m3"], []))
        memory = wide.health()["device_memory_in_use"] - server.health()["device_memory_in_use"]
        bytes_of_codes = 4000 * PAGE * 2 * synthetic.LAYERS * synthetic.WIDTH // synthetic.HEADS * synthetic.GROUPS
        self.assertGreater(memory, 0.9 * bytes_of_codes)
        alone = [ask(server, **request) for request in requests]
        self.assertEqual(ask_all(server, requests), alone)


if __name__ == "__main__":
    INTO = Path(sys.argv[1])
    PROGRAM, MODEL = client.begin(*sys.argv[1:4]) / "serve", INTO / "pages.gguf"
    MODEL.write_bytes(synthetic.build(synthetic.values(), synthetic.tensors())[0])
    unittest.main(argv=sys.argv[:1])
