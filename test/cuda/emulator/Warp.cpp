// Computes the collectives of a warp's lanes. The layouts of matrix fragments are those of the PTX ISA.
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Numbers.h"

#include <algorithm>
#include <cstring>

namespace heddle::emulator {

const float *halfTable() {
  static const std::vector<float> table = [] {
    std::vector<float> values(65536);
    for (uint32_t i = 0; i < 65536; ++i)
      values[i] = fromHalf(static_cast<uint16_t>(i));
    return values;
  }();
  return table.data();
}

namespace {

using Lanes = Thread *const *;

void shuffle(const Site &site, Lanes lanes) {
  uint32_t values[32], predicates[32];
  for (int lane = 0; lane < 32; ++lane) {
    if (!lanes[lane])
      continue;
    uint32_t b = lanes[lane]->slots[1] & 31, c = lanes[lane]->slots[2];
    int clamp = c & 31, segment = c >> 8 & 31;
    int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int from = lane;
    bool inside = false;
    switch (site.op) {
    case Collective::ShuffleUp:
      from = lane - static_cast<int>(b);
      inside = from >= highest;
      break;
    case Collective::ShuffleDown:
      from = lane + static_cast<int>(b);
      inside = from <= highest;
      break;
    case Collective::ShuffleButterfly:
      from = lane ^ static_cast<int>(b);
      inside = from <= highest;
      break;
    default:
      from = lowest | (static_cast<int>(b) & ~segment);
      inside = from <= highest;
    }
    if (!inside)
      from = lane;
    // The value of a lane that takes no part is undefined: here it is NaN.
    values[lane] = lanes[from] ? lanes[from]->slots[0] : ~0u;
    predicates[lane] = inside;
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!lanes[lane])
      continue;
    lanes[lane]->slots[0] = values[lane];
    lanes[lane]->slots[1] = predicates[lane];
  }
}

void vote(const Site &site, Lanes lanes, uint32_t mask) {
  uint32_t ballot = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (lanes[lane] && lanes[lane]->slots[0])
      ballot |= 1u << lane;
  uint32_t result = ballot;
  if (site.op == Collective::VoteAll)
    result = ballot == mask;
  else if (site.op == Collective::VoteAny)
    result = ballot != 0;
  else if (site.op == Collective::VoteUniform)
    result = ballot == mask || ballot == 0;
  for (int lane = 0; lane < 32; ++lane)
    if (lanes[lane])
      lanes[lane]->slots[0] = result;
}

void match(const Site &site, Lanes lanes, uint32_t mask) {
  uint32_t results[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    results[lane] = 0;
    for (uint32_t other = 0; lanes[lane] && other < 32; ++other)
      if (lanes[other] && lanes[other]->slots[0] == lanes[lane]->slots[0] &&
          lanes[other]->slots[1] == lanes[lane]->slots[1])
        results[lane] |= 1u << other;
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!lanes[lane])
      continue;
    bool all = results[lane] == mask;
    lanes[lane]->slots[0] = site.op == Collective::MatchAll && !all ? 0 : results[lane];
    lanes[lane]->slots[1] = all;
  }
}

void reduce(const Site &site, Lanes lanes) {
  bool first = true;
  uint32_t sum = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!lanes[lane])
      continue;
    uint32_t value = lanes[lane]->slots[0];
    if (first) {
      sum = value;
      first = false;
      continue;
    }
    bool less = site.isSigned ? static_cast<int32_t>(value) < static_cast<int32_t>(sum) : value < sum;
    switch (site.op) {
    case Collective::ReduceAdd:
      sum += value;
      break;
    case Collective::ReduceMin:
      sum = less ? value : sum;
      break;
    case Collective::ReduceMax:
      sum = less ? sum : value;
      break;
    case Collective::ReduceAnd:
      sum &= value;
      break;
    case Collective::ReduceOr:
      sum |= value;
      break;
    default:
      sum ^= value;
    }
  }
  for (int lane = 0; lane < 32; ++lane)
    if (lanes[lane])
      lanes[lane]->slots[0] = sum;
}

// Returns row r of the 8x8 matrix i: 16 bytes at the address that lane 8i + r gives.
uint8_t *matrixRow(Block &block, const Site &site, Lanes lanes, unsigned matrix, unsigned row, Access access) {
  Thread *lane = lanes[matrix * 8 + row];
  uint64_t address = lane->slots[0] | uint64_t(lane->slots[1]) << 32;
  return site.generic ? block.genericAccess(lane, &site, address, 16, access)
                      : block.sharedAccess(lane, &site, address, 16, access);
}

// Lane l holds element (l / 4, l % 4 * 2) and its right neighbour; transposed, (l % 4 * 2, l / 4) and the element
// below.
void matrixElement(unsigned lane, unsigned half, bool transposed, unsigned &row, unsigned &column) {
  row = lane / 4;
  column = lane % 4 * 2 + half;
  if (transposed)
    std::swap(row, column);
}

void loadMatrix(Block &block, const Site &site, Lanes lanes) {
  uint16_t elements[4][8][8];
  for (unsigned matrix = 0; matrix < site.count; ++matrix)
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(elements[matrix][row], matrixRow(block, site, lanes, matrix, row, Access::Read), 16);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < site.count; ++matrix) {
      uint32_t value = 0;
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row, column;
        matrixElement(lane, half, site.transposed, row, column);
        value |= uint32_t(elements[matrix][row][column]) << (16 * half);
      }
      lanes[lane]->slots[matrix] = value;
    }
}

void storeMatrix(Block &block, const Site &site, Lanes lanes) {
  for (unsigned matrix = 0; matrix < site.count; ++matrix) {
    uint8_t *rows[8];
    for (unsigned row = 0; row < 8; ++row)
      rows[row] = matrixRow(block, site, lanes, matrix, row, Access::Write);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row, column;
        matrixElement(lane, half, site.transposed, row, column);
        auto element = static_cast<uint16_t>(lanes[lane]->slots[2 + matrix] >> (16 * half));
        std::memcpy(rows[row] + 2 * column, &element, 2);
      }
  }
}

void moveMatrix(Lanes lanes) {
  uint16_t elements[8][8];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned half = 0; half < 2; ++half)
      elements[lane % 4 * 2 + half][lane / 4] = static_cast<uint16_t>(lanes[lane]->slots[0] >> (16 * half));
  for (unsigned lane = 0; lane < 32; ++lane)
    lanes[lane]->slots[0] = elements[lane / 4][lane % 4 * 2] | uint32_t(elements[lane / 4][lane % 4 * 2 + 1]) << 16;
}

// D = A B + C: 16 rows, 8 columns, `depth` deep. Register r of A, element e of it (with p elements to a register):
//   row    lane / 4 + 8 (r % 2),  column p (lane % 4) + 4p (r / 2) + e
// of B: row  p (lane % 4) + 4p r + e,  column lane / 4
// of C and D, value v: row lane / 4 + 8 (v / 2), column 2 (lane % 4) + v % 2
void multiply(const Site &site, Lanes lanes) {
  const float *half = halfTable();
  unsigned packed = site.type == MmaType::TF32 ? 1 : 2;
  unsigned aRegisters = site.depth / (2 * packed), bRegisters = aRegisters / 2;
  float a[16][16], b[16][8], sums[16][8];
  auto element = [&](uint32_t bits, unsigned e) {
    if (site.type == MmaType::TF32)
      return fromTensorFloat(bits);
    auto part = static_cast<uint16_t>(bits >> (16 * e));
    return site.type == MmaType::F16 ? half[part] : fromBFloat(part);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const uint32_t *slots = lanes[lane]->slots;
    unsigned group = lane / 4, inGroup = lane % 4;
    for (unsigned r = 0; r < aRegisters; ++r)
      for (unsigned e = 0; e < packed; ++e)
        a[group + 8 * (r % 2)][packed * inGroup + 4 * packed * (r / 2) + e] = element(slots[r], e);
    for (unsigned r = 0; r < bRegisters; ++r)
      for (unsigned e = 0; e < packed; ++e)
        b[packed * inGroup + 4 * packed * r + e][group] = element(slots[4 + r], e);
    for (unsigned v = 0; v < 4; ++v)
      sums[group + 8 * (v / 2)][2 * inGroup + v % 2] =
          site.halfSums ? half[slots[6 + v / 2] >> (16 * (v % 2)) & 0xffff] : std::bit_cast<float>(slots[6 + v]);
  }
  const unsigned together = site.type == MmaType::TF32 ? 4 : 8; // products that are added at once
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column)
      for (unsigned k = 0; k < site.depth; k += together) {
        double products[8];
        for (unsigned i = 0; i < together; ++i)
          products[i] = double(a[row][k + i]) * double(b[k + i][column]);
        sums[row][column] = addTruncated(sums[row][column], products, together);
      }
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t *slots = lanes[lane]->slots;
    for (unsigned v = 0; v < 4; ++v) {
      float sum = sums[lane / 4 + 8 * (v / 2)][2 * (lane % 4) + v % 2];
      if (!site.halfSums)
        slots[v] = std::bit_cast<uint32_t>(sum);
      else if (v % 2 == 0)
        slots[v / 2] = toHalf(sum);
      else
        slots[v / 2] |= uint32_t(toHalf(sum)) << 16;
    }
  }
}

} // namespace

void computeCollective(Block &block, const Site &site, Thread *const lanes[32], uint32_t mask) {
  switch (site.op) {
  case Collective::Sync:
    return;
  case Collective::ShuffleUp:
  case Collective::ShuffleDown:
  case Collective::ShuffleButterfly:
  case Collective::ShuffleIndex:
    return shuffle(site, lanes);
  case Collective::VoteAll:
  case Collective::VoteAny:
  case Collective::VoteUniform:
  case Collective::VoteBallot:
    return vote(site, lanes, mask);
  case Collective::MatchAny:
  case Collective::MatchAll:
    return match(site, lanes, mask);
  case Collective::ReduceAdd:
  case Collective::ReduceMin:
  case Collective::ReduceMax:
  case Collective::ReduceAnd:
  case Collective::ReduceOr:
  case Collective::ReduceXor:
    return reduce(site, lanes);
  case Collective::Elect:
    for (int lane = 0; lane < 32; ++lane)
      if (lanes[lane]) {
        lanes[lane]->slots[0] = static_cast<uint32_t>(__builtin_ctz(mask));
        lanes[lane]->slots[1] = lane == __builtin_ctz(mask);
      }
    return;
  case Collective::LoadMatrix:
    return loadMatrix(block, site, lanes);
  case Collective::StoreMatrix:
    return storeMatrix(block, site, lanes);
  case Collective::MoveMatrix:
    return moveMatrix(lanes);
  case Collective::Multiply:
    return multiply(site, lanes);
  case Collective::WarpgroupFence:
  case Collective::WarpgroupCommit:
  case Collective::WarpgroupWait:
  case Collective::WarpgroupMultiply:
  case Collective::WarpgroupRegisters:
    return block.warpgroup(site, lanes);
  }
}

} // namespace heddle::emulator
