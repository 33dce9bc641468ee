#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of delayed_scale: NumPy's roll and nanmax over whole arrays, quotients in float32. Needs
what make_formats.py needs; nothing of libspark is used."""
import numpy as np

from make_formats import save

BY = f"NumPy {np.__version__}, float32"
LARGEST_F32 = np.finfo(np.float32).max


def update(history, scale, inverse, amax, largest, most_recent):
    last = history[0] if amax is None else np.where(amax == 0, history[0], amax)
    moved = np.roll(history, -1, axis=0)
    moved[-1] = last
    a = last if most_recent else np.nanmax(np.vstack([np.zeros_like(moved[:1]), moved]), axis=0)
    new = np.isfinite(a) & (a > 0)
    with np.errstate(all="ignore"):
        scale = np.where(new, a / np.float32(largest), scale)
        inverse = np.where(new, np.minimum(np.float32(largest) / a, LARGEST_F32), inverse)
    moved[0] = 0
    return moved, scale, inverse


def make(name, rows, columns, with_amax, most_recent, largest, seed):
    g = np.random.default_rng(seed)
    history = np.abs(g.normal(size=(rows, columns))).astype(np.float32)
    amax = np.abs(g.normal(size=columns) * 4).astype(np.float32)
    special = [0, np.nan, np.inf, 2.0**-149, 2.0**-130, LARGEST_F32]
    for i, one in enumerate(special):  # in the last amax, in history[0] where that is 0, in the midst, and alone
        amax[i], history[0, i] = one, one
        amax[6 + i], history[0, 6 + i] = 0, one
        history[rows // 2, 12 + i] = one
        history[:, 18 + i], amax[18 + i] = 0, one
    scale, inverse = g.normal(size=(2, columns)).astype(np.float32)
    after = update(history, scale, inverse, amax if with_amax else None, largest, most_recent)
    assert all(part.dtype == np.float32 for part in after)
    tensors = {"history": history, "scale": scale, "inverse": inverse}
    tensors |= {"amax": amax} if with_amax else {}
    tensors |= dict(zip(["history_after", "scale_after", "inverse_after"], after))
    save("delayed_scale", name, {key: ("F32", list(part.shape), part.astype("<f4").tobytes())
                                 for key, part in tensors.items()},
         {"largest": largest, "most_recent": most_recent}, seed, by=BY)


if __name__ == "__main__":
    make("max", 16, 27, True, False, 448.0, 6300)
    make("max_in_place", 7, 27, False, False, 57344.0, 6301)
    make("most_recent_margin", 5, 27, True, True, 112.0, 6302)
    make("one_step", 1, 27, True, False, 448.0, 6303)
