// The smallest useful program with Heddle: opens a compiled model, loads or initializes its weights, calls an entry
// with zeros for every input, and prints the outputs.
//
//   heddle-example-call model.heddle ENTRY [checkpoint.safetensors]
//
// Use it as a template: everything that a program needs is in runtime/session/Session.h. Every failure is a returned
// value with a message that says what to do.
#include "runtime/session/Session.h"

#include <algorithm>
#include <iostream>

namespace {

// Zeros for an input, with an extent of 1 for every varying size: one token, one sequence.
heddle::Result<heddle::HostTensor> zeros(const heddle::PortInfo &port) {
  heddle::Shape shape;
  for (const heddle::DimInfo &dim : port.dims)
    shape.push_back(dim.size.empty() ? dim.extent : 1);
  HEDDLE_ASSIGN(heddle::HostTensor tensor, heddle::HostTensor::uninitialized(port.type, std::move(shape)));
  std::ranges::fill(tensor.bytes(), std::byte(0));
  return tensor;
}

heddle::Status callEntry(const char *artifact, const char *entry, const char *checkpoint) {
  HEDDLE_ASSIGN(std::unique_ptr<heddle::Session> session, heddle::Session::open(artifact));
  std::cout << "running " << session->target() << " on " << session->device().name << " (" << session->device().id
            << ")\n";

  // Prepared before the weights are loaded, so that a model too large for the device is found at once.
  HEDDLE_CHECK(session->prepare({entry}));
  if (checkpoint)
    HEDDLE_CHECK(session->load(checkpoint, heddle::kWeightsOnly));
  else if (session->findEntry("init"))
    HEDDLE_CHECK(session->init(/*seed=*/1));

  std::vector<heddle::HostTensor> tensors;
  for (const heddle::PortInfo &port : session->findEntry(entry)->inputs) {
    HEDDLE_ASSIGN(heddle::HostTensor tensor, zeros(port));
    tensors.push_back(std::move(tensor));
  }
  std::vector<heddle::Input> inputs;
  for (size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({session->findEntry(entry)->inputs[i].name, tensors[i]});

  HEDDLE_ASSIGN(heddle::Outputs outputs, session->call(entry, inputs));
  for (const auto &[name, tensor] : outputs) {
    std::cout << name << " " << heddle::describe(tensor.type(), tensor.shape()) << ":";
    for (size_t i = 0; i < std::min<size_t>(8, tensor.bytes().size() / heddle::kElementBytes); ++i)
      if (tensor.type() == heddle::ElementType::F32)
        std::cout << " " << tensor.values<float>()[i];
      else
        std::cout << " " << tensor.values<int32_t>()[i];
    std::cout << "\n";
  }
  std::cout << "device memory: " << heddle::describeBytes(session->memory().total()) << "\n";
  return heddle::Success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: heddle-example-call MODEL.heddle ENTRY [CHECKPOINT.safetensors]\n";
    return 2;
  }
  heddle::Status status = callEntry(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  if (!status) {
    std::cerr << "heddle-example-call: " << status.message() << "\n";
    return 1;
  }
  return heddle::validationMessageCount() ? 1 : 0;
}
