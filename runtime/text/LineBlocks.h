// Two files whose lines are translations of each other, or a single file. Blocks of consecutive lines are read in any
// order, so that a corpus larger than memory can be shuffled. Memory use does not grow with the files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/Lines.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

// Where a block may begin.
enum class BlockBegin { AnyLine, AfterBlankLine };

class LineBlocks {
public:
  // Reads the files once from beginning to end: counts their lines, records where blocks begin, and hashes their
  // contents. A file without offsets (compressed, a pipe) is copied, decompressed, into an unlinked file in the folder
  // `spool`. Its space is freed when the program ends, however it ends. Fails with both counts if two files differ in
  // their number of lines.
  static Result<LineBlocks> open(const std::filesystem::path &source, const std::filesystem::path &target,
                                 const std::filesystem::path &spool) {
    return open({source, target}, spool, BlockBegin::AnyLine);
  }
  static Result<LineBlocks> open(const std::filesystem::path &file, const std::filesystem::path &spool,
                                 BlockBegin begin) {
    return open(std::vector{file}, spool, begin);
  }

  uint64_t lines() const { return count; }
  size_t blocks() const { return firstLines.size(); }
  uint64_t linesOf(size_t block) const {
    return (block + 1 < blocks() ? firstLines[block + 1] : count) - firstLines[block];
  }
  // The average if blocks differ in size.
  uint64_t linesPerBlock() const {
    return blocks() == 0 ? perBlock : std::max(perBlock, (count + blocks() - 1) / blocks());
  }
  uint64_t firstLineOf(size_t block) const { return firstLines[block] + 1; } // from 1
  // The place of line `line` (from 0) of a block in the source file: "'train.jsonl' line 3".
  std::string placeOf(size_t block, size_t line) const;

  // A hash of the lines of all files, after decompression: 32 hexadecimal digits.
  const std::string &fingerprint() const { return hash; }

  // Paths from which this process can read the texts again while this object lives. A pipe can be read only once, so
  // its path is that of the copy.
  std::vector<std::filesystem::path> files() const;

  const std::filesystem::path &source() const { return sides[0].path; }
  const std::filesystem::path &target() const { return sides[1].path; }

  // The lines of a block, of the first file or of both. Thread-safe. Fails if a file has changed since open().
  Result<std::vector<std::string>> readSource(size_t block) const { return readSide(sides[0], block); }
  Result<ParallelText> read(size_t block) const;
  Result<ParallelText> readAll() const;

private:
  // Owns a file descriptor.
  class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number(number) {}
    Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
      std::swap(number, other.number);
      return *this;
    }
    ~Descriptor();
    int get() const { return number; }

  private:
    int number;
  };

  struct Side {
    std::filesystem::path path;
    Descriptor file;
    std::vector<uint64_t> starts; // byte offsets of the blocks
    uint64_t end = 0;
    bool isCopy = false; // `file` is an unlinked copy
  };

  class Scan;

  LineBlocks() = default;
  static Result<LineBlocks> open(const std::vector<std::filesystem::path> &files, const std::filesystem::path &spool,
                                 BlockBegin begin);
  void beginBlock();
  Result<std::vector<std::string>> readSide(const Side &side, size_t block) const;

  std::vector<Side> sides;
  uint64_t count = 0, perBlock = 0;
  std::vector<uint64_t> firstLines; // first lines of the blocks, from 0
  std::string hash;
};

} // namespace heddle
