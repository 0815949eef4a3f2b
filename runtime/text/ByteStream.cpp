#include "runtime/text/ByteStream.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace heddle {
namespace {

constexpr size_t kPortion = 1 << 17;
constexpr int kPatience = 3000; // milliseconds to wait for a pipe's writer

// The raw file. peek() reads ahead; bytes stay in view() until take() consumes them.
class RawBytes {
public:
  explicit RawBytes(std::filesystem::path path) : path(std::move(path)) {}
  RawBytes(RawBytes &&other) noexcept
      : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)), regular(other.regular),
        buffer(std::move(other.buffer)), held(other.held) {}
  RawBytes &operator=(RawBytes &&) = delete;
  ~RawBytes() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  Status open() {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // opening a pipe without a writer would block
    if (descriptor < 0)
      return makeError(errno == ENOENT ? ErrorKind::NotFound : ErrorKind::Io, "cannot open '", path.string(),
                       "': ", std::strerror(errno), ".");
    struct stat info{};
    if (::fstat(descriptor, &info) == 0) {
      if (S_ISDIR(info.st_mode))
        return makeError(ErrorKind::Io, "'", path.string(),
                         "' is a folder; give a text file with a sentence on each line.");
      regular = S_ISREG(info.st_mode);
    }
    buffer.resize(kPortion);
    if (S_ISFIFO(info.st_mode))
      HEDDLE_CHECK(waitForWriter());
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return peek();
  }

  // Makes sure that view() is not empty unless the file is at its end.
  Status peek() {
    if (!held.empty())
      return Success();
    ssize_t got;
    do
      got = ::read(descriptor, buffer.data(), buffer.size());
    while (got < 0 && errno == EINTR);
    if (got < 0)
      return makeError(ErrorKind::Io, "reading '", path.string(), "' failed: ", std::strerror(errno), ".");
    held = {buffer.data(), size_t(got)};
    return Success();
  }

  std::string_view view() const { return held; }
  void take(size_t bytes) { held.remove_prefix(bytes); }

  Error damaged(std::string_view kind, std::string_view why) const {
    return makeError(ErrorKind::Malformed, "'", path.string(), "' is a damaged ", kind, " file: ", why, ".");
  }

  bool isRegular() const { return regular; }

private:
  // poll() reports data and departed writers, but not that there has never been a writer.
  Status waitForWriter() {
    struct pollfd pipe = {descriptor, POLLIN, 0};
    if (::poll(&pipe, 1, kPatience) != 0)
      return Success();
    ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got == 0)
      return makeError(ErrorKind::Io, "'", path.string(), "' is a pipe that no program has written to for ",
                       kPatience / 1000, " seconds; start the program that writes, or give a file.");
    if (got > 0)
      held = {buffer.data(), size_t(got)};
    return Success(); // wait as long as a slow writer needs
  }

  std::filesystem::path path;
  int descriptor = -1;
  bool regular = false;
  std::vector<char> buffer;
  std::string_view held;
};

class PlainStream final : public ByteStream {
public:
  explicit PlainStream(RawBytes raw) : raw(std::move(raw)) {}

  Result<size_t> read(std::span<char> into) override {
    HEDDLE_CHECK(raw.peek());
    size_t bytes = std::min(into.size(), raw.view().size());
    std::copy_n(raw.view().begin(), bytes, into.begin());
    raw.take(bytes);
    return bytes;
  }

  bool isPlainFile() const override { return raw.isRegular(); }

private:
  RawBytes raw;
};

class GzipStream final : public ByteStream {
public:
  explicit GzipStream(RawBytes raw) : raw(std::move(raw)) { inflateInit2(&state, 15 + 16); }
  ~GzipStream() override { inflateEnd(&state); }

  Result<size_t> read(std::span<char> into) override {
    while (true) {
      HEDDLE_CHECK(raw.peek());
      if (raw.view().empty()) {
        if (inMember)
          return raw.damaged("gzip", "it ends early");
        return size_t(0);
      }
      if (!inMember)
        inflateReset(&state);
      inMember = true;
      state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(raw.view().data()));
      state.avail_in = uInt(raw.view().size());
      state.next_out = reinterpret_cast<Bytef *>(into.data());
      state.avail_out = uInt(std::min<size_t>(into.size(), 1u << 30));
      uInt room = state.avail_out;
      int code = inflate(&state, Z_NO_FLUSH);
      raw.take(raw.view().size() - state.avail_in);
      if (code == Z_STREAM_END)
        inMember = false;
      else if (code != Z_OK && code != Z_BUF_ERROR)
        return raw.damaged("gzip", state.msg ? state.msg : "its data are not valid");
      if (room != state.avail_out)
        return size_t(room - state.avail_out);
    }
  }

private:
  RawBytes raw;
  z_stream state{};
  bool inMember = false;
};

class ZstandardStream final : public ByteStream {
public:
  explicit ZstandardStream(RawBytes raw) : raw(std::move(raw)), state(ZSTD_createDStream()) {}
  ~ZstandardStream() override { ZSTD_freeDStream(state); }

  Result<size_t> read(std::span<char> into) override {
    while (true) {
      HEDDLE_CHECK(raw.peek());
      // If the output was full, the decoder may hold more, which needs no further input.
      if (raw.view().empty() && !pending) {
        if (inFrame)
          return raw.damaged("Zstandard", "it ends early");
        return size_t(0);
      }
      ZSTD_inBuffer in = {raw.view().data(), raw.view().size(), 0};
      ZSTD_outBuffer out = {into.data(), into.size(), 0};
      size_t code = ZSTD_decompressStream(state, &out, &in);
      if (ZSTD_isError(code))
        return raw.damaged("Zstandard", ZSTD_getErrorName(code));
      raw.take(in.pos);
      inFrame = code != 0;
      pending = out.pos == out.size;
      if (out.pos != 0)
        return out.pos;
    }
  }

private:
  RawBytes raw;
  ZSTD_DStream *state;
  bool inFrame = false, pending = false;
};

} // namespace

Result<std::unique_ptr<ByteStream>> ByteStream::open(const std::filesystem::path &path) {
  RawBytes raw(path);
  HEDDLE_CHECK(raw.open());
  // No UTF-8 text begins with either signature.
  if (raw.view().starts_with("\x1f\x8b"))
    return std::unique_ptr<ByteStream>(std::make_unique<GzipStream>(std::move(raw)));
  if (raw.view().starts_with("\x28\xb5\x2f\xfd"))
    return std::unique_ptr<ByteStream>(std::make_unique<ZstandardStream>(std::move(raw)));
  return std::unique_ptr<ByteStream>(std::make_unique<PlainStream>(std::move(raw)));
}

} // namespace heddle
