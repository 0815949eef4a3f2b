// heddle-inspect: shows the contents of an artifact. Needs no device.
#include "tools/cli/CommandLine.h"
#include "tools/cli/SameFile.h"
#include "tools/heddle-inspect/Pipelines.h"
#include "tools/heddle-inspect/Show.h"

#include <cstdio>
#include <iostream>

namespace heddle {
namespace {

int fail(const std::string &message) {
  std::cerr << "heddle-inspect: " << message << "\n";
  return cli::kWorkFailed;
}

int run(int argc, char **argv) {
  CLI::App app("Shows the contents of a Heddle artifact: targets, entries, variables, kernels.", "heddle-inspect");
  std::string path, kernel, target, output, folder;
  bool json = false;
  app.add_option("ARTIFACT", path, "The compiled model, a .heddle file")->required();
  CLI::Option *jsonFlag = app.add_flag("--json", json, "Print JSON");
  CLI::Option *kernelOption =
      app.add_option(
             "--kernel", kernel,
             "Show this kernel: its launches and their bindings, and its PTX, or the assembly of a processor's\n"
             "machine code as objdump prints it")
          ->excludes(jsonFlag);
  CLI::Option *targetOption = app.add_option("--target", target,
                                             "The target whose kernel or kernels are meant (default: the first target "
                                             "that has the kernel), or whose pipelines");
  CLI::Option *outputOption =
      app.add_option("-o,--output", output,
                     "Write the kernel's code (SPIR-V, PTX or machine code) to this file; - is standard output")
          ->needs(kernelOption);
  CLI::Option *folderOption =
      app.add_option("--kernels", folder,
                     "Write the code of every kernel of the target into this folder: KERNEL.ptx or KERNEL.spirv")
          ->excludes(jsonFlag)
          ->excludes(kernelOption);
  PipelineOptions pipelines;
  bool compile = false;
  CLI::Option *pipelinesFlag =
      app.add_flag(
             "--pipelines", compile,
             "Compile the Vulkan kernels (or the one of --kernel) on a device, and print what its driver says of\n"
             "the code. Mesa's driver for AMD compiles for GPUs that are not there:\n"
             "RADV_FORCE_FAMILY=GFX1100 VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/radeon_icd.x86_64.json")
          ->excludes(outputOption)
          ->excludes(folderOption);
  app.add_option("--device", pipelines.device, "Where to compile: vulkan, or vulkan:1 as `heddle-run devices` says")
      ->needs(pipelinesFlag)
      ->capture_default_str();
  app.add_option("--without", pipelines.without, "Leave out kernels with this in their name; may be repeated")
      ->allow_extra_args(false)
      ->needs(pipelinesFlag);
  if (std::optional<int> code = cli::parseCommandLine(app, argc, argv))
    return *code;
  if ((kernelOption->count() && kernel.empty()) || (outputOption->count() && output.empty()) ||
      (folderOption->count() && folder.empty())) {
    fail(str(folderOption->count() ? "--kernels names no folder"
             : kernel.empty()      ? "--kernel names no kernel"
                                   : "-o names no file",
             ". `heddle-inspect --help` lists the flags."));
    return cli::kWrongCommandLine;
  }

  Result<std::shared_ptr<const Artifact>> artifact = Artifact::load(path);
  if (!artifact)
    return fail(artifact.message());
  Status status = cli::checkOutput("-o", output, {path});
  if (status && targetOption->count())
    status = checkTarget(**artifact, target);
  if (!status)
    return fail(status.message());
  if (targetOption->count() && !compile && kernel.empty() && folder.empty()) {
    fail("--target needs --kernel, --kernels or --pipelines; without them all targets are shown.");
    return cli::kWrongCommandLine;
  }
  if (compile) {
    pipelines.kernel = kernel;
    pipelines.target = target;
    pipelines.json = json;
    status = printPipelines(**artifact, pipelines);
  } else if (!folder.empty())
    status = writeKernels(**artifact, target, folder);
  else if (!output.empty())
    status = writeKernel(**artifact, kernel, target, output);
  else if (!kernel.empty())
    status = printKernel(**artifact, kernel, target);
  else if (json)
    std::puts(toJson(**artifact).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    printText(**artifact);
  if (!status)
    return fail(status.message());
  return cli::finishOutput(app.get_name(), 0);
}

} // namespace
} // namespace heddle

int main(int argc, char **argv) {
  heddle::cli::beginProgram();
  return heddle::run(argc, argv);
}
