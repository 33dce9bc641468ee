// SPDX-License-Identifier: Apache-2.0
// Sparse mma: half of the elements of each row of A are there, and metadata says which ones of the row they are. It
// multiplies and sums as a dense mma of half the depth, each row of A with its own rows of B.
// Called by the executor of mma.sp. Knows nothing of PTX text.
#pragma once

#include "mma.h"

namespace emu::num {

// Every chunk of a row has 4 bits of metadata. Of 2:4 (halves, bytes) they are two positions of 2 bits, the earlier
// element's below; of 4:8 (4 bits) two positions of pairs; of 1:2 (tf32) 0100 for the first element, 1110 for the
// second. Lane 4g + t holds, of halves and tf32, the four chunks of number t of row g, and above them those of row
// g + 8; of others eight chunks of number t div 2 of row g + 8 (t mod 2). Threads of one selector follow each other.
struct SparseKind {
    MmaKind kept;     // of the elements that are there: k is half of the instruction's; rows is 16
    uint8_t selector; // which threads of each four hold metadata
    bool ordered;     // positions grow within a chunk
};
unsigned chunks_of(const MmaKind& kept); // of a row
inline unsigned selectors_of(const MmaKind& kept) { return 16 / chunks_of(kept); }

// Metadata that means nothing.
struct BadChunk {
    unsigned row = 0, chunk = 0, lane = 0, bits = 0;
};
// B has twice the registers that `kept` says. False: nothing is done, and `bad` says why.
bool mma_sparse(const SparseKind& kind, const MmaModel* model, Planes a, Planes b, Planes c, PlanesOut d,
                const uint32_t* metadata, const MmaScales* scales, BadChunk& bad);

} // namespace emu::num
