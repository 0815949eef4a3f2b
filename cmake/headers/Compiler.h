// For the rooms of the compiler: MLIR's headers, and those of Heddle's dialects, which are as large.
#include "cmake/headers/MLIR.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
