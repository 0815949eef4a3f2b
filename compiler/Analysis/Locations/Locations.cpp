#include "compiler/Analysis/Locations/Locations.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::heddle;

/// Marks the location of a kernel. It holds one NameLoc for each op: the op's name and its location.
static constexpr StringLiteral kKernel = "kernel";

Location mlir::heddle::renameLocation(Location place, StringRef prefix, StringRef alone) {
  MLIRContext *context = place.getContext();
  if (auto fused = dyn_cast<FusedLoc>(place)) {
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(renameLocation(part, prefix, alone));
    return FusedLoc::get(parts, fused.getMetadata(), context);
  }
  auto named = dyn_cast<NameLoc>(place);
  if (!named)
    return NameLoc::get(StringAttr::get(context, alone), place);
  if (named.getName().getValue().starts_with(prefix))
    return place;
  return NameLoc::get(StringAttr::get(context, prefix + named.getName().getValue()), named.getChildLoc());
}

Location mlir::heddle::locationOfKernel(ArrayRef<Operation *> ops) {
  MLIRContext *context = ops.front()->getContext();
  SmallVector<Location> parts;
  for (Operation *op : ops)
    parts.push_back(NameLoc::get(StringAttr::get(context, op->getName().stripDialect()), op->getLoc()));
  return FusedLoc::get(parts, StringAttr::get(context, kKernel), context); // merges equal ops of the same location
}

namespace {

/// The names in a location, and where it points: lines of files, or settings such as "--set d_ff=12".
struct Words {
  llvm::SetVector<StringRef> names;
  SmallVector<std::string> where;

  void read(Location place) {
    if (auto fused = dyn_cast<FusedLoc>(place)) {
      for (Location part : fused.getLocations())
        read(part);
    } else if (auto named = dyn_cast<NameLoc>(place)) {
      names.insert(named.getName());
      readBelow(named.getChildLoc());
    } else {
      readBelow(place);
    }
  }

  /// Reads the location inside a name. Nested names are skipped, except the last one if no line follows it.
  void readBelow(Location place) {
    if (auto line = dyn_cast<FileLineColLoc>(place))
      point((line.getFilename().getValue() + ":" + Twine(line.getLine()) + ":" + Twine(line.getColumn())).str());
    else if (auto named = dyn_cast<NameLoc>(place))
      isa<UnknownLoc>(named.getChildLoc()) ? point(named.getName().str()) : readBelow(named.getChildLoc());
  }

  void point(std::string text) {
    if (!llvm::is_contained(where, text))
      where.push_back(std::move(text));
  }

  std::string write(ArrayRef<StringRef> ops) const {
    std::string text = llvm::join(names, " + ");
    if (!ops.empty())
      text += (text.empty() ? "" : ": ") + llvm::join(ops, ", ");
    if (where.empty())
      return text;
    return text.empty() ? llvm::join(where, ", ") : text + " (" + llvm::join(where, ", ") + ")";
  }
};

} // namespace

/// Returns `place` if it is the location of a kernel, and null otherwise.
static FusedLoc asKernel(Location place) {
  auto kernel = dyn_cast<FusedLoc>(place);
  return kernel && kernel.getMetadata() == StringAttr::get(place.getContext(), kKernel) ? kernel : FusedLoc();
}

SmallVector<StringRef> mlir::heddle::getPartsOfPlace(Location place) {
  Words words;
  if (FusedLoc kernel = asKernel(place))
    for (Location op : kernel.getLocations())
      words.read(cast<NameLoc>(op).getChildLoc());
  else
    words.read(place);
  return llvm::to_vector(words.names);
}

std::string mlir::heddle::describeLocation(Location place) {
  FusedLoc kernel = asKernel(place);
  if (!kernel) {
    Words words;
    words.read(place);
    return words.write({});
  }
  SmallVector<std::pair<Location, SmallVector<StringRef>>> groups; // adjacent ops with the same location
  for (Location part : kernel.getLocations()) {
    auto op = cast<NameLoc>(part);
    if (groups.empty() || groups.back().first != op.getChildLoc())
      groups.push_back({op.getChildLoc(), {}});
    groups.back().second.push_back(op.getName());
  }
  std::string text;
  for (auto &[at, ops] : groups) {
    Words words;
    words.read(at);
    text += (text.empty() ? "" : "; ") + words.write(ops);
  }
  return text;
}
