// The compiler writes descriptions and the runtime reads them: both must know the same keys, types and ranges.
#include "compiler/Model/Import/Description.h"
#include "runtime/artifact/Description.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir::heddle;

namespace {

bool accepts(llvm::StringRef key, const nlohmann::json &value) {
  return ::heddle::Description::parse(nlohmann::json({{key.str(), value}}).dump()).ok();
}

template <typename T> bool holds(const DescriptionKey &key) {
  return std::holds_alternative<T Description::*>(key.member);
}

TEST(DescriptionKeys, TheRuntimeReadsWhatTheCompilerWrites) {
  for (const DescriptionKey &key : getDescriptionKeys()) {
    SCOPED_TRACE(key.name.str());
    EXPECT_FALSE(accepts(key.name, nullptr)) << "the runtime does not know the key";
    EXPECT_EQ(accepts(key.name, "text"), holds<std::string>(key));
    EXPECT_EQ(accepts(key.name, true), holds<bool>(key));
    double low = key.range.low, high = key.range.high;
    if (holds<double>(key)) {
      EXPECT_TRUE(accepts(key.name, low) && accepts(key.name, std::isfinite(high) ? high : 1e30));
    }
    if (holds<int64_t>(key)) {
      EXPECT_TRUE(accepts(key.name, int64_t(low)) && accepts(key.name, int64_t(high)));
      EXPECT_FALSE(accepts(key.name, 1.5));
    }
    if (holds<double>(key) || holds<int64_t>(key)) {
      EXPECT_FALSE(accepts(key.name, -1));
    }
  }
  Description description;
  description.architecture = "transformer";
  description.dModel = description.dFF = description.vocabSize = 8;
  description.heads = description.encoderLayers = description.decoderLayers = 2;
  std::string written = llvm::formatv("{0}", llvm::json::Value(description.toJSON()));
  auto read = ::heddle::Description::parse(written);
  EXPECT_TRUE(read.ok()) << read.message();
}

} // namespace
