#include "tools/heddle-run/call/VariableFile.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Safetensors.h"
#include "tools/heddle-run/model/HuggingFace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

namespace heddle::run {
namespace {

const schema::Target &targetOf(const Session &session) {
  const auto &targets = *session.artifact().module().targets();
  return **std::find_if(targets.begin(), targets.end(),
                        [&](const schema::Target *target) { return view(target->name()) == session.target(); });
}

std::set<uint32_t> usedVariables(const Session &session, std::span<const std::string_view> entries) {
  const schema::Module &module = session.artifact().module();
  std::set<uint32_t> used;
  for (const schema::Entry *entry : entriesOf(module, targetOf(session))) {
    if (std::ranges::find(entries, view(entry->name())) == entries.end())
      continue;
    for (const schema::Launch *launch : *entry->launches())
      for (const schema::Binding *binding : *launch->bindings())
        if (binding->space() == schema::Space::Variable)
          used.insert(binding->index());
  }
  // Of what is stored together a caller knows the views.
  std::set<uint32_t> storages;
  for (flatbuffers::uoffset_t i = 0; i < module.variables()->size(); ++i)
    if (int32_t storage = module.variables()->Get(i)->storage(); storage >= 0 && used.contains(storage)) {
      used.insert(i);
      storages.insert(storage);
    }
  for (uint32_t storage : storages)
    used.erase(storage);
  return used;
}

// Sums of squares.
struct Difference {
  double error = 0, expected = 0;
};

template <typename T> Difference difference(std::span<const T> actual, std::span<const T> expected) {
  Difference sums;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = double(actual[i]) - double(expected[i]);
    sums.error += error * error;
    sums.expected += double(expected[i]) * double(expected[i]);
  }
  return sums;
}

} // namespace

std::vector<std::string> usedWeights(const Session &session, std::string_view entry) {
  std::vector<std::string> names;
  for (uint32_t index : usedVariables(session, {&entry, 1}))
    if (const VariableInfo &variable = session.variables()[index]; variable.isWeight())
      names.push_back(variable.name);
  return names;
}

Status loadVariables(Session &session, const std::filesystem::path &path) {
  if (isPublishedModel(path))
    return loadPublishedWeights(path, session.description(), [&](std::string_view name, const TensorView &value) {
      return session.writeVariable(name, value);
    });
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  for (const SafetensorsEntry &entry : reader.entries()) {
    HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry.name));
    if (Status status = session.writeVariable(entry.name, tensor); !status.ok())
      return std::move(status).error().within(path.string());
  }
  return Success();
}

Status saveVariables(Session &session, std::span<const std::string_view> entries, const std::filesystem::path &path) {
  std::vector<SafetensorsEntry> saved;
  for (uint32_t index : usedVariables(session, entries)) {
    const VariableInfo &variable = session.variables()[index];
    saved.push_back({variable.name, variable.type, variable.shape});
  }
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, saved));
  for (const SafetensorsEntry &entry : saved) {
    HEDDLE_ASSIGN(HostTensor tensor, session.readVariable(entry.name));
    HEDDLE_CHECK(writer.write(tensor.bytes()));
  }
  return writer.commit();
}

Status expectVariables(Session &session, const std::filesystem::path &path, double tolerance) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  struct Compared {
    const VariableInfo *variable;
    Difference difference;
  };
  std::vector<Compared> compared;
  std::map<VariableKind, double> ofKind; // the sum of squares of all that is expected
  for (const SafetensorsEntry &entry : reader.entries()) {
    HEDDLE_ASSIGN(HostTensor expected, reader.read(entry.name));
    HEDDLE_ASSIGN(HostTensor actual, session.readVariable(entry.name));
    const VariableInfo *variable = session.findVariable(entry.name);
    if (actual.type() != expected.type() || !std::ranges::equal(actual.shape(), expected.shape()))
      return makeError(ErrorKind::InvalidArgument, "variable '", entry.name, "' is ",
                       describe(actual.type(), actual.shape()), ", and '", path.string(), "' has ",
                       describe(expected.type(), expected.shape()), ".");
    Difference sums = actual.type() == ElementType::F32
                          ? difference<float>(actual.values<float>(), expected.values<float>())
                          : difference<int32_t>(actual.values<int32_t>(), expected.values<int32_t>());
    compared.push_back({variable, sums});
    ofKind[variable->kind] += sums.expected;
  }
  double worst = 0;
  std::string wrong;
  for (const auto &[variable, sums] : compared) {
    double scale = std::max(std::sqrt(sums.expected), 0.01 * std::sqrt(ofKind[variable->kind]));
    double error = sums.error == 0 ? 0 : std::sqrt(sums.error) / scale;
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    bool right = variable->type == ElementType::F32 ? error <= tolerance : sums.error == 0; // a NaN is wrong
    if (!right)
      wrong += str(wrong.empty() ? "'" : ", '", variable->name, "' (", error, ")");
  }
  std::printf("%zu variables: largest relative error %g\n", compared.size(), worst);
  if (!wrong.empty())
    return makeError(ErrorKind::InvalidArgument, "not as expected within --tolerance ", tolerance, ": variable ", wrong,
                     ".");
  return Success();
}

} // namespace heddle::run
