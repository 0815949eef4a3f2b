// Numbers the places in a model that ops come from (compiler/Analysis/Locations), for use in a page.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"

#include <nlohmann/json.hpp>

namespace mlir::heddle {

class PlaceTable {
public:
  /// Returns the number of the place, or -1 if nothing is known of it.
  int64_t add(Location place);

  /// Returns, for each place, its description, its lines (file number and line), and its parts of the model:
  /// ["encoder.0: matmul (a.weft:3:1)", [[0, 3]], ["encoder.0"]].
  nlohmann::ordered_json toJson() const;
  /// Returns the files with their texts, or null for files that cannot be read: [["a.weft", "task ..."]]. A module may
  /// name any file. Only files of the model's folder are read, because the page is made to be passed on.
  nlohmann::ordered_json filesToJson(StringRef model) const;

private:
  struct Place {
    std::string text;
    std::vector<std::string> parts;
    std::vector<std::pair<size_t, unsigned>> lines; // file number and line
  };
  std::vector<Place> places;
  DenseMap<Location, int64_t> numbers;
  llvm::MapVector<StringAttr, size_t> files;
};

} // namespace mlir::heddle
