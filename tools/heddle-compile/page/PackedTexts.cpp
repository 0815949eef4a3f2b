#include "tools/heddle-compile/page/PackedTexts.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/ErrorHandling.h"

#include <zlib.h>

using namespace mlir;
using namespace mlir::heddle;

std::string mlir::heddle::packText(StringRef text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  int result = compress2(reinterpret_cast<Bytef *>(packed.data()), &size, reinterpret_cast<const Bytef *>(text.data()),
                         text.size(), Z_DEFAULT_COMPRESSION);
  if (result != Z_OK) // the buffer is large enough, so only memory can be missing
    llvm::report_bad_alloc_error("zlib has no memory");
  packed.resize(size);
  return llvm::encodeBase64(packed);
}

size_t PackedTexts::add(StringRef text) {
  std::string packed = packText(text);
  auto [place, isNew] = numbers.try_emplace(packed, texts.size());
  if (isNew)
    texts.push_back(std::move(packed));
  return place->second;
}
