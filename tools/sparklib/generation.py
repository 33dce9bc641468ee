# SPDX-License-Identifier: Apache-2.0
#
# The record of text generation: what `spark-generate --json` and bench/peers/transformers_generate.py wrote on one card
# becomes a part of that card's entry in docs/performance.json. Called by `tools/spark bench --record-generation`.
import json
import statistics
from pathlib import Path

import record

WAYS = {"generate": "transformers, `generate`", "static": "transformers, static cache and a recorded graph",
        "compiled": "transformers, `torch.compile`"}


def runs_of(files):
    """Every JSON object of the files; a file may hold several, one after the other."""
    for file in files:
        text, decoder = Path(file).read_text().strip(), json.JSONDecoder()
        while text:
            run, end = decoder.raw_decode(text)
            yield run
            text = text[end:].lstrip()


def own_row(name, runs):
    return {"name": name, "runs": len(runs), "prompt_tokens": runs[0]["prompt_tokens"],
            "new_tokens": runs[0]["generated_tokens"],
            "prefill_ms": 1e3 * statistics.median(run["prefill_s"] for run in runs),
            "tokens_per_second": statistics.median(run["timed_steps"] / run["decode_s"] for run in runs)}


def peer_rows(run):
    for way, name in WAYS.items():
        figures = run.get(way, {"failed": "not run"})
        row = {"name": name, "runs": 1, "prompt_tokens": run["prompt_tokens"], "new_tokens": run["new_tokens"]}
        if "failed" in figures:
            yield row | {"failed": figures["failed"].splitlines()[0][:100]}
        else:
            yield row | {"prefill_ms": 1e3 * figures["first_token_s"],
                         "tokens_per_second": figures["tokens_per_second"]}


def adopt(files):
    """Puts the runs, all of one card, into its entry, in the place of older ones, and writes the page."""
    runs = list(runs_of(files))
    own = [run for run in runs if "graph" in run]
    peers = [run for run in runs if "torch" in run]
    devices = {run["device"] for run in runs}
    if not own or len(devices) != 1:
        raise record.Refused("the files are to hold runs of spark-generate, and all of one card")
    if any(run["emulated"] for run in own):
        raise record.Refused("an emulated run is not recorded: its times mean nothing")
    rows = [own_row(name, some) for graph, name in ((True, "`spark-generate`"), (False, "`spark-generate --no-graph`"))
            if (some := [run for run in own if run["graph"] == graph])]
    part = {**record.named(record.SOURCES),
            "peer": {word: peers[0][word] for word in ("torch", "transformers", "dtype")} if peers else None,
            "rows": rows + [row for run in peers for row in peer_rows(run)]}
    entries = record.load()
    entry = next((entry for entry in entries if [entry["device"]] == list(devices)), None)
    if entry is None:
        raise record.Refused(f"{devices.pop()} has no entry yet: record spark-bench first")
    entry["generation"] = part
    record.write(entries)
