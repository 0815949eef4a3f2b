// Prints and writes the kernels of an artifact.
#include "runtime/core/File.h"
#include "runtime/core/Log.h"
#include "tools/heddle-inspect/ArtifactText.h"
#include "tools/heddle-inspect/Disassembly.h"
#include "tools/heddle-inspect/Show.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace heddle {

// All targets if no name is given.
static std::vector<const schema::Target *> targetsNamed(const Artifact &artifact, const std::string &name) {
  std::vector<const schema::Target *> targets;
  for (const schema::Target *target : *artifact.module().targets())
    if (name.empty() || view(target->name()) == name)
      targets.push_back(target);
  return targets;
}

Status writeKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName,
                   const std::string &path) {
  for (const schema::Target *target : targetsNamed(artifact, targetName)) {
    for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
      if (view(target->kernels()->Get(i)->name()) != kernelName)
        continue;
      std::string_view code = codeOf(artifact, *target, i);
      if (path != "-")
        return writeFile(path, code);
      bool done = std::fwrite(code.data(), 1, code.size(), stdout) == code.size() && std::fflush(stdout) == 0;
      if (!done)
        return makeError(ErrorKind::Io, "cannot write to standard output.");
      return Success();
    }
  }
  return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no kernel '", kernelName, "'",
                   targetName.empty() ? "" : " for target '" + targetName + "'",
                   ". Without --kernel all kernels are listed.");
}

Status writeKernels(const Artifact &artifact, const std::string &targetName, const std::string &folder) {
  for (const schema::Target *target : targetsNamed(artifact, targetName)) {
    std::string ending = ".";
    for (char c : formatOf(*target).name)
      if (std::isalnum(static_cast<unsigned char>(c)))
        ending += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      return makeError(ErrorKind::Io, "cannot make the folder '", folder, "': ", error.message(), ".");
    for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
      std::string_view name = view(target->kernels()->Get(i)->name());
      if (name.find('/') != std::string_view::npos) // only in an artifact made by hand
        return makeError(ErrorKind::InvalidArgument, "kernel ", i, " of '", artifact.origin(),
                         "' has a '/' in its name, and no file can be called so.");
      HEDDLE_CHECK(writeFile(str(folder, "/", name, ending), codeOf(artifact, *target, i)));
    }
    return Success();
  }
  return Success(); // unreachable: checkTarget has found the target
}

static void printLaunches(const schema::Module &module, const schema::Target &target, flatbuffers::uoffset_t kernel) {
  for (const schema::Entry *entry : entriesOf(module, target))
    for (flatbuffers::uoffset_t l = 0; l < entry->launches()->size(); ++l) {
      const schema::Launch &launch = *entry->launches()->Get(l);
      if (launch.kernel() != kernel)
        continue;
      std::printf("  %s, launch %u: grid", entry->name()->c_str(), l);
      for (const schema::Grid *grid : *launch.grid())
        if (grid->size() < 0)
          std::printf(" %u", grid->repeat());
        else
          std::printf(" ceil(%s/%u)*%u", module.sizes()->Get(grid->size())->name()->c_str(), grid->tile(),
                      grid->repeat());
      std::printf("%s\n", launch.barrier() ? ", after a barrier" : "");
      if (launch.location())
        std::printf("    computes %s\n", launch.location()->c_str());
      if (const schema::Cost *cost = costOf(module, launch))
        std::printf("    FLOPs %s\n    of them the model's %s\n    bytes %s\n",
                    formulaText(module, cost->flops()).c_str(), formulaText(module, cost->model_flops()).c_str(),
                    formulaText(module, cost->bytes()).c_str());
      for (const schema::Binding *binding : *launch.bindings()) {
        if (binding->space() == schema::Space::Size)
          std::printf("    size %s\n", module.sizes()->Get(binding->index())->name()->c_str());
        else
          std::printf(
              "    %s + %llu, %llu bytes\n",
              binding->space() == schema::Space::Arena ? "arena"
                                                       : module.variables()->Get(binding->index())->name()->c_str(),
              static_cast<unsigned long long>(binding->offset()), static_cast<unsigned long long>(binding->bytes()));
      }
    }
}

// Returns a kernel's code as text. If it cannot be shown, returns an empty string and, if a program is missing for it,
// logs a warning.
static std::string assemblyOf(const Artifact &artifact, const schema::Target &target, uint32_t kernel) {
  if (formatOf(target).isText)
    return std::string(codeOf(artifact, target, kernel));
  if (formatOf(target).backend != "cpu")
    return "";
  Result<std::string> assembly = disassemble(view(target.name()), artifact.code(target, kernel).words);
  if (!assembly)
    log(LogLevel::Warning, assembly.message());
  return assembly ? *assembly : "";
}

Status printKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName) {
  const schema::Module &module = artifact.module();
  bool found = false, sharedPlanPrinted = false;
  for (const schema::Target *target : targetsNamed(artifact, targetName)) {
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      if (view(kernel.name()) != kernelName)
        continue;
      found = true;
      std::printf("%s of %s: %u lanes, %s\n", kernel.name()->c_str(), target->name()->c_str(), kernel.lanes(),
                  codeText(artifact, *target, i).c_str());
      if (target->entries() || !std::exchange(sharedPlanPrinted, true))
        printLaunches(module, *target, i);
      std::string assembly = assemblyOf(artifact, *target, i);
      std::fwrite(assembly.data(), 1, assembly.size(), stdout);
    }
  }
  if (!found)
    return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no kernel '", kernelName,
                     "'. Without --kernel all kernels are listed.");
  return Success();
}

Status checkTarget(const Artifact &artifact, const std::string &targetName) {
  std::string names;
  for (const schema::Target *target : *artifact.module().targets()) {
    if (view(target->name()) == targetName)
      return Success();
    names += str(names.empty() ? "" : ", ", view(target->name()));
  }
  return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no target '", targetName, "'; it has ", names,
                   ".");
}

} // namespace heddle
