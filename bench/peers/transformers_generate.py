#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Tokens a second of Hugging Face transformers with PyTorch (BF16) on the model of the demo: the weights of the same
# GGUF file, the rows of Q and K back in Hugging Face's order, in a LlamaForCausalLM built by hand; no network.
# usage: transformers_generate.py MODEL.gguf [--reference FILE] [--tokens 128] [--device cuda]
#
# Ways of generating: "generate" is model.generate as it comes; "static" has a static cache, which fixes all shapes;
# "compiled" is that with torch.compile in reduce-overhead mode, which replays CUDA graphs. With --reference the greedy
# tokens are compared with it. Times are medians, of decoding alone: that of a run less that of its first token.
import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "generate" / "reference"))
import gguf_file  # noqa: E402
from llama import half_split  # noqa: E402

NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


def configuration(values):
    theta = float(values.get("llama.rope.freq_base", 10000.0))
    newer = int(transformers.__version__.split(".")[0]) >= 5
    rotary = {"rope_parameters": {"rope_type": "default", "rope_theta": theta}} if newer else {"rope_theta": theta}
    return transformers.LlamaConfig(
        vocab_size=len(values["tokenizer.ggml.tokens"]), hidden_size=values["llama.embedding_length"],
        intermediate_size=values["llama.feed_forward_length"], num_hidden_layers=values["llama.block_count"],
        num_attention_heads=values["llama.attention.head_count"],
        num_key_value_heads=values["llama.attention.head_count_kv"],
        max_position_embeddings=values["llama.context_length"],
        rms_norm_eps=values["llama.attention.layer_norm_rms_epsilon"], tie_word_embeddings=True,
        bos_token_id=values["tokenizer.ggml.bos_token_id"], eos_token_id=values["tokenizer.ggml.eos_token_id"],
        pad_token_id=0, **rotary)


def weights(file, config):
    """The state of a LlamaForCausalLM, in BF16."""
    def tensor(array):
        return torch.from_numpy(array).to(torch.bfloat16)

    state = {"model.embed_tokens.weight": tensor(file.tensor("token_embd.weight")),
             "model.norm.weight": tensor(file.tensor("output_norm.weight"))}
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    for i in range(config.num_hidden_layers):
        for ours, theirs in NAMES.items():
            array = file.tensor(f"blk.{i}.{ours}.weight")
            if ours in ("attn_q", "attn_k"):
                heads = config.num_attention_heads if ours == "attn_q" else config.num_key_value_heads
                array = half_split(array, heads).copy()
            state[f"model.layers.{i}.{theirs}.weight"] = tensor(array)
    return state


def prompts(path):
    """(tokens of the prompt, greedy tokens) of each prompt of a reference."""
    found = []
    for line in Path(path).read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "ids":
            found.append(([int(n) for n in rest.split()], []))
        elif word == "token":
            found[-1][1].append(int(rest.split()[0]))
    return found


def measure(generate, synchronize, tokens, repeats=7):
    """Seconds of the first token, and of each further one."""
    def timed(count):
        synchronize()
        began = time.perf_counter()
        generate(count)
        synchronize()
        return time.perf_counter() - began

    for count in (1, tokens, 1, tokens):
        timed(count)
    first = statistics.median(timed(1) for _ in range(repeats))
    whole = statistics.median(timed(tokens) for _ in range(repeats))
    return {"first_token_s": first, "per_token_ms": 1e3 * (whole - first) / (tokens - 1),
            "tokens_per_second": (tokens - 1) / (whole - first)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--reference")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--ways", default="generate,static,compiled")
    args = parser.parse_args()
    file = gguf_file.Reader(args.model)
    config = configuration(file.values)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    missing, unexpected = model.load_state_dict(weights(file, config), strict=False)
    assert not unexpected and all("inv_freq" in name for name in missing), (missing, unexpected)
    model = model.to(args.device).eval()
    model.generation_config.eos_token_id = None  # as many tokens as asked for
    synchronize = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    known = prompts(args.reference) if args.reference else [(list(range(100, 140)), [])]
    ids = torch.tensor([known[min(1, len(known) - 1)][0]], device=args.device)

    def generate(count, tokens=ids, **options):
        return model.generate(tokens, attention_mask=torch.ones_like(tokens), do_sample=False, max_new_tokens=count,
                              **options)

    result = {"torch": torch.__version__, "transformers": transformers.__version__, "dtype": "BF16",
              "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
              "prompt_tokens": ids.shape[1], "new_tokens": args.tokens}
    for number, (prompt, wanted) in enumerate(known):
        if wanted:
            with torch.no_grad():
                found = generate(len(wanted), torch.tensor([prompt], device=args.device))[0, len(prompt):].tolist()
            same = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), len(wanted))
            result[f"prompt_{number + 1}"] = f"the first {same} of {len(wanted)} greedy tokens are the reference's"
    static = {"cache_implementation": "static"}
    ways = {"generate": {}, "static": static, "compiled": static}
    for way in args.ways.split(","):
        try:
            if way == "compiled":
                model.forward = torch.compile(model.forward, mode="reduce-overhead", fullgraph=False)
            with torch.no_grad():
                result[way] = measure(lambda count: generate(count, **ways[way]), synchronize, args.tokens)
        except Exception as error:  # a way that this version does not have is no reason to lose the others
            result[way] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({way: result[way]}), file=sys.stderr, flush=True)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
