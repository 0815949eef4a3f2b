// mlir-opt with Heddle's dialects and passes: runs one pass, or several, on a .mlir file.
#include "compiler/Pipeline/Pipeline.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::heddle::registerAllDialects(registry);
  mlir::heddle::registerAllPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Heddle's pass driver\n", registry));
}
