#include "tools/heddle-inspect/Disassembly.h"

#include "runtime/hal/cpu/Image.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace heddle {
namespace {

// Returns what a command prints, or an empty string if it fails.
std::string outputOf(const std::string &command) {
  FILE *pipe = popen(command.c_str(), "r"); // NOLINT(bugprone-command-processor): has no text from outside
  if (!pipe)
    return "";
  std::string output;
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, count);
  return pclose(pipe) == 0 ? output : "";
}

} // namespace

Result<std::string> disassemble(std::string_view target, std::span<const uint32_t> code) {
  hal::cpu::ImageHeader header;
  if (std::string problem = hal::cpu::checkImage(code, header); !problem.empty())
    return makeError(ErrorKind::Malformed, "the kernel ", problem, ".");
  std::unique_ptr<FILE, int (*)(FILE *)> image(std::tmpfile(), &std::fclose); // has no name; the child inherits it
  const uint32_t *begin = code.data() + hal::cpu::ImageHeader::kWords;
  if (!image || std::fwrite(begin, 1, header.bytes, image.get()) != header.bytes || std::fflush(image.get()) != 0)
    return makeError(ErrorKind::Io, "cannot write a temporary file: ", std::strerror(errno), ".");
  std::string_view machine = target == "cpu:aarch64" ? "aarch64" : "i386:x86-64";
  std::string text = outputOf(str("objdump -D -w --no-show-raw-insn -b binary -m ", machine, " /proc/self/fd/",
                                  fileno(image.get()), " 2>/dev/null"));
  size_t heading = text.find(">:\n");
  if (heading == std::string::npos)
    return makeError(ErrorKind::NotFound, "cannot disassemble code for ", target, ": there is no objdump that knows ",
                     machine, ". Install GNU binutils (Debian: binutils, or binutils-multiarch for the code of ",
                     "another architecture than this machine's); -o writes the image as it is.");
  return text.substr(heading + 3);
}

} // namespace heddle
