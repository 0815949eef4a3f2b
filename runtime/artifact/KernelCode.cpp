#include "runtime/artifact/KernelCode.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Verify.h"
#include "runtime/schema/Constants.h"

#include <zstd.h>

namespace heddle {
namespace {

using verifier::broken;

KernelCode ownCode(const schema::Kernel &kernel) {
  KernelCode code{{kernel.code()->data(), kernel.code()->size()}, {}};
  if (const auto *binary = kernel.binary())
    code.binary = {binary->data(), binary->size()};
  return code;
}

// Iterates over the parts of a target's code.
class Parts {
public:
  Parts(const std::byte *begin, uint64_t bytes) : next(begin), left(bytes) {}

  // Takes the next part. Returns false if fewer than `bytes` bytes are left.
  template <typename Element> bool take(uint64_t bytes, std::span<const Element> &part) {
    uint64_t filled = (bytes + schema::kCodeAlignment - 1) / schema::kCodeAlignment * schema::kCodeAlignment;
    if (bytes > left || filled > left || bytes % sizeof(Element))
      return false;
    part = {reinterpret_cast<const Element *>(next), static_cast<size_t>(bytes / sizeof(Element))};
    next += filled, left -= filled;
    return true;
  }
  bool isEmpty() const { return left == 0; }

private:
  const std::byte *next;
  uint64_t left;
};

Result<std::unique_ptr<std::byte[]>> unpack(const schema::Target &target, uint64_t mostBytes, const std::string &what) {
  std::span<const uint8_t> frame(target.code()->data(), target.code()->size());
  uint64_t bytes = target.code_bytes();
  if (bytes > mostBytes || bytes > frame.size() * schema::kMaxCodeRatio)
    return broken(str(what, " says that its code unpacks from ", frame.size(), " to ", bytes, " bytes; ",
                      std::min<uint64_t>(mostBytes, frame.size() * schema::kMaxCodeRatio), " are the most."));
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != bytes)
    return broken(str(what, " has code that is not packed as ", bytes, " bytes."));
  auto code = std::make_unique_for_overwrite<std::byte[]>(bytes);
  size_t written = ZSTD_decompress(code.get(), bytes, frame.data(), frame.size());
  if (ZSTD_isError(written) || written != bytes)
    return broken(what + " has code that is damaged: it cannot be unpacked.");
  return code;
}

} // namespace

Result<CodeTable> readCode(const schema::Module &module, uint64_t fileBytes) {
  CodeTable table;
  uint64_t ownBytes = 0, unpackedBytes = 0;
  for (const schema::Target *target : *module.targets()) {
    std::string what = str("target '", view(target->name()), "'");
    std::vector<KernelCode> &kernels = table.targets.emplace_back();
    for (const schema::Kernel *kernel : *target->kernels()) {
      kernels.push_back(ownCode(*kernel));
      ownBytes += kernels.back().words.size_bytes() + kernels.back().binary.size();
      if (ownBytes > fileBytes)
        return broken("its kernels share their code.");
    }
    if (!target->code())
      continue;
    HEDDLE_ASSIGN(std::unique_ptr<std::byte[]> code, unpack(*target, schema::kMaxCodeBytes - unpackedBytes, what));
    unpackedBytes += target->code_bytes();
    Parts parts(code.get(), target->code_bytes());
    bool fits = true;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(static_cast<flatbuffers::uoffset_t>(i));
      fits = fits && kernels[i].words.empty() && kernels[i].binary.empty();
      fits = fits && parts.take(kernel.packed_code(), kernels[i].words);
    }
    for (size_t i = 0; fits && i < kernels.size(); ++i)
      fits = parts.take(target->kernels()->Get(static_cast<flatbuffers::uoffset_t>(i))->packed_binary(),
                        kernels[i].binary);
    if (!fits || !parts.isEmpty())
      return broken(what + " has packed code that is not that of its kernels.");
    table.unpacked.push_back(std::move(code));
  }
  return table;
}

} // namespace heddle
