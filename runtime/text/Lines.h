// Text files, a sentence a line; plain, gzip or Zstandard.
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

// Reads a text file line by line. A byte order mark and the carriage returns of CRLF files are left out.
class LineReader {
public:
  static Result<LineReader> open(const std::filesystem::path &path);

  // False at the end of the file, and where reading it failed: see status().
  bool next(std::string &line);
  const Status &status() const { return problem; }
  uint64_t lineNumber() const { return number; } // of the last line read, from 1
  uint64_t offset() const { return consumed; }   // of the byte behind the last line, in the text
  bool isPlainFile() const { return stream->isPlainFile(); }

private:
  LineReader(std::filesystem::path path, std::unique_ptr<ByteStream> stream)
      : path(std::move(path)), stream(std::move(stream)) {}
  bool fill();
  bool isText(); // or `problem` says what it is

  std::filesystem::path path;
  std::unique_ptr<ByteStream> stream;
  std::string buffer;
  size_t begin = 0, end = 0; // of what is in the buffer and was not handed out
  uint64_t number = 0, consumed = 0;
  Status problem = Success();
};

// A line as the file has it, without its line feed, becomes what it says.
std::string_view plainLine(std::string_view line, bool isFirst);

Result<std::vector<std::string>> readLines(const std::filesystem::path &path);

// Two files whose lines translate one another.
struct ParallelText {
  std::vector<std::string> source, target;
  std::filesystem::path folder; // of the source, where it is of a LineBlocks: files that its lines name are there
};

// Fails, naming both counts, where the files differ in their number of lines.
Result<ParallelText> readParallelText(const std::filesystem::path &source, const std::filesystem::path &target);

// What to say then.
Error unequalLines(const std::filesystem::path &source, uint64_t sourceLines, const std::filesystem::path &target,
                   uint64_t targetLines);

} // namespace heddle
