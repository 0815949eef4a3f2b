// Text files, a sentence a line.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace heddle::run {

// Reads a text file line by line. A byte order mark and the carriage returns of CRLF files are left out.
class LineReader {
public:
  static Result<LineReader> open(const std::filesystem::path &path);

  // False at the end of the file, and where reading it failed: see status().
  bool next(std::string &line);
  Status status() const;
  uint64_t lineNumber() const { return number; }

private:
  explicit LineReader(std::filesystem::path path) : path(std::move(path)) {}

  std::filesystem::path path;
  std::ifstream stream;
  uint64_t number = 0; // of the last line read, from 1
};

Result<std::vector<std::string>> readLines(const std::filesystem::path &path);

// Two files whose lines translate one another.
struct ParallelText {
  std::vector<std::string> source, target;
};

// Fails, naming both counts, where the files differ in their number of lines.
Result<ParallelText> readParallelText(const std::filesystem::path &source, const std::filesystem::path &target);

} // namespace heddle::run
