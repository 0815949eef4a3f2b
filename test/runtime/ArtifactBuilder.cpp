#include "test/runtime/ArtifactBuilder.h"

#include "runtime/core/File.h"
#include "runtime/schema/Constants.h"
#include "runtime/schema/Seal.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <zstd.h>

namespace heddle::test {
namespace {

using namespace schema;

constexpr int32_t sizeN = 0, sizeM = 1, sizeLongest = 2, sizeFew = 3, sizeMany = 4;
constexpr uint32_t weight = 0, total = 1;

class AdderBuilder {
public:
  explicit AdderBuilder(const AdderOptions &options) : options(options) {}

  std::vector<std::byte> build() {
    std::vector sizeList{
        CreateSizeDirect(fb, "n", options.maximum),
        CreateSizeDirect(fb, "m", 16),
        CreateSizeDirect(fb, "longest", options.maximum, "lengths"),
    };
    if (options.few) {
      sizeList.push_back(CreateSizeDirect(fb, "few", options.few, nullptr, false, sizeN, 0, /*within=*/true));
      sizeList.push_back(CreateSizeDirect(fb, "many", options.maximum, nullptr, false, sizeN, options.few, true));
    }
    auto sizes = fb.CreateVector(sizeList);
    int64_t weights = options.weightExtent ? options.weightExtent : options.maximum;
    auto variables = fb.CreateVector(std::vector{
        variable("weight", schema::VariableKind::Weight, schema::ElementType::F32, weights),
        variable("total", schema::VariableKind::OptimizerState, schema::ElementType::F32, options.maximum),
        variable("unused", schema::VariableKind::Cache, schema::ElementType::F32, 7),
        variable("seed", schema::VariableKind::Counter, schema::ElementType::I32, 2),
    });
    auto entries = fb.CreateVector(this->entries());
    std::vector<flatbuffers::Offset<Target>> targets;
    for (const std::string &name : options.targets) {
      bool cuda = name.starts_with("cuda:");
      bool cpu = name.starts_with("cpu:");
      std::vector<uint32_t> code = options.code;
      if (code.empty())
        code = cuda ? testPtx("add") : cpu ? cpuImage(addOnCpu) : testKernel("add");
      uint32_t subgroup = cuda ? kCudaWarp : targets.empty() && !cpu ? options.subgroup : 0;
      uint32_t lanes = cuda ? 2 * kCudaWarp : cpu ? 1 : options.lanes;
      std::vector kernels{CreateKernelDirect(fb, "add", lanes, &code, subgroup)};
      std::vector<flatbuffers::Offset<Entry>> own;
      if (options.ownEntries && !targets.empty())
        own = this->entries();
      targets.push_back(CreateTargetDirect(fb, name.c_str(), &kernels, 4 * slotBytes(), own.empty() ? nullptr : &own));
    }
    auto description = fb.CreateString(R"({"architecture": "adder"})");
    auto producer = fb.CreateString("test");
    auto targetTable = fb.CreateVector(targets);
    auto costTable = costs();
    auto pairTable = pairs();
    FinishModuleBuffer(fb, CreateModule(fb, kSchemaVersion, producer, description, sizes, variables, entries,
                                        targetTable, options.sealed, costTable, pairTable));
    if (options.sealed)
      seal(fb.GetBufferPointer(), fb.GetSize());
    std::vector<std::byte> bytes(fb.GetSize());
    std::memcpy(bytes.data(), fb.GetBufferPointer(), bytes.size());
    return bytes;
  }

private:
  std::vector<flatbuffers::Offset<Entry>> entries() {
    return {
        CreateEntryDirect(fb, "add", ports({floats("a", 0), floats("b", 1)}), ports({floats("sum", 2)}),
                          options.few ? launches({launch(sizeN, {slot(0), slot(0), slot(2)}, false, sizeFew),
                                                  launch(sizeN, {slot(0), slot(1), slot(2)}, false, sizeMany)})
                                      : launches({launch(sizeN, {slot(0), slot(1), slot(2)})})),
        CreateEntryDirect(fb, "chain", ports({floats("a", 0)}), ports({floats("double", 1), floats("triple", 2)}),
                          launches({launch(sizeN, {slot(0), slot(0), slot(1)}),
                                    launch(sizeN, {slot(1), slot(0), slot(2)}, /*barrier=*/true)})),
        CreateEntryDirect(fb, "accumulate", ports({floats("a", 3)}), ports({}),
                          launches({launch(sizeN, {slot(3), stored(total), stored(total)})})),
        CreateEntryDirect(fb, "init", ports({}), ports({}), launches({})),
        CreateEntryDirect(fb, "lookup", ports({integers("index", 0, sizeN, 10), integers("lengths", 1, sizeM, 0)}),
                          ports({floats("twice", 2, sizeLongest)}),
                          launches({launch(sizeLongest, {stored(weight), stored(weight), slot(2)})})),
    };
  }

  // The arena has four slots of the largest vector.
  uint64_t slotBytes() const { return static_cast<uint64_t>(options.maximum) * 4; }
  Binding slot(uint64_t index) const { return Binding(Space::Arena, 0, index * slotBytes(), slotBytes()); }
  Binding stored(uint32_t index) const { return Binding(Space::Variable, index, 0, slotBytes()); }

  flatbuffers::Offset<TensorType> type(schema::ElementType element, const Dim &dim) {
    return CreateTensorType(fb, element, fb.CreateVectorOfStructs(&dim, 1));
  }

  flatbuffers::Offset<Variable> variable(const char *name, schema::VariableKind kind, schema::ElementType element,
                                         int64_t extent) {
    return CreateVariableDirect(fb, name, kind, type(element, Dim(-1, extent)), static_cast<uint64_t>(extent) * 4);
  }

  flatbuffers::Offset<Port> floats(const char *name, uint64_t slotIndex, int32_t size = sizeN) {
    return CreatePortDirect(fb, name, type(schema::ElementType::F32, Dim(size, 0)), slotIndex * slotBytes(),
                            slotBytes());
  }

  flatbuffers::Offset<Port> integers(const char *name, uint64_t slotIndex, int32_t size, int64_t limit) {
    uint64_t bytes = size == sizeM ? 16 * 4 : slotBytes();
    return CreatePortDirect(fb, name, type(schema::ElementType::I32, Dim(size, 0)), slotIndex * slotBytes(), bytes,
                            limit);
  }

  const std::vector<flatbuffers::Offset<Port>> *ports(std::vector<flatbuffers::Offset<Port>> list) {
    return &kept.emplace_back(std::move(list));
  }

  const std::vector<flatbuffers::Offset<Launch>> *launches(std::vector<flatbuffers::Offset<Launch>> list) {
    return &keptLaunches.emplace_back(std::move(list));
  }

  // The grid follows the size `over`, or `size` if `over` is -1.
  flatbuffers::Offset<Launch> launch(int32_t size, std::vector<Binding> bindings, bool barrier = false,
                                     int32_t over = -1) {
    bindings.push_back(Binding(Space::Size, static_cast<uint32_t>(size), 0, 0));
    std::vector<Grid> grid{Grid(over < 0 ? size : over, options.tile, 1), Grid(-1, 0, 1), Grid(-1, 0, 1)};
    std::vector vector{type(schema::ElementType::F32, Dim(size, 0))};
    std::vector reads{vector[0], vector[0]};
    std::string location = "sum: add (adder:" + std::to_string(++launched) + ":1)";
    return CreateLaunchDirect(fb, 0, &grid, &bindings, barrier, size == sizeN ? 0 : 1, location.c_str(),
                              options.described ? &reads : nullptr, options.described ? &vector : nullptr);
  }

  // An addition costs one operation and three numbers per element. The cost of `lookup` depends on its lengths.
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Cost>>> costs() {
    auto cost = [&](CostTerm flops, CostTerm bytes) {
      return CreateCost(fb, fb.CreateVectorOfStructs(&flops, 1), 0, fb.CreateVectorOfStructs(&bytes, 1));
    };
    return fb.CreateVector(std::vector{
        cost(CostTerm(1, sizeN, -1, -1, -1), CostTerm(12, sizeN, -1, -1, -1)),
        cost(CostTerm(1, sizeM, sizeLongest, -1, -1), CostTerm(12, -1, -1, -1, 0)),
    });
  }
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<PairCount>>> pairs() {
    return fb.CreateVector(std::vector{CreatePairCountDirect(fb, nullptr, "lengths", -1, -1, 16 * options.maximum)});
  }

  const AdderOptions &options;
  int launched = 0;
  flatbuffers::FlatBufferBuilder fb;
  std::list<std::vector<flatbuffers::Offset<Port>>> kept; // the builder's helpers take pointers
  std::list<std::vector<flatbuffers::Offset<Launch>>> keptLaunches;
};

std::vector<std::byte> readKernel(const std::string &path) {
  Result<std::vector<std::byte>> bytes = readFile(path, 1 << 20);
  if (!bytes)
    std::abort();
  return std::move(*bytes);
}

} // namespace

std::vector<uint32_t> testKernel(const std::string &name) {
  std::vector<std::byte> bytes = readKernel(std::string(HEDDLE_TEST_KERNELS) + "/" + name + ".spv");
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

std::vector<uint32_t> testPtx(const std::string &name) {
  std::vector<std::byte> bytes = readKernel(std::string(HEDDLE_TEST_SOURCES) + "/" + name + ".ptx");
  return ptxWords({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

std::vector<uint32_t> ptxWords(std::string_view text) {
  std::vector<uint32_t> words(text.size() / sizeof(uint32_t) + 1); // at least one NUL
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::vector<uint32_t> cpuImage(hal::cpu::ImageEntry function) {
#if defined(__aarch64__)
  constexpr std::array<uint8_t, 8> before = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6}; // ldr x16, #8; br x16
  constexpr std::array<uint8_t, 0> after = {};
#else
  constexpr std::array<uint8_t, 2> before = {0x48, 0xb8}, after = {0xff, 0xe0}; // movabs rax, address; jmp rax
#endif
  std::vector<uint8_t> image(before.begin(), before.end());
  auto address = reinterpret_cast<uintptr_t>(function);
  for (int i = 0; i < 8; ++i)
    image.push_back(static_cast<uint8_t>(address >> 8 * i));
  image.insert(image.end(), after.begin(), after.end());
  hal::cpu::ImageHeader header{.entry = 0, .bytes = static_cast<uint32_t>(image.size())};
  std::vector<uint32_t> words{header.magic, header.version, header.entry, header.bytes};
  words.resize(hal::cpu::ImageHeader::kWords + (image.size() + 3) / 4);
  std::memcpy(words.data() + hal::cpu::ImageHeader::kWords, image.data(), image.size());
  return words;
}

void addOnCpu(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *) {
  const auto *a = reinterpret_cast<const float *>(bindings[0]), *b = reinterpret_cast<const float *>(bindings[1]);
  auto *sum = reinterpret_cast<float *>(bindings[2]);
  auto elements = static_cast<uint64_t>(*reinterpret_cast<const int32_t *>(bindings[3]));
  constexpr uint64_t tile = 8;
  for (uint64_t i = first * tile, end = std::min(elements, (uint64_t(first) + count) * tile); i < end; ++i)
    sum[i] = a[i] + b[i];
}

std::vector<std::byte> buildAdder(const AdderOptions &options) { return AdderBuilder(options).build(); }

std::vector<std::byte> changed(const std::vector<std::byte> &artifact,
                               const std::function<void(schema::ModuleT &)> &change) {
  std::unique_ptr<schema::ModuleT> module(schema::GetModule(artifact.data())->UnPack());
  module->seal = 0;
  change(*module);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, module.get()));
  const auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

void packCode(schema::TargetT &target) {
  std::vector<uint8_t> whole;
  auto add = [&](const void *data, size_t bytes) {
    const auto *begin = static_cast<const uint8_t *>(data);
    whole.insert(whole.end(), begin, begin + bytes);
    whole.resize((whole.size() + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment);
  };
  for (auto &kernel : target.kernels) {
    kernel->packed_code = kernel->code.size() * sizeof(uint32_t);
    add(kernel->code.data(), kernel->packed_code);
    kernel->code.clear();
  }
  for (auto &kernel : target.kernels) {
    kernel->packed_binary = kernel->binary.size();
    add(kernel->binary.data(), kernel->packed_binary);
    kernel->binary.clear();
  }
  target.code_bytes = whole.size();
  target.code.resize(ZSTD_compressBound(whole.size()));
  target.code.resize(ZSTD_compress(target.code.data(), target.code.size(), whole.data(), whole.size(), 3));
}

schema::SegmentsT &addSegments(schema::ModuleT &module) {
  auto sumOf = [](uint32_t input) {
    auto sum = std::make_unique<schema::SumT>();
    sum->addends = {Addend(input, 1, 0)};
    return sum;
  };
  auto &segments = *module.entries[4]->segments.emplace_back(std::make_unique<schema::SegmentsT>());
  segments.places = std::make_unique<Dim>(sizeM, 0);
  segments.first = sumOf(0);
  segments.count = sumOf(1);
  segments.rows = std::make_unique<Dim>(sizeN, 0);
  return segments;
}

} // namespace heddle::test
