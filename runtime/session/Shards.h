// Which rows of the sharded variables this rank keeps. With one rank, all of them.
//
// Of R rows, N ranks keep P each: R / N, rounded up so that a part begins where kernels can read it and is a whole
// number of workgroups' rows, whichever of the artifact's targets a rank's device runs. Rank r keeps those from min(r
// P, R - P) on: the last parts may overlap, and ranks compute the same there.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/ranks/Collectives.h"

#include <cstddef>
#include <map>
#include <vector>

namespace heddle {

class Shards {
public:
  // `collectives` may be null: one rank.
  Shards(const schema::Module &module, Collectives *collectives);

  uint32_t ranks() const { return collectives ? collectives->ranks() : 1; }
  // Whether this rank keeps some of the variable's rows only. Of a view: of the variable that it lies in.
  bool has(uint32_t variable) const { return ranks() > 1 && module.variables()->Get(storageOf(variable))->sharded(); }

  struct Rows {
    uint64_t first, count;
  };
  Rows rowsOf(uint32_t variable, uint32_t rank) const;
  Rows ownRows(uint32_t variable) const { return rowsOf(variable, collectives ? collectives->rank() : 0); }
  // Those rows' bytes of a tensor with as many rows as the variable and `bytes` bytes.
  struct Range {
    uint64_t offset, bytes;
  };
  Range ownRange(uint32_t variable, uint64_t bytes) const;

  // The same tensor cut where the ranks' parts begin and end.
  struct Segment {
    Range range;
    uint32_t rank; // the first rank in whose part it is
    bool isShared; // other ranks have it too
  };
  std::vector<Segment> segments(uint32_t variable, uint64_t bytes) const;
  // Whether the parts lie one behind the other, each as large as the others.
  bool areEqualParts(uint32_t variable) const { return rowsOf(variable, 0).count * ranks() == rows(variable); }

  // All ranks' rows, each of which has given its own: `parts` has those of rank 0, of rank 1, and so on, which lie
  // `stride` bytes apart. `whole` is of as many rows as the variable.
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
  std::map<uint32_t, uint64_t> units; // by variable: rows of which a part has a whole number
};

} // namespace heddle
