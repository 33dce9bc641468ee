#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes the reference that the example is compared with: tokens by Hugging Face's `tokenizers`, logits and greedy text
# by llama.py in double precision. Run by hand: reference.py MODEL.gguf > FILE; needs numpy and tokenizers.
#
# The bounds are an honest scale and no theorem: the model runs again with its weights, and every value that the C
# program stores, rounded to BF16: once to nearest, and with several seeds by chance, whose errors have twice the
# variance. An implementation that is right is one more sample of those errors. `bound` is twice the largest error of a
# logit after the prompt; most of it is a shift that all logits share, so that the order of two logits is surer: `tie`
# is twice the largest error of the difference of the two largest logits, over all steps. `bound.e4m3` is twice
# the largest error of a logit after the prompt, or of the two largest in any step, with keys and values rounded once
# more, to E4M3, as such a cache has them.
import argparse

import gguf_file
import llama
import numpy as np

SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
CHAT = SYSTEM + "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = ["The capital of France is", CHAT.format("What is a GPU? Answer in two sentences."),
           CHAT.format("List 3 prime numbers > 10, and sum them.")]
LARGEST, STRIDE, SEEDS = 64, 768, 4


def huggingface(file):
    """The tokenizer of the file's vocabulary and merges."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    tokens, kinds = file.values["tokenizer.ggml.tokens"], file.values["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in file.values["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    made.add_special_tokens([AddedToken(token, special=True, normalized=False)
                             for token, kind in zip(tokens, kinds) if kind in (3, 4)])
    return made


def escaped(data):
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02x}" for b in data)


def ascii_bytes(token):
    """A token of the file as bytes; the spelling of others than printable ASCII, space and newline is left."""
    return token.replace("\u0120", " ").replace("\u010a", "\n").encode()


def greedy(model, ids, steps):
    """The logits before each of the tokens that are generated."""
    model.forget()
    logits = [model.step(ids)[0]]
    while len(logits) < steps:
        logits.append(model.step([int(np.argmax(logits[-1]))])[0])
    return np.array(logits)


def two_largest(logits):
    """For each row: the tokens of the largest logit and of the next."""
    return np.argsort(-logits, axis=1, kind="stable")[:, :2]


def rounding(file, prompts, exact, codes=False):
    """The largest error of a logit after each prompt, of the difference of the two largest in any step, and of either
    of these, for a BF16 run to nearest and then for those by chance, these divided by the root of two; or with a cache
    of codes."""
    model = llama.Llama(file, llama.Nearest())
    ways = [[llama.Nearest(to)] + [llama.Stochastic(seed, to) for seed in range(SEEDS)]
            for to in (llama.to_bf16, llama.to_e4m3)]
    runs = []
    for stored, cached in zip(*ways):
        model.round, scale = stored, 1 if not runs else np.sqrt(2)
        model.cached = cached if codes else llama.exact
        off = []
        for ids, wanted in zip(prompts, exact):
            first, second = two_largest(wanted).T
            model.forget()
            errors = model.step(ids + [int(i) for i in first[:-1]], rows=len(wanted)) - wanted
            row = np.arange(len(wanted))
            off.append((np.abs(errors[0]).max() / scale,
                        np.abs(errors[row, first] - errors[row, second]).max() / scale,
                        np.abs([errors[row, first], errors[row, second]]).max() / scale))
        runs.append(off)
    return np.array(runs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--prompt", action="append", help="instead of the three of this file")
    parser.add_argument("--tokens", type=int, default=32)
    args = parser.parse_args()
    file = gguf_file.Reader(args.model)
    tokenizer = huggingface(file)
    texts = args.prompt or PROMPTS
    prompts = [tokenizer.encode(text).ids for text in texts]

    model = llama.Llama(file)
    exact = [greedy(model, ids, args.tokens) for ids in prompts]
    del model
    runs, codes = rounding(file, prompts, exact)[:, :, :2], rounding(file, prompts, exact, codes=True)

    print("# written by examples/generate/reference/reference.py, in double precision; do not edit")
    print("# largest errors of BF16 runs, each prompt's [of a logit, of the difference of two], to nearest: "
          f"{np.round(runs[0], 3).tolist()}")
    print(f"# and by chance, over the root of two: {np.round(runs[1:].max(axis=0), 3).tolist()}")
    print(f"bound {2 * runs[:, :, 0].max():.4f}\ntie {2 * runs[:, :, 1].max():.4f}")
    print(f"bound.e4m3 {2 * codes[:, :, [0, 2]].max():.4f}")
    for text, ids, logits in zip(texts, prompts, exact):
        print(f"prompt {escaped(text.encode())}\nids {' '.join(map(str, ids))}")
        shown = [*np.argsort(-logits[0], kind="stable")[:LARGEST], *range(0, logits.shape[1], STRIDE)]
        for i in sorted(set(map(int, shown))):
            print(f"logit {i} {logits[0, i]:.5f}")
        for row, (first, second) in zip(logits, two_largest(logits)):
            print(f"token {first} {row[first]:.5f} {second} {row[second]:.5f}")
        spelled = b"".join(ascii_bytes(file.values["tokenizer.ggml.tokens"][i]) for i in two_largest(logits)[:, 0])
        print("# " + escaped(spelled).strip())


if __name__ == "__main__":
    main()
