#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# generate and serve on the real model: its tokens, and greedy text, which is that of the reference in double precision,
# by itself and beside another request. usage: model_test.py INTO PREFIX DRIVER MODEL
import os
import subprocess
import sys
import threading
import unittest

import client

REFERENCE = client.ROOT / "examples" / "generate" / "reference" / "smollm2-135m-instruct.txt"
FEW = 4  # tokens of each answer: the first ones, whose logits stand far above the others
PROGRAMS, MODEL = None, None


def texts():
    """Each prompt of the reference, and how its answer begins."""
    lines = REFERENCE.read_text().splitlines()
    prompts = [line.removeprefix("prompt ") for line in lines if line.startswith("prompt ")]
    answers = [line.removeprefix("# ") for line in lines[lines.index(f"prompt {prompts[0]}"):] if line.startswith("# ")]
    return [[text.encode().decode("unicode_escape") for text in pair] for pair in zip(prompts, answers, strict=True)]


class Text(unittest.TestCase):
    def test_tokens_are_those_of_the_model(self):
        built = [path for path in (PROGRAMS / "deps").glob("tokens-*") if not path.suffix]
        subprocess.run([max(built, key=lambda path: path.stat().st_mtime), "--ignored"], check=True,
                       env={**os.environ, "SPARK_MODEL": MODEL}, timeout=client.LIMIT)

    def test_generate_meets_the_reference(self):
        prompt, answer = texts()[1]
        question = prompt.split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
        said = subprocess.run([PROGRAMS / "generate", "--model", MODEL, "--prompt", question, "--max-tokens", str(FEW)],
                              check=True, stdout=subprocess.PIPE, text=True, timeout=client.LIMIT).stdout
        self.assertTrue(said and answer.startswith(said), said)

    def test_serve_meets_the_reference_with_two_requests_at_a_time(self):
        for options in ([], ["--cache", "e4m3", "--share"]):
            self.meet(*options)

    def meet(self, *options):
        (first, first_answer), (second, second_answer), _ = texts()
        question = second.split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
        with client.Server(PROGRAMS / "serve", MODEL, "--slots", 2, "--context", 64, *options) as server:
            api, said = server.client(), {}

            def chat():
                answer = api.chat.completions.create(model=server.model, max_tokens=FEW, temperature=0,
                                                     messages=[{"role": "user", "content": question}])
                said["chat"] = answer.choices[0].message.content

            thread = threading.Thread(target=chat)
            thread.start()
            answer = api.completions.create(model=server.model, prompt=first, max_tokens=FEW, temperature=0)
            thread.join()
            self.assertTrue(first_answer.startswith(answer.choices[0].text), answer)
            self.assertTrue(said["chat"] and second_answer.startswith(said["chat"]), said)


if __name__ == "__main__":
    PROGRAMS, MODEL = client.begin(*sys.argv[1:4]), sys.argv[4]
    unittest.main(argv=sys.argv[:1])
