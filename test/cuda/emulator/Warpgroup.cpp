// wgmma: the part that each of a warpgroup's four warps computes, and the rules while it runs asynchronously.
#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/Machine.h"
#include "test/cuda/emulator/Numbers.h"

#include <algorithm>
#include <cstring>

namespace heddle::emulator {
namespace {

constexpr unsigned kMostDepth = 16, kDepthBytes = 32; // 16 elements of 16 bits, or 8 of tf32
constexpr uint32_t kPiece = 16; // bytes that are contiguous in every layout: eight elements, or four

// A matrix in shared memory, described by its descriptor. Eight rows of `row` bytes form an atom, in which the pieces
// of a row are swizzled by the row's number. Rows run along k if the matrix is K-major, otherwise along m or n.
struct Matrix {
  uint32_t start, leading, stride, row;
  bool transposed; // MN-major

  Matrix(uint64_t descriptor, bool transposed)
      : start((descriptor & 0x3fff) << 4), leading((descriptor >> 16 & 0x3fff) << 4),
        stride((descriptor >> 32 & 0x3fff) << 4), row(kPiece), transposed(transposed) {
    constexpr uint32_t rows[] = {kPiece, 128, 64, 32};
    row = rows[descriptor >> 62];
  }
  bool swizzled() const { return row > kPiece; }

  uint32_t swizzle(uint32_t address) const { return address ^ (address >> 3 & (row - kPiece)); }
  // The first or second half of the elements of row mn of a K-major matrix.
  uint32_t alongK(uint32_t mn, uint32_t half) const {
    return swizzle(start + mn / 8 * stride + mn % 8 * row + half * (swizzled() ? kPiece : leading));
  }
  // Elements (8 piece, k) to (8 piece + 7, k) of an MN-major matrix.
  uint32_t alongMN(uint32_t piece, uint32_t k) const {
    uint32_t pieces = row / kPiece; // of a row
    uint32_t panel = swizzled() ? leading : stride, atom = swizzled() ? stride : leading;
    return swizzle(start + piece / pieces * panel + piece % pieces * kPiece + k / 8 * atom + k % 8 * row);
  }

  // Returns what is wrong with the descriptor of a matrix with `extent` rows or columns; empty if nothing is.
  std::string problem(uint64_t descriptor, uint32_t extent) const {
    constexpr uint64_t offset = 0x3fff, known = offset | offset << 16 | offset << 32 | uint64_t(3) << 62;
    if (descriptor >> 49 & 7)
      return "a base offset is not known";
    if (descriptor & ~known)
      return "it has bits that mean nothing";
    if (!swizzled())
      return "";
    uint32_t atom = 8 * row;
    if (start % atom / row)
      return "the matrix begins at shared address " + hexadecimal(start) + ", within eight rows of " +
             std::to_string(row) + " bytes, which are swizzled together";
    uint32_t length = transposed ? std::min(2 * extent, row) : kDepthBytes;
    if (start % row + length > row)
      return "the matrix begins at shared address " + hexadecimal(start) + " and goes on past the end of its row of " +
             std::to_string(row) + " bytes";
    bool leads = transposed && 2 * extent > row, strides = transposed || extent > 8;
    if ((leads && leading % atom) || (strides && stride % atom))
      return "an offset is not a multiple of the " + std::to_string(atom) + " bytes that are swizzled together";
    return "";
  }
};

uint64_t pair(const Thread *lane, unsigned slot) { return lane->slots[slot] | uint64_t(lane->slots[slot + 1]) << 32; }

} // namespace

void Block::beginWarpgroups() {
  for (Warp &warp : warps) {
    warp.reads.clear();
    warp.groups.clear();
    warp.fenced = false;
  }
  warpgroups.assign(warps.size() / 4, {});
  writers.assign(launch->sharedBytes, {});
  readers.assign((launch->sharedBytes + kPiece - 1) / kPiece, {});
}

void Block::warpgroup(const Site &site, Thread *const lanes[32]) {
  Warp &warp = *lanes[0]->warp;
  takeStep(site, lanes);
  switch (site.op) {
  case Collective::WarpgroupFence:
    warp.fenced = true;
    return;
  case Collective::WarpgroupCommit: {
    size_t grouped = 0;
    for (size_t group : warp.groups)
      grouped += group;
    warp.groups.push_back(warp.reads.size() - grouped);
    return;
  }
  case Collective::WarpgroupRegisters:
    return;
  case Collective::WarpgroupWait:
    return retireReads(warp, site.groupsLeft);
  default:
    return multiplyWarpgroup(site, lanes);
  }
}

// The warps of a warpgroup may come at different times, but must all take the same steps with the same operands.
void Block::takeStep(const Site &site, Thread *const lanes[32]) {
  Thread *first = lanes[0];
  uint32_t index = first->warpIndex / 4, warp = first->warpIndex % 4;
  if (index >= warpgroups.size())
    fail(first, &site, kErrorLaunchFailed,
         "a warpgroup has four warps, the first of which has a multiple of four as its index; there is none around "
         "warp " +
             std::to_string(first->warpIndex) + " of " + std::to_string(warps.size()));
  Warpgroup::Step step{&site, 0, 0, 0};
  if (site.op == Collective::WarpgroupMultiply) {
    step = {&site, site.registersOfA ? 0 : pair(first, kSlotOfA), pair(first, kSlotOfB), first->slots[kSlotOfScale]};
    for (unsigned i = 1; i < 32; ++i)
      if (Thread *lane = lanes[i]; (!site.registersOfA && pair(lane, kSlotOfA) != step.a) ||
                                   pair(lane, kSlotOfB) != step.b || lane->slots[kSlotOfScale] != step.scale)
        fail(lane, &site, kErrorLaunchFailed, "its matrix descriptors or scale-d are not those of the warp's lane 0");
  }
  Warpgroup &group = warpgroups[index];
  uint64_t place = group.taken[warp]++ - group.first;
  if (place == group.steps.size())
    group.steps.push_back(step);
  const Warpgroup::Step &other = group.steps[place];
  if (other.site != &site)
    fail(first, &site, kErrorLaunchFailed,
         "warps of the warpgroup meet at different instructions, another at PTX line " +
             std::to_string(other.site->line));
  if (other != step)
    fail(first, &site, kErrorLaunchFailed,
         "its matrix descriptors or scale-d are not those of another warp of the warpgroup");
  uint64_t all = *std::min_element(group.taken, group.taken + 4);
  for (; group.first < all; ++group.first)
    group.steps.pop_front();
}

// Each warp has 16 of the 64 rows. Sums 4j and 4j + 1 are in row lane / 4, columns 8j + 2 (lane % 4) and the next. Sums
// 4j + 2 and 4j + 3 are eight rows below these. A's registers are laid out as for mma.m16n8k16.
void Block::multiplyWarpgroup(const Site &site, Thread *const lanes[32]) {
  Thread *first = lanes[0];
  Warp &warp = *first->warp;
  if (!warp.fenced)
    fail(first, &site, kErrorLaunchFailed, "no wgmma.fence comes before the warp's first wgmma");
  uint64_t descriptorA = pair(first, kSlotOfA), descriptorB = pair(first, kSlotOfB);
  Matrix matrixA(descriptorA, site.transposedA), matrixB(descriptorB, site.transposedB);
  auto require = [&](const char *which, uint64_t descriptor, const std::string &problem) {
    if (!problem.empty())
      fail(first, &site, kErrorLaunchFailed,
           std::string("the matrix descriptor of ") + which + ", " + hexadecimal(descriptor) + ": " + problem);
  };
  if (!site.registersOfA)
    require("A", descriptorA, matrixA.problem(descriptorA, 64));
  require("B", descriptorB, matrixB.problem(descriptorB, site.columns));

  const float *half = halfTable();
  const bool wide = site.type == MmaType::TF32;
  const unsigned ofPiece = wide ? 4 : 8, ofRegister = wide ? 1 : 2;
  auto element = [&](uint16_t bits) { return double(site.type == MmaType::F16 ? half[bits] : fromBFloat(bits)); };
  // Element i of a piece, or of a register.
  auto elementOf = [&](const uint32_t *words, uint32_t i) {
    return wide ? double(fromTensorFloat(words[i])) : element(static_cast<uint16_t>(words[i / 2] >> (16 * (i % 2))));
  };
  warp.reads.push_back({&site, {}});
  std::vector<uint32_t> &addresses = warp.reads.back().addresses;
  auto piece = [&](uint32_t address, uint32_t (&words)[4]) {
    Thread *lane = lanes[addresses.size() % 32];
    std::memcpy(words, sharedAccess(lane, &site, address, kPiece, Access::Read), kPiece);
    checkFenced(lane, &site, address, kPiece);
    addresses.push_back(address);
    noteReader(&site, address, kPiece, 1);
  };
  // Loads `count` rows of A or columns of B, beginning with `from`.
  auto load = [&](const Matrix &matrix, uint32_t from, uint32_t count, double (*to)[kMostDepth]) {
    uint32_t words[4];
    for (uint32_t mn = 0; !matrix.transposed && mn < count; ++mn)
      for (uint32_t part = 0; part < kDepthBytes / kPiece; ++part) {
        piece(matrix.alongK(from + mn, part), words);
        for (uint32_t i = 0; i < ofPiece; ++i)
          to[mn][ofPiece * part + i] = elementOf(words, i);
      }
    for (uint32_t part = 0; matrix.transposed && part < count / 8; ++part)
      for (uint32_t k = 0; k < site.depth; ++k) {
        piece(matrix.alongMN(from / 8 + part, k), words);
        for (uint32_t i = 0; i < 8; ++i)
          to[8 * part + i][k] = elementOf(words, i);
      }
  };

  double a[16][kMostDepth], b[256][kMostDepth];
  if (!site.registersOfA)
    load(matrixA, first->warpIndex % 4 * 16, 16, a);
  for (unsigned lane = 0; site.registersOfA && lane < 32; ++lane)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned e = 0; e < ofRegister; ++e)
        a[lane / 4 + 8 * (r % 2)][ofRegister * (lane % 4 + 4 * (r / 2)) + e] =
            elementOf(&lanes[lane]->slots[kSlotOfA + r], e);
  load(matrixB, 0, site.columns, b);
  if (site.negated)
    for (auto &row : a)
      for (double &x : row)
        x = -x;

  bool adds = first->slots[kSlotOfScale];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < site.columns / 2u; ++v) {
      uint32_t &slot = lanes[lane]->slots[kSlotOfSums + v];
      const double *row = a[lane / 4 + 8 * (v / 2 % 2)], *column = b[8 * (v / 4) + 2 * (lane % 4) + v % 2];
      float sum = adds ? std::bit_cast<float>(slot) : 0;
      for (unsigned k = 0; k < site.depth; k += ofPiece) { // products that are added at once
        double products[8];
        for (unsigned i = 0; i < ofPiece; ++i)
          products[i] = row[k + i] * column[k + i];
        sum = addTruncated(sum, products, ofPiece);
      }
      slot = std::bit_cast<uint32_t>(sum);
    }
}

// Ordinary instructions write through the generic proxy, and wgmma reads through the async proxy: the writer must have
// executed a fence and then a barrier with the readers.
void Block::checkFenced(Thread *thread, const Site *site, uint32_t offset, uint32_t size) {
  for (uint32_t i = offset; i < offset + size; ++i) {
    Writer writer = writers[i];
    if (!writer.thread)
      continue;
    const Thread &other = cluster.threadOf(writer.thread - 1);
    // A thread needs no barrier with itself, but wgmma is executed by many.
    bool own = &other == thread && site->op != Collective::WarpgroupMultiply;
    if (writer.fences < (own ? other.proxyFences : other.publishedFences))
      continue;
    bool fenced = writer.fences < other.proxyFences;
    fail(thread, site, kErrorIllegalAddress,
         "shared address " + hexadecimal(i) + " was written by the thread of index " + std::to_string(other.index) +
             (fenced ? ", which has come to no barrier since its fence.proxy.async"
                     : ", which has passed no fence.proxy.async since"));
  }
}

void Block::noteReader(const Site *site, uint32_t offset, uint32_t size, int change) {
  for (uint32_t i = offset / kPiece; i <= (offset + size - 1) / kPiece; ++i)
    readers[i] = {static_cast<uint32_t>(static_cast<int>(readers[i].count) + change), site};
}

void Block::checkNotRead(Thread *thread, const Site *site, uint32_t offset, uint32_t size) {
  for (uint32_t i = offset / kPiece; i <= (offset + size - 1) / kPiece; ++i)
    if (readers[i].count)
      fail(thread, site, kErrorIllegalAddress,
           "write of " + std::to_string(size) + " bytes at shared address " + hexadecimal(offset) +
               ", which the instruction at PTX line " + std::to_string(readers[i].site->line) +
               " may still read: its warp has not waited for it");
}

void Block::noteWrite(Thread *thread, const Site *site, uint32_t offset, uint32_t size) {
  checkNotRead(thread, site, offset, size);
  std::fill_n(writers.begin() + offset, size, Writer{thread->number + 1, thread->proxyFences});
}

// The bytes may be read at any time until the wait: the race check also counts a read now.
void Block::retireReads(Warp &warp, size_t groupsLeft) {
  size_t done = 0;
  while (warp.groups.size() > groupsLeft) {
    done += warp.groups.front();
    warp.groups.pop_front();
  }
  for (size_t i = 0; i < done; ++i) {
    const Warp::Reads &read = warp.reads[i];
    for (size_t k = 0; k < read.addresses.size(); ++k) {
      noteReader(read.site, read.addresses[k], kPiece, -1);
      if (launch->races)
        raceCheck(warp.lanes[k % 32], read.site, read.addresses[k], kPiece, Access::Read);
    }
  }
  warp.reads.erase(warp.reads.begin(), warp.reads.begin() + static_cast<ptrdiff_t>(done));
}

void Block::endWarp(Thread *thread) {
  Warp &warp = *thread->warp;
  if (!warp.reads.empty())
    fail(thread, warp.reads.front().site, kErrorLaunchFailed,
         warp.groups.empty() ? "the warp has ended without a wgmma.commit_group for it"
                             : "the warp has ended without a wgmma.wait_group for it");
  uint32_t index = thread->warpIndex / 4;
  if (index >= warpgroups.size())
    return;
  for (uint32_t i = 0; i < 4; ++i)
    if (warps[4 * index + i].alive)
      return;
  const Warpgroup &group = warpgroups[index];
  for (uint32_t i = 0; i < 4; ++i)
    if (group.taken[i] == group.first && !group.steps.empty())
      fail(warps[4 * index + i].lanes[0], group.steps.front().site, kErrorLaunchFailed,
           "the warp has ended without it, though others of the warpgroup came to it");
}

} // namespace heddle::emulator
