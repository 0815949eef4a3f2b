// Writes the test artifact and the tensors of heddle_run_call_test.sh into the current folder.
#include "runtime/core/Npy.h"
#include "test/runtime/ArtifactBuilder.h"

#include <fstream>
#include <iostream>

using namespace heddle;

int main() {
  std::vector<std::byte> artifact = test::buildAdder();
  std::ofstream("adder.heddle", std::ios::binary)
      .write(reinterpret_cast<const char *>(artifact.data()), std::streamsize(artifact.size()));
  std::vector<float> full(1000, 1.5f);
  const std::pair<const char *, HostTensor> tensors[] = {
      {"a.npy", HostTensor::vector<float>({1, 2, 3, 4})},
      {"b.npy", HostTensor::vector<float>({10, 20, 30, 40})},
      {"expected.npy", HostTensor::vector<float>({11, 22, 33, 44})},
      {"full.npy", HostTensor::vector(full)},
      {"index.npy", HostTensor::vector<int32_t>({1, 2, 3})},
      {"lengths.npy", HostTensor::vector<int32_t>({2, 1})},
  };
  for (const auto &[name, tensor] : tensors)
    if (Status status = writeNpy(name, tensor); !status.ok()) {
      std::cerr << status.message() << "\n";
      return 1;
    }
  return 0;
}
