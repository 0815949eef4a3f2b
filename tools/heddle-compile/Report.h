// What heddle-compile says of the artifact that it made.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_REPORT_H

#include "tools/heddle-compile/Compile.h"

namespace mlir::heddle {

void printReport(raw_ostream &stream, const CommandLine &line, CompiledModel &compiled, double seconds);

} // namespace mlir::heddle

#endif
