// Text files with one sentence per line: plain, gzip or Zstandard.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/ByteStream.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Reads a text file line by line. Removes a byte order mark and the carriage returns of CRLF files.
class LineReader {
public:
  static Result<LineReader> open(const std::filesystem::path &path);

  // Returns false at the end of the file or after a read error; status() tells which.
  bool next(std::string &line);
  const Status &status() const { return problem; }
  uint64_t lineNumber() const { return number; } // of the last line read, from 1
  uint64_t offset() const { return consumed; }   // in the text, of the end of the last line read
  bool isPlainFile() const { return stream->isPlainFile(); }

private:
  LineReader(std::filesystem::path path, std::unique_ptr<ByteStream> stream)
      : path(std::move(path)), stream(std::move(stream)) {}
  bool fill();
  bool isText(); // if not, sets `problem`

  std::filesystem::path path;
  std::unique_ptr<ByteStream> stream;
  std::string buffer;
  size_t begin = 0, end = 0; // of the bytes in `buffer` that were not returned yet
  uint64_t number = 0, consumed = 0;
  Status problem = Success();
};

// Removes a line's carriage return, and the byte order mark from a file's first line. `line` has no line feed.
std::string_view plainLine(std::string_view line, bool isFirst);

Result<std::vector<std::string>> readLines(const std::filesystem::path &path);

// Two files whose lines are translations of each other.
struct ParallelText {
  std::vector<std::string> source, target;
  std::filesystem::path folder; // the source's folder if read by LineBlocks: files named in its lines are there
};

// Fails with both counts if the files differ in their number of lines.
Result<ParallelText> readParallelText(const std::filesystem::path &source, const std::filesystem::path &target);

// The error for that case.
Error unequalLines(const std::filesystem::path &source, uint64_t sourceLines, const std::filesystem::path &target,
                   uint64_t targetLines);

} // namespace heddle
