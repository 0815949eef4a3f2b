// JSON, and a model description as stored in artifacts.
#include "runtime/core/Json.h"
#include "runtime/artifact/Description.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  if (Result<nlohmann::json> json = parseJson(text(bytes), "fuzz"); json)
    (void)json->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  (void)Description::parse(text(bytes));
}

} // namespace heddle::fuzz
