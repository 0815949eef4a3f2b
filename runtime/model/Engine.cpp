#include "runtime/model/Engine.h"

#include "runtime/artifact/Artifact.h"

namespace heddle {

uint64_t SessionEngine::artifactSeal() const { return session->artifact().module().seal(); }

} // namespace heddle
