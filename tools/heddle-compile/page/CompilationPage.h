// The page of `heddle-compile --report=FILE.html`: what each phase made of a model. It is for readers who ask why
// something was not fused, write a pass, or need less memory. Its style and scripts are the files beside this one.
#pragma once

#include "tools/heddle-compile/Remarks.h"
#include "tools/heddle-compile/page/PhaseTexts.h"

namespace mlir::heddle {

struct CompiledModel;

/// Returns the whole page as HTML.
std::string writeCompilationPage(const CommandLine &line, CompiledModel &compiled, PhaseTexts &phases,
                                 ArrayRef<PassRemark> remarks);

} // namespace mlir::heddle
