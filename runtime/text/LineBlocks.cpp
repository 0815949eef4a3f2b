#include "runtime/text/LineBlocks.h"

#include "runtime/core/Span.h"
#include "runtime/text/Hash.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <optional>
#include <stdlib.h>
#include <unistd.h>

namespace heddle {
namespace {

// Small blocks shuffle well, but a short list of blocks saves memory. For large files, the number of blocks stays
// between half of kMostBlocks and kMostBlocks.
constexpr size_t kMostBlocks = 1 << 16;
constexpr uint64_t kSmallestBlock = 64; // lines
constexpr size_t kSpoolPortion = 1 << 20;

Error ioError(std::string_view what, const std::filesystem::path &path) {
  return makeError(ErrorKind::Io, what, " '", path.string(), "' failed: ", std::strerror(errno), ".");
}

Status writeAll(int file, std::string_view bytes, const std::filesystem::path &folder) {
  while (!bytes.empty()) {
    ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return ioError("keeping a decompressed copy of the text in", folder);
    bytes.remove_prefix(size_t(done));
  }
  return Success();
}

int openNameless(const std::filesystem::path &folder) {
  std::string name = (folder / ".heddle-text-XXXXXX").string();
  int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0)
    ::unlink(name.c_str());
  return file;
}

} // namespace

LineBlocks::Descriptor::~Descriptor() {
  if (number >= 0)
    ::close(number);
}

// Scans one file.
class LineBlocks::Scan {
public:
  Scan(Side &side, const std::filesystem::path &spool) : side(side), spool(spool) {}

  Status open() {
    HEDDLE_ASSIGN(LineReader opened, LineReader::open(side.path));
    reader.emplace(std::move(opened));
    copied = side.isCopy = !reader->isPlainFile();
    side.file = Descriptor(copied ? openNameless(spool) : ::open(side.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (side.file.get() < 0)
      return copied ? ioError("keeping a decompressed copy of the text in", spool) : ioError("opening", side.path);
    return Success();
  }

  bool next() {
    lineStart = at();
    if (!reader->next(line))
      return false;
    hash.add(line).add("\n");
    if (copied)
      portion.append(line).append("\n");
    return true;
  }

  // The block begins at the last line read.
  void beginBlock() { side.starts.push_back(lineStart); }
  bool lineIsBlank() const { return isBlank(line); }

  // The error of next(), if any. Also writes the copy's full buffer.
  Status status() {
    HEDDLE_CHECK(reader->status());
    return portion.size() < kSpoolPortion ? Status(Success()) : flush();
  }

  Status finish() {
    HEDDLE_CHECK(flush());
    side.end = at();
    return Success();
  }

  uint64_t countRest() {
    while (reader->next(line))
      ;
    return reader->lineNumber();
  }

  std::string hexadecimal() const { return hash.hexadecimal(); }

private:
  uint64_t at() const { return copied ? written + portion.size() : reader->offset(); }

  Status flush() {
    written += portion.size();
    Status status = writeAll(side.file.get(), portion, spool);
    portion.clear();
    return status;
  }

  Side &side;
  const std::filesystem::path &spool;
  std::optional<LineReader> reader;
  bool copied = false;
  std::string line, portion;
  uint64_t written = 0, lineStart = 0;
  ContentHash hash;
};

// Records that a block begins at the next line, number `count`.
void LineBlocks::beginBlock() {
  if (blocks() == kMostBlocks) {
    // Merge pairs of blocks.
    auto halve = [](std::vector<uint64_t> &places) {
      for (size_t i = 0; i < kMostBlocks / 2; ++i)
        places[i] = places[2 * i];
      places.resize(kMostBlocks / 2);
    };
    for (Side &side : sides)
      halve(side.starts);
    halve(firstLines);
    perBlock *= 2;
  }
  firstLines.push_back(count);
}

Result<LineBlocks> LineBlocks::open(const std::vector<std::filesystem::path> &files, const std::filesystem::path &spool,
                                    BlockBegin begin) {
  Span span("count and hash text");
  LineBlocks result;
  result.perBlock = kSmallestBlock;
  result.sides.resize(files.size());
  std::vector<Scan> scans;
  for (size_t i = 0; i < files.size(); ++i) {
    result.sides[i].path = files[i];
    HEDDLE_CHECK(scans.emplace_back(result.sides[i], spool).open());
  }
  for (bool blankBefore = false;;) {
    size_t have = 0;
    for (Scan &scan : scans) {
      have += scan.next();
      HEDDLE_CHECK(scan.status());
    }
    if (have != 0 && have != scans.size()) {
      uint64_t lines[2] = {scans[0].countRest(), scans[1].countRest()};
      for (Scan &scan : scans)
        HEDDLE_CHECK(scan.status());
      return unequalLines(files[0], lines[0], files[1], lines[1]);
    }
    if (have == 0)
      break;
    bool blank = scans[0].lineIsBlank();
    bool mayBegin = begin == BlockBegin::AnyLine || (blankBefore && !blank);
    if (result.firstLines.empty() || (mayBegin && result.count - result.firstLines.back() >= result.perBlock)) {
      result.beginBlock();
      for (Scan &scan : scans)
        scan.beginBlock();
    }
    blankBefore = blank;
    ++result.count;
  }
  ContentHash hash;
  for (Scan &scan : scans) {
    HEDDLE_CHECK(scan.finish());
    hash.add(scan.hexadecimal());
  }
  result.hash = hash.hexadecimal();
  return result;
}

std::vector<std::filesystem::path> LineBlocks::files() const {
  std::vector<std::filesystem::path> paths;
  for (const Side &side : sides)
    paths.push_back(side.isCopy ? std::filesystem::path(str("/proc/self/fd/", side.file.get())) : side.path);
  return paths;
}

Result<std::vector<std::string>> LineBlocks::readSide(const Side &side, size_t block) const {
  uint64_t begin = side.starts[block], end = block + 1 < blocks() ? side.starts[block + 1] : side.end;
  std::string bytes(end - begin, '\0');
  for (size_t done = 0; done < bytes.size();) {
    ssize_t got = ::pread(side.file.get(), bytes.data() + done, bytes.size() - done, off_t(begin + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ioError("reading", side.path);
    if (got == 0)
      break;
    done += size_t(got);
  }
  std::vector<std::string> lines;
  for (size_t at = 0; at < bytes.size();) {
    size_t feed = std::min(bytes.find('\n', at), bytes.size());
    lines.emplace_back(plainLine(std::string_view(bytes).substr(at, feed - at), block == 0 && lines.empty()));
    at = feed + 1;
  }
  if (lines.size() != linesOf(block))
    return makeError(ErrorKind::Io, "'", side.path.string(), "' has changed while it was used: lines from ",
                     firstLineOf(block), " on have moved. Begin again, and leave the file as it is.");
  return lines;
}

Result<ParallelText> LineBlocks::read(size_t block) const {
  ParallelText text{.folder = source().parent_path()};
  HEDDLE_ASSIGN(text.source, readSide(sides[0], block));
  HEDDLE_ASSIGN(text.target, readSide(sides[1], block));
  return text;
}

Result<ParallelText> LineBlocks::readAll() const {
  ParallelText all{.folder = source().parent_path()};
  for (size_t block = 0; block < blocks(); ++block) {
    HEDDLE_ASSIGN(ParallelText text, read(block));
    std::ranges::move(text.source, std::back_inserter(all.source));
    std::ranges::move(text.target, std::back_inserter(all.target));
  }
  return all;
}

std::string LineBlocks::placeOf(size_t block, size_t line) const {
  return str("'", source().string(), "' line ", firstLineOf(block) + line);
}

} // namespace heddle
