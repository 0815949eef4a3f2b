// An artifact: Artifact::fromBytes. Everything that it accepts can be traversed.
#include "runtime/artifact/Artifact.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  Result<std::shared_ptr<const Artifact>> artifact = Artifact::fromBytes({bytes.begin(), bytes.end()}, "fuzz");
  if (!artifact) {
    require(!artifact.message().empty(), "an error has a message");
    return;
  }
  size_t sum = (*artifact)->description().size();
  for (const schema::Variable *variable : *(*artifact)->module().variables())
    sum += view(variable->name()).size() + maximumShape((*artifact)->module(), *variable->type()).size();
  for (const schema::Target *target : *(*artifact)->module().targets())
    for (uint32_t kernel = 0; kernel < target->kernels()->size(); ++kernel)
      sum += (*artifact)->code(*target, kernel).words.size();
  require(sum < (size_t(1) << 40), "an artifact has fewer bytes than are counted");
}

} // namespace heddle::fuzz
