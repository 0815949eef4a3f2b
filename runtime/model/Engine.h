// The interface to a compiled model that training and inference use. SessionEngine runs a session on a device; tests
// have their own implementations.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/session/Session.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

class Engine {
public:
  virtual ~Engine() = default;

  virtual std::string_view description() const = 0; // JSON
  virtual uint64_t artifactSeal() const = 0;        // a hash of the compiled model
  virtual bool hasEntry(std::string_view entry) const = 0;
  // The entry's inputs and outputs; null if there is no such entry.
  virtual const EntryInfo *findEntry(std::string_view) const { return nullptr; }
  virtual Status prepare(std::span<const std::string_view> entries, const KernelProgress &progress) = 0;

  // Starts an entry; output() waits for it.
  virtual Status run(std::string_view entry, std::span<const Input> inputs) = 0;
  virtual Result<HostTensor> output(std::string_view name) = 0;
  // The values after all runs so far. Reading a value waits for it; later runs do not change it.
  virtual Result<PendingTensor> outputLater(std::string_view name) = 0;
  virtual Result<PendingTensor> variableLater(std::string_view name) = 0;

  // The variables that live between calls.
  virtual std::span<const VariableInfo> variables() const = 0;
  // The name of the variable with this role that has no owner.
  virtual std::string variableOf(VariableRole role) const { return variableName(role); }

  // See Session::copyCacheRows.
  virtual Status copyCacheRows(int64_t rows, int64_t from, int64_t to, int64_t count) = 0;

  virtual Status init(uint64_t seed) = 0;
  virtual Result<HostTensor> readVariable(std::string_view name) = 0;
  virtual Status writeVariable(std::string_view name, const TensorView &value) = 0;
  virtual Status save(const std::filesystem::path &path, const VariableKinds &kinds) = 0;
  // Called on the other ranks while one rank saves.
  virtual Status takePartInSave(const VariableKinds &) { return Success(); }
  virtual Status load(const std::filesystem::path &path, const VariableKinds &kinds) = 0;
};

class SessionEngine final : public Engine {
public:
  explicit SessionEngine(std::shared_ptr<Session> session) : session(std::move(session)) {}

  Session &onDevice() { return *session; }
  // Called before each run, as a sign of life.
  std::function<void()> beforeRun;
  // If set, runs an entry instead of Session::run(), to time its launches.
  std::function<Status(Session &, std::string_view entry, std::span<const Input>)> runEntry;

  std::string_view description() const override { return session->description(); }
  uint64_t artifactSeal() const override;
  bool hasEntry(std::string_view entry) const override { return session->findEntry(entry) != nullptr; }
  const EntryInfo *findEntry(std::string_view entry) const override { return session->findEntry(entry); }
  Status prepare(std::span<const std::string_view> entries, const KernelProgress &progress) override {
    return session->prepare(entries, progress);
  }
  Status run(std::string_view entry, std::span<const Input> inputs) override {
    if (beforeRun)
      beforeRun();
    return runEntry ? runEntry(*session, entry, inputs) : session->run(entry, inputs);
  }
  Result<HostTensor> output(std::string_view name) override { return session->output(name); }
  Result<PendingTensor> outputLater(std::string_view name) override { return session->outputLater(name); }
  Result<PendingTensor> variableLater(std::string_view name) override { return session->variableLater(name); }
  std::span<const VariableInfo> variables() const override { return session->variables(); }
  std::string variableOf(VariableRole role) const override {
    const VariableInfo *found = session->findVariable(role);
    return found ? found->name : variableName(role);
  }
  Status copyCacheRows(int64_t rows, int64_t from, int64_t to, int64_t count) override {
    return session->copyCacheRows(rows, from, to, count);
  }
  Status init(uint64_t seed) override { return session->init(seed); }
  Result<HostTensor> readVariable(std::string_view name) override { return session->readVariable(name); }
  Status writeVariable(std::string_view name, const TensorView &value) override {
    return session->writeVariable(name, value);
  }
  Status save(const std::filesystem::path &path, const VariableKinds &kinds) override {
    return session->save(path, kinds);
  }
  Status takePartInSave(const VariableKinds &kinds) override { return session->takePartInSave(kinds); }
  Status load(const std::filesystem::path &path, const VariableKinds &kinds) override {
    return session->load(path, kinds);
  }

private:
  std::shared_ptr<Session> session;
};

} // namespace heddle
