// Two files whose lines translate one another, or a single file, read a block of consecutive lines at a time and in any
// order: what a corpus that is larger than memory is shuffled by. Memory does not grow with the files.
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
  // Reads the files once, from begin to end: counts their lines, notes where blocks begin, and hashes what they say. A
  // file without offsets (compressed, a pipe) is copied, decompressed, into a nameless file in `spool`, a folder; its
  // space is free again when the program ends, however it ends.
  // Fails, naming both counts, where two files differ in their number of lines.
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
  // On average, where blocks differ.
  uint64_t linesPerBlock() const {
    return blocks() == 0 ? perBlock : std::max(perBlock, (count + blocks() - 1) / blocks());
  }
  uint64_t firstLineOf(size_t block) const { return firstLines[block] + 1; } // from 1
  // "'train.jsonl' line 3": where line `line`, from 0 on, of a block stands in the source.
  std::string placeOf(size_t block, size_t line) const;

  // Of the lines of all files, whatever they are compressed with; 32 hexadecimal digits.
  const std::string &fingerprint() const { return hash; }

  // Where the texts can be read again for as long as this lives, by this process: a pipe gives its bytes once.
  std::vector<std::filesystem::path> files() const;

  const std::filesystem::path &source() const { return sides[0].path; }
  const std::filesystem::path &target() const { return sides[1].path; }

  // The lines of a block, of the first file or of both. May be called from several threads. Fails where a file has
  // changed since.
  Result<std::vector<std::string>> readSource(size_t block) const { return readSide(sides[0], block); }
  Result<ParallelText> read(size_t block) const;
  Result<ParallelText> readAll() const;

private:
  // A file descriptor of one's own.
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
    std::vector<uint64_t> starts; // of the blocks, in bytes
    uint64_t end = 0;
    bool isCopy = false; // `file` is a nameless copy
  };

  class Scan;

  LineBlocks() = default;
  static Result<LineBlocks> open(const std::vector<std::filesystem::path> &files, const std::filesystem::path &spool,
                                 BlockBegin begin);
  void beginBlock();
  Result<std::vector<std::string>> readSide(const Side &side, size_t block) const;

  std::vector<Side> sides;
  uint64_t count = 0, perBlock = 0;
  std::vector<uint64_t> firstLines; // of the blocks, from 0
  std::string hash;
};

} // namespace heddle
