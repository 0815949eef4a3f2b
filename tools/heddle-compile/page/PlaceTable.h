// The places in a model that ops come from (compiler/Locations), as a page knows them: by number.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PLACETABLE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PLACETABLE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"

#include <nlohmann/json.hpp>

namespace mlir::heddle {

class PlaceTable {
public:
  /// The number of the place; -1 where nothing is known.
  int64_t add(Location place);

  /// For each place its description, the lines that it is of, and the parts of the model:
  /// ["encoder.0: matmul (a.weft:3:1)", [[0, 3]], ["encoder.0"]]. Files are numbered.
  nlohmann::ordered_json toJson() const;
  /// The files with their texts, null where those cannot be had: [["a.weft", "task ..."]]. A module may name any file;
  /// those of the model's folder alone are read, as the page is made to be handed on.
  nlohmann::ordered_json filesToJson(StringRef model) const;

private:
  struct Place {
    std::string text;
    std::vector<std::string> parts;
    std::vector<std::pair<size_t, unsigned>> lines; // of files
  };
  std::vector<Place> places;
  DenseMap<Location, int64_t> numbers;
  llvm::MapVector<StringAttr, size_t> files;
};

} // namespace mlir::heddle

#endif
