# SPDX-License-Identifier: Apache-2.0
#
# The record of peers: what bench/peers/torch_peers.py wrote on one card becomes a part of that card's entry in
# docs/performance.json. Called by `tools/spark bench --record-peers`.
import json
from pathlib import Path

import record

OURS = "libspark"
KEPT = ("torch", "cuda", "cudnn", "packages", "rounds", "ceilings", "rows")


def adopt(measured):
    """Puts one run into its card's entry, in the place of an older one, and writes the page."""
    run = json.loads(Path(measured).read_text(encoding="utf-8"))
    entries = record.load()
    entry = next((entry for entry in entries if entry["device"] == run["device"]), None)
    if entry is None:
        raise record.Refused(f"{run['device']} has no entry yet: record spark-bench first")
    for row in run["rows"]:
        if not isinstance(row["us"][OURS], float):
            raise record.Refused(f"the library did not compute {row['row']}: {row['us'][OURS]}")
    entry["peers"] = {**record.named(record.SOURCES), **{word: run[word] for word in KEPT}}
    record.write(entries)
