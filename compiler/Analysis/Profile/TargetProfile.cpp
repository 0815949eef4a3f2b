#include "compiler/Analysis/Profile/TargetProfile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::heddle;

static SmallVector<const TargetProfile *> &profiles() {
  static SmallVector<const TargetProfile *> all;
  return all;
}

void heddle::addTargetProfile(const TargetProfile &profile) {
  if (llvm::any_of(profiles(), [&](const TargetProfile *other) { return other->name == profile.name; }))
    llvm::reportFatalUsageError("there are two targets '" + Twine(profile.name) + "'");
  profiles().push_back(&profile);
}

ArrayRef<const TargetProfile *> heddle::getTargetProfiles() { return profiles(); }

const TargetProfile *heddle::lookupTargetProfile(StringRef name, std::string &message) {
  const TargetProfile *nearest = nullptr;
  unsigned distance = ~0u;
  for (const TargetProfile *profile : profiles()) {
    if (profile->name == name)
      return profile;
    // Among equals, a name that only goes on is meant: sm_90a with sm_90, and not sm_80.
    unsigned edits = name.edit_distance(profile->name);
    if (edits < distance || (edits == distance && profile->name.starts_with(name)))
      nearest = profile, distance = edits;
  }
  std::string known = llvm::join(llvm::map_range(profiles(), [](auto *profile) { return profile->name; }), ", ");
  if (distance <= 3)
    message = ("there is no target '" + name + "'; did you mean '" + nearest->name + "'?").str();
  else
    message = ("there is no target '" + name + "'; this build has " + known).str();
  return nullptr;
}

LogicalResult heddle::resolveTarget(const TargetProfile *&profile, StringRef target) {
  std::string message;
  if (profile || (profile = lookupTargetProfile(target, message)))
    return success();
  llvm::errs() << message << "\n";
  return failure();
}
