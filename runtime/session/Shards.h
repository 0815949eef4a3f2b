// Computes which rows of the sharded variables each rank keeps. With one rank, all of them.
//
// N ranks share R rows; each rank keeps P rows, where P is R / N rounded up to a multiple of the variable's unit. The
// unit keeps the start of each part aligned for kernels and makes each part a whole number of workgroups, for all of
// the artifact's targets, since ranks may run different ones. Rank r keeps the P rows from min(r * P, R - P) on. The
// last parts may overlap; ranks compute the same values there.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/ranks/Collectives.h"

#include <cstddef>
#include <map>
#include <vector>

namespace heddle {

class Shards {
public:
  // `collectives` is null for one rank.
  Shards(const schema::Module &module, Collectives *collectives);

  uint32_t ranks() const { return collectives ? collectives->ranks() : 1; }
  // Returns true if this rank keeps only some of the variable's rows. For a view, answers for its storage.
  bool has(uint32_t variable) const { return ranks() > 1 && module.variables()->Get(storageOf(variable))->sharded(); }

  struct Rows {
    uint64_t first, count;
  };
  Rows rowsOf(uint32_t variable, uint32_t rank) const;
  Rows ownRows(uint32_t variable) const { return rowsOf(variable, collectives ? collectives->rank() : 0); }
  // The bytes of this rank's rows in a tensor that has as many rows as the variable and `bytes` bytes.
  struct Range {
    uint64_t offset, bytes;
  };
  Range ownRange(uint32_t variable, uint64_t bytes) const;

  // A piece of a tensor that is cut at the boundaries of all ranks' parts.
  struct Segment {
    Range range;
    uint32_t rank; // the first rank that keeps this segment
    bool isShared; // other ranks keep it too
  };
  std::vector<Segment> segments(uint32_t variable, uint64_t bytes) const;
  // Returns true if the parts do not overlap (they always have equal sizes).
  bool areEqualParts(uint32_t variable) const { return rowsOf(variable, 0).count * ranks() == rows(variable); }

  // Copies the rows of all ranks to `whole`, which has as many rows as the variable. `parts` holds the rows of rank 0,
  // rank 1, ..., with `stride` bytes from one rank to the next.
  void assemble(uint32_t variable, std::span<const std::byte> parts, uint64_t stride, std::span<std::byte> whole) const;

private:
  uint32_t storageOf(uint32_t variable) const {
    int32_t storage = module.variables()->Get(variable)->storage();
    return storage < 0 ? variable : static_cast<uint32_t>(storage);
  }
  uint64_t rows(uint32_t variable) const {
    return static_cast<uint64_t>(module.variables()->Get(variable)->type()->dims()->Get(0)->extent());
  }

  const schema::Module &module;
  Collectives *collectives;
  std::map<uint32_t, uint64_t> units; // by variable: a part has a multiple of this many rows
};

} // namespace heddle
