// What heddle-compile says of the artifact that it made.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H

#include "tools/heddle-compile/Compile.h"

namespace mlir::heddle {

/// The artifact, the memory that each target needs, and each entry at the maxima of its sizes.
void printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds);

/// Each entry of each target as JSON: launches, barriers, kernels, FLOPs and bytes of traffic at the maxima of the
/// sizes.
void writeReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled);

} // namespace mlir::heddle

#endif
