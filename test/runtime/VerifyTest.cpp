// The artifact verifier: breaks every numbered rule of runtime/artifact/Verify.h one by one.
#include "runtime/schema/Constants.h"
#include "test/runtime/BrokenArtifacts.h"
#include "test/runtime/TemporaryFolder.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace heddle::test;

struct Rule {
  const char *name;
  std::function<void(schema::ModuleT &)> change;
  const char *message; // a part of it
};

void PrintTo(const Rule &rule, std::ostream *out) { *out << rule.name; }

const Rule rules[] = {
    {"M1_version", [](auto &m) { m.schema_version = 99; }, "of version 99"},
    {"M5_no_json", [](auto &m) { m.description = "{"; }, "is not usable JSON"},
    {"M5_no_object", [](auto &m) { m.description = "[1]"; }, "not a JSON object"},
    {"M2_empty_name", [](auto &m) { m.variables[0]->name = ""; }, "has no name"},
    {"M2_long_name", [](auto &m) { m.entries[0]->name = std::string(1025, 'x'); }, "1024"},
    {"M2_control_characters", [](auto &m) { m.entries[0]->name = "a\nb"; }, "control characters"},
    {"M2_variable_twice", [](auto &m) { m.variables[1]->name = "weight"; }, "'weight' occurs twice"},
    {"M2_entry_twice", [](auto &m) { m.entries[1]->name = "add"; }, "'add' occurs twice"},
    {"M2_target_twice", [](auto &m) { m.targets[1]->name = m.targets[0]->name; }, "occurs twice"},
    {"M2_port_twice", [](auto &m) { entry(m).inputs[1]->name = "a"; }, "'a' occurs twice"},
    {"M2_size_twice", [](auto &m) { m.sizes[1]->name = "n"; }, "'n' occurs twice"},
    {"M3_zero", [](auto &m) { m.sizes[1]->maximum = 0; }, "maximum 0"},
    {"M3_large", [](auto &m) { m.sizes[1]->maximum = int64_t(1) << 31; }, "not in [1, 2^31)"},
    {"M3_chunk_of_nothing", [](auto &m) { m.sizes[1]->of_size = 7; }, "chunk of size 7"},
    {"M3_chunk_of_chunk", [](auto &m) { m.sizes[0]->of_size = 1, m.sizes[1]->of_size = 0; }, "chunk of a chunk"},
    {"M3_chunk_bound_twice",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->max_of_input = "a";
     },
     "bound in another way too"},
    {"M3_chunk_outside",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->from = 1;
       m.sizes[1]->maximum = 1000;
     },
     "covers 1000 from 1 on"},
    {"M3_within_nothing", [](auto &m) { m.sizes[1]->within = true; }, "within bounds of no size"},
    {"M3_within_no_bounds",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->within = true;
       m.sizes[1]->from = 16;
     },
     "covers 16 from 16 on"},
    {"M3_within_too_many",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->within = true;
       m.sizes[1]->maximum = 1001;
     },
     "covers 1001 from 0 on"},
    {"M3_multiple_of_nothing", [](auto &m) { m.sizes[1]->times = 2; }, "within bounds of no size"},
    {"M3_multiple_too_large",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->times = int64_t(1) << 40;
     },
     "is 1099511627776 times another size"},
    {"M3_multiple_of_old_version",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->times = 2;
       m.schema_version = 8;
     },
     "2 times another size, in version 8"},
    {"M3_within_of_old_version",
     [](auto &m) {
       m.sizes[1]->of_size = 0;
       m.sizes[1]->within = true;
       m.schema_version = 5;
     },
     "version 5 does not have"},
    {"M4_many",
     [](auto &m) {
       for (int i = 0; i < 17; ++i)
         addVocabulary(m, "file" + std::to_string(i));
     },
     "17 files"},
    {"M4_twice", [](auto &m) { addVocabulary(m, "spm.model"), addVocabulary(m, "spm.model"); }, "occurs twice"},
    {"M4_path", [](auto &m) { addVocabulary(m, "../spm.model"); }, "a path"},
    {"M4_hidden", [](auto &m) { addVocabulary(m, ".."); }, "a path"},
    {"M4_empty", [](auto &m) { addVocabulary(m, "spm.model").bytes.clear(); }, "is empty"},
    {"T1_rank", [](auto &m) { m.variables[0]->type->dims.assign(9, schema::Dim(-1, 1)); }, "9 dimensions"},
    {"T1_extent", [](auto &m) { m.variables[0]->type->dims[0] = schema::Dim(-1, 0); }, "extent of 0"},
    {"T1_no_such_size", [](auto &m) { entry(m).inputs[0]->type->dims[0] = schema::Dim(3, 0); }, "uses size 3"},
    {"T1_negative_size", [](auto &m) { entry(m).inputs[0]->type->dims[0] = schema::Dim(-2, 1); }, "uses size -2"},
    {"T1_overflow", [](auto &m) { m.variables[0]->type->dims.assign(3, schema::Dim(-1, int64_t(1) << 40)); },
     "larger than any memory"},
    {"T1_element", [](auto &m) { m.variables[0]->type->element = schema::ElementType(7); }, "element type 7"},
    {"V1_bytes", [](auto &m) { m.variables[0]->bytes += 4; }, "shape needs 4000"},
    {"V1_dynamic", [](auto &m) { m.variables[0]->type->dims[0] = schema::Dim(0, 0); }, "varies between calls"},
    {"V1_kind", [](auto &m) { m.variables[0]->kind = schema::VariableKind(9); }, "unknown kind 9"},
    {"V1_role", [](auto &m) { m.variables[0]->role = schema::VariableRole(99); }, "unknown role 99"},
    {"V1_no_such_owner", [](auto &m) { m.variables[1]->owner = 9; }, "belongs to variable 9"},
    {"V1_scales_of_no_words", [](auto &m) { m.variables[1]->owner = 0, m.variables[1]->role = schema::VariableRole::Scales; },
     "one of them is no matrix, or the latter has no words of i32"},
    {"V1_owner_without_role", [](auto &m) { m.variables[1]->owner = 0; }, "no weight or has no such variable"},
    {"V1_counter_of_weight",
     [](auto &m) { m.variables[1]->owner = 0, m.variables[1]->role = schema::VariableRole::Steps; },
     "no weight or has no such variable"},
    {"V1_owner_no_weight",
     [](auto &m) { m.variables[1]->owner = 2, m.variables[1]->role = schema::VariableRole::Average; },
     "no weight or has no such variable"},
    {"V2_no_such_storage", [](auto &m) { m.variables[2]->storage = 9; }, "lies in variable 9"},
    {"V2_view_of_view", [](auto &m) { m.variables[2]->storage = 1, m.variables[1]->storage = 0; }, "lies in a view"},
    {"V2_outside",
     [](auto &m) {
       m.variables[2]->storage = 0;
       m.variables[2]->storage_offset = 3996;
     },
     "lies at 3996 with 28 bytes, where 4000 are"},
    {"V2_unaligned",
     [](auto &m) {
       m.variables[2]->storage = 0;
       m.variables[2]->storage_offset = 2;
     },
     "lies at 2"},
    {"B1_many", [](auto &m) { inBlocks(m).blocks.assign(4097, 256); }, "arena of 4097 blocks, not of 1 to 4096"},
    {"B1_empty", [](auto &m) { inBlocks(m).blocks[1] = 0; }, "a block of 0 bytes at 4096"},
    {"B1_odd", [](auto &m) { inBlocks(m).blocks[0] = 4000; }, "a block of 4000 bytes at 0, and the arena has 16000; blocks have"},
    {"B1_outside", [](auto &m) { inBlocks(m).blocks[2] = 7936; }, "a block of 7936 bytes at 8192, and the arena has 16000"},
    {"B1_wraps", [](auto &m) { inBlocks(m).blocks[2] = ~uint64_t(8191); }, "at 8192, and the arena has 16000"},
    {"B1_smallest_arena", [](auto &m) { inBlocks(m), m.targets[1]->arena_bytes = 15000; }, "and the arena has 15000"},
    {"B2_input", [](auto &m) { inBlocks(m).inputs[1]->arena_offset = 4092; },
     "input 'b' lies at 4092 to 8092 of the arena, which is not in one of its blocks"},
    {"B2_output", [](auto &m) { inBlocks(m).outputs[0]->arena_offset = 12000; }, "output 'sum' lies at 12000 to 16000"},
    {"B2_binding", [](auto &m) { inBlocks(m), launch(m).bindings[1] = arena(4096, 4100); }, "binding 1 lies at 4096 to 8196"},
    {"B2_behind_all", [](auto &m) { inBlocks(m), launch(m).bindings[1] = arena(15872, 8); }, "binding 1 lies at 15872 to 15880"},
    {"B2_last_step",
     [](auto &m) {
       inBlocks(m), repeat(m);
       launch(m).bindings[0] = arena(0, 104); // 999 steps of 4 bytes end at 4100
       launch(m).reads.clear(), launch(m).writes.clear();
       launch(m).strides = {4, 0, 0, 0};
     },
     "binding 0 lies at 0 to 4100"},
    {"B2_collective", [](auto &m) { inBlocks(m), collective(m).from[0] = arena(4080, 32); }, "tensor 0 lies at 4080 to 4112"},
    {"P1_bytes", [](auto &m) { entry(m).inputs[0]->bytes -= 4; }, "shape needs 4000"},
    {"P1_outside", [](auto &m) { entry(m).outputs[0]->arena_offset = 12004; }, "the arena has 16000"},
    {"P1_wraps", [](auto &m) { entry(m).outputs[0]->arena_offset = ~uint64_t(3); }, "the arena has 16000"},
    {"P1_unaligned", [](auto &m) { entry(m).outputs[0]->arena_offset = 2; }, "lies at 2"},
    {"P1_smallest_arena", [](auto &m) { m.targets[1]->arena_bytes = 9000; }, "the arena has 9000"},
    {"P2_overlap", [](auto &m) { entry(m).inputs[1]->arena_offset = 3996; }, "'a' and 'b' overlap"},
    {"P2_limit_of_floats", [](auto &m) { entry(m).inputs[0]->value_limit = 3; }, "only an i32 input"},
    {"P2_role_of_output", [](auto &m) { entry(m).outputs[0]->role = "source.starts"; }, "output 'sum' has the role 'source.starts', which only an input"},
    {"P2_role_of_nothing", [](auto &m) { entry(m).inputs[0]->role = "starts"; }, "input 'a' has the role 'starts', which has no dot"},
    {"P2_role_with_a_break", [](auto &m) { entry(m).inputs[0]->role = "source.\n"; }, "control characters"},
    {"P2_negative_limit", [](auto &m) { entry(m, 4).inputs[0]->value_limit = -3; }, "value limit -3"},
    {"P3_first_target", [](auto &m) { m.targets[0]->entries = std::move(own(m).entries); },
     "first target 'vulkan:software' has entries beside"},
    {"P3_entry_count", [](auto &m) { own(m).entries.pop_back(); }, "has 4 entries, and the module has 5"},
    {"P3_entry_name", [](auto &m) { own(m).entries[0]->name = "plus"; }, "the entry 'plus' where the module has 'add'"},
    {"P3_ports", [](auto &m) { own(m).entries[1]->outputs.pop_back(); }, "has 1 outputs, and the module's has 2"},
    {"P3_port_name", [](auto &m) { own(m).entries[0]->inputs[1]->name = "c"; }, "has 'c' among its inputs"},
    {"P3_port_type", [](auto &m) { own(m).entries[0]->inputs[1]->type->element = schema::ElementType::I32; },
     "has 'b' with another type"},
    {"P3_port_size",
     [](auto &m) {
       schema::EntryT &lookup = *own(m).entries[4];
       lookup.outputs[0]->type->dims[0] = schema::Dim(0, 0);
     },
     "has 'twice' with another type"},
    {"P3_role", [](auto &m) { own(m).entries[0]->inputs[0]->role = "source.starts"; }, "has 'a' with the role 'source.starts', and the module's has ''"},
    {"P3_role_missing", [](auto &m) { own(m), entry(m).inputs[0]->role = "source.starts"; }, "has 'a' with the role '', and the module's has 'source.starts'"},
    {"P3_limit", [](auto &m) { own(m).entries[4]->inputs[0]->value_limit = 11; }, "has 'index' with another type"},
    {"P1_own_arena",
     [](auto &m) {
       own(m).entries[0]->outputs[0]->arena_offset = 8000;
       m.targets[1]->arena_bytes = 9000;
     },
     "target 'vulkan:portable': entry 'add', output 'sum' lies at 8000"},
    {"L1_own_kernel", [](auto &m) { own(m).entries[0]->launches[0]->kernel = 1; }, "names kernel 1"},
    {"K6_lanes", [](auto &m) { cpu(m).lanes = 8; }, "has 8 lanes, and a workgroup of a processor has 1"},
    {"K6_scratch", [](auto &m) { cpu(m).shared_bytes = (64 << 20) + 1; }, "64.0 MiB are the most"},
    {"K6_texels", [](auto &m) { cpu(m).texels = {0}; }, "reads texel buffers"},
    {"K6_binary", [](auto &m) { cpu(m).binary = {1}; }, "has a binary beside its image"},
    {"K6_empty", [](auto &m) { cpu(m).code.clear(); }, "has 0 words of code"},
    {"K6_magic", [](auto &m) { cpu(m).code[0] = 0x464c457f; }, "is no image for a processor"},
    {"K6_version", [](auto &m) { cpu(m).code[1] = 2; }, "of an unknown version 2"},
    {"K6_entry", [](auto &m) { auto &k = cpu(m); k.code[2] = k.code[3]; }, "outside its image"},
    {"K6_far_entry", [](auto &m) { auto &k = cpu(m); k.code[2] = UINT32_MAX; }, "outside its image"},
    {"K6_no_bytes", [](auto &m) { cpu(m).code[3] = 0; }, "is damaged"},
    {"K6_long", [](auto &m) { cpu(m).code[3] = UINT32_MAX; }, "is damaged"},
    {"K6_short", [](auto &m) { cpu(m).code.push_back(0); }, "is damaged"},
    {"K6_cut", [](auto &m) { cpu(m).code.pop_back(); }, "is damaged"},
    {"K6_no_zeros", [](auto &m) { auto &k = cpu(m); k.code[3] -= 3; }, "is damaged"},
    {"K4_lanes", [](auto &m) { cuda(m).lanes = 48; }, "has 48 lanes, not a multiple of 32 up to 1024"},
    {"K4_many_lanes", [](auto &m) { cuda(m).lanes = 1056; }, "has 1056 lanes"},
    {"K4_subgroup", [](auto &m) { cuda(m).subgroup = 16; }, "has subgroups of 16 lanes, not of 32"},
    {"K4_shared", [](auto &m) { cuda(m).shared_bytes = (227 << 10) + 1; }, "227.0 KiB are the most"},
    {"K4_no_shared",
     [](auto &m) { cuda(m).code = test::ptxWords(".extern .shared .b8 s[];\n.visible .entry main()"); },
     "claims to need no shared memory"},
    {"K4_texels", [](auto &m) { cuda(m).texels = {0}; }, "reads texel buffers"},
    {"K4_empty", [](auto &m) { cuda(m).code.clear(); }, "does not end with the code"},
    {"K4_no_end", [](auto &m) { cuda(m).code = {0x20202020}; }, "does not end with the code"},
    {"K4_early_end", [](auto &m) { cuda(m).code.push_back(0); }, "does not end with the code"},
    {"K4_hidden", [](auto &m) { cuda(m).code.back() = 0x20200020; }, "does not end with the code"},
    {"K4_binary_code", [](auto &m) { cuda(m).code[3] = 0x01020304; }, "its code is not text"},
    {"K4_entry", [](auto &m) { cuda(m).code = test::ptxWords(".visible .entry mainly()"); }, "has no entry 'main'"},
    {"K4_named_entry", [](auto &m) { cuda(m).entry = "other"; }, "has no entry 'other' in its PTX"},
    {"K4_entry_name", [](auto &m) { cuda(m).entry = "main(.param"; }, "whose name is no name of PTX"},
    {"K4_no_elf", [](auto &m) { cuda(m).binary = {0x7f, 'E', 'L', 'G'}; }, "has a binary that is not a cubin"},
    {"K4_short_elf", [](auto &m) { cuda(m).binary = {0x7f, 'E'}; }, "has a binary that is not a cubin"},
    {"E1_output", [](auto &m) { entry(m).outputs[0]->type->dims[0] = schema::Dim(2, 0); },
     "no input of the entry binds"},
    {"E1_grid", [](auto &m) { launch(m).grid[1] = schema::Grid(1, 8, 1); }, "no input of the entry binds"},
    {"E1_binding", [](auto &m) { launch(m).bindings[3] = schema::Binding(schema::Space::Size, 2, 0, 0); },
     "no input of the entry binds"},
    {"E1_max_of_no_input", [](auto &m) { m.sizes[2]->max_of_input = "other"; }, "no input of the entry binds"},
    {"L1_kernel", [](auto &m) { launch(m).kernel = 1; }, "names kernel 1"},
    {"L1_axes", [](auto &m) { launch(m).grid.pop_back(); }, "2 grid axes"},
    {"L1_no_such_size", [](auto &m) { launch(m).grid[0] = schema::Grid(17, 8, 1); }, "uses size 17"},
    {"L1_tile", [](auto &m) { launch(m).grid[0] = schema::Grid(0, 0, 1); }, "tile or repeat is 0"},
    {"L1_repeat", [](auto &m) { launch(m).grid[1] = schema::Grid(-1, 0, 0); }, "tile or repeat is 0"},
    {"L1_count", [](auto &m) { launch(m).grid[0] = schema::Grid(0, 1, 0xffffffff); }, "32-bit"},
    {"L2_too_many", [](auto &m) { launch(m).bindings.assign(17, launch(m).bindings[0]); }, "17 bindings"},
    {"L2_variable", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space::Variable, 4, 0, 4); },
     "names variable 4"},
    {"L2_variable_range", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space::Variable, 0, 4, 4000); },
     "where 4000 are"},
    {"L2_arena_range", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space::Arena, 0, 16004, 0); },
     "where 16000 are"},
    {"L2_wraps", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space::Arena, 0, 8, ~uint64_t(0)); },
     "where 16000 are"},
    {"L2_unaligned", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space::Arena, 0, 2, 8); },
     "lies at 2"},
    {"L2_size", [](auto &m) { launch(m).bindings[3] = schema::Binding(schema::Space::Size, 3, 0, 0); }, "names size 3"},
    {"L2_space", [](auto &m) { launch(m).bindings[0] = schema::Binding(schema::Space(5), 0, 0, 4); },
     "unknown space 5"},
    {"L5_count", [](auto &m) { launch(m).strides = {4}; }, "1 strides for"},
    {"L5_outside", [](auto &m) { repeat(m), launch(m).strides.assign(launch(m).bindings.size(), 4096); }, "moves on by 4096"},
    {"L5_unaligned", [](auto &m) { repeat(m), launch(m).strides.assign(launch(m).bindings.size(), 2); }, "moves on by 2"},
    {"R0_version", [](auto &m) { repeat(m), m.schema_version = 1; }, "has repetitions, and the artifact is of version 1"},
    {"R1_none", [](auto &m) { repeat(m).count = 0; }, "holds 0 launches"},
    {"R1_past_the_end", [](auto &m) { repeat(m).count = 99; }, "holds 99 launches"},
    {"R1_twice", [](auto &m) { repeat(m), repeat(m); }, "holds 1 launches from 0 on, where 1"},
    {"R2_no_such_size", [](auto &m) { repeat(m).rows = 99; }, "uses size 99"},
    {"R2_steps", [](auto &m) { --repeat(m).steps; }, "not as many as its size is at most"},
    {"G0_version", [](auto &m) { collective(m), m.schema_version = 2; }, "has collectives, and the artifact is of version 2"},
    {"G1_past_the_end", [](auto &m) { collective(m, 2); }, "stands before launch 2, where 0 to 1"},
    {"G1_order", [](auto &m) { collective(m, 1), collective(m, 0); }, "stands before launch 0, where 1 to 1"},
    {"G1_in_a_repetition",
     [](auto &m) {
       entry(m).launches.push_back(std::make_unique<schema::LaunchT>(launch(m)));
       repeat(m).count = 2;
       collective(m, 1);
     },
     "outside of repetitions"},
    {"G1_too_many", [](auto &m) { for (int i = 0; i < 4097; ++i) collective(m); }, "4097 collectives"},
    {"G2_more_results", [](auto &m) { collective(m).to.push_back(arena(512, 32)); }, "takes 1 tensors and makes 2"},
    {"G2_kind", [](auto &m) { collective(m).kind = static_cast<schema::CollectiveKind>(77); }, "unknown kind 77"},
    {"G2_bytes", [](auto &m) { collective(m).to[0] = arena(512, 64); }, "has 32 bytes, and its result 64"},
    {"G2_no_number", [](auto &m) { collective(m).from[0] = arena(64, 30); }, "tensor 0 is no tensor of f32"},
    {"G2_size", [](auto &m) { collective(m).from[0] = schema::Binding(schema::Space::Size, 0, 0, 4); }, "is no tensor of f32"},
    {"G2_outside", [](auto &m) { collective(m).from[0] = arena(1 << 20, 32); }, "lies at 1048576"},
    {"G2_unaligned", [](auto &m) { collective(m).from[0] = arena(66, 32); }, "lies at 66"},
    {"G2_variable", [](auto &m) { collective(m).to[0] = schema::Binding(schema::Space::Variable, 9, 0, 32); }, "names variable 9"},
    {"G2_location", [](auto &m) { collective(m).location.assign(20000, 'x'); }, "a location of 20000 bytes"},
    {"G4_gathers_like_nothing", [](auto &m) { gather(m).like.clear(); }, "names 0 sharded variables for 1 tensors"},
    {"G4_sums_like_a_variable", [](auto &m) { gather(m).kind = schema::CollectiveKind::AllReduce; }, "names 1 sharded variables for 1"},
    {"G4_scatters_like_nothing",
     [](auto &m) {
       gather(m).kind = schema::CollectiveKind::ReduceScatter;
       entry(m).collectives[0]->like.clear();
     },
     "names 0 sharded variables for 1 tensors"},
    {"G4_whole", [](auto &m) { gather(m).like = {0}; }, "variable 0 is no sharded one of as many"},
    {"G4_view",
     [](auto &m) {
       schema::CollectiveT &some = gather(m);
       auto view = std::make_unique<schema::VariableT>(*m.variables[some.like[0]]);
       view->name = "view";
       view->sharded = false;
       view->storage = int32_t(some.like[0]);
       some.like = {uint32_t(m.variables.size())};
       m.variables.push_back(std::move(view));
     },
     "is no sharded one of as many"},
    {"G4_no_variable", [](auto &m) { gather(m).like = {99}; }, "variable 99 is no sharded one of as many"},
    {"G4_bytes", [](auto &m) { auto &some = gather(m); some.from = some.to = {schema::Binding(schema::Space::Arena, 0, 256, 128)}; },
     "has 128 bytes, and variable"},
    {"G4_state",
     [](auto &m) {
       schema::CollectiveT &sum = collective(m);
       sum.from = sum.to = {schema::Binding(schema::Space::Variable, sharded(m), 0, 256)};
     },
     "is a sharded variable's, of which a rank has some rows only"},
    {"L6_part_of_a_state",
     [](auto &m) {
       uint32_t state = shard(m).variable;
       auto view = std::make_unique<schema::VariableT>(*m.variables[state]);
       view->name = "view";
       view->sharded = false;
       view->storage = int32_t(state);
       m.variables.push_back(std::move(view));
       launch(m).bindings[0] = schema::Binding(schema::Space::Variable, state + 1, 0, 256);
       launch(m).shard->row_bytes[0] = 4;
       launch(m).reads.clear(), launch(m).writes.clear();
     },
     "binding 0 has no rows of 4 bytes"},
    {"L6_state_of_other_rows",
     [](auto &m) {
       shard(m);
       uint32_t other = sharded(m);
       m.variables[other]->name = "other";
       m.variables[other]->type->dims = {schema::Dim(-1, 32), schema::Dim(-1, 2)};
       launch(m).bindings[0] = schema::Binding(schema::Space::Variable, other, 0, 256);
       launch(m).shard->row_bytes[0] = 4;
       launch(m).reads.clear(), launch(m).writes.clear();
     },
     "binding 0 has no rows of 4 bytes"},
    {"T1_narrow_average", [](auto &m) { narrow(m).role = schema::VariableRole::Average; }, "'narrow' has an element type of 16 bits"},
    {"T1_narrow_version", [](auto &m) { narrow(m), m.schema_version = 4; }, "'narrow' has an element type of 16 bits"},
    {"T1_narrow_half", [](auto &m) { narrow(m).type->element = schema::ElementType::F16; }, "'narrow' has an element type of 16 bits"},
    {"T1_half_weight_version", [](auto &m) { halfWeight(m), m.schema_version = 7; }, "'half' has an element type of 16 bits"},
    {"T1_half_weight_vector", [](auto &m) { halfWeight(m).type->dims = {schema::Dim(-1, 64)}; }, "'half' has an element type of 16 bits"},
    {"T1_half_weight_role", [](auto &m) { halfWeight(m).role = schema::VariableRole::Average; }, "'half' has an element type of 16 bits"},
    {"T1_half_weight_kind", [](auto &m) { halfWeight(m).kind = schema::VariableKind::Counter; }, "'half' has an element type of 16 bits"},
    {"V1_half_weight_bytes", [](auto &m) { halfWeight(m).bytes = 256; }, "'half' has 256 bytes, and its shape needs 128"},
    {"V1_narrow_bytes", [](auto &m) { narrow(m).bytes = 256; }, "'narrow' has 256 bytes, and its shape needs 128"},
    {"V4_narrow_bytes", [](auto &m) { narrow(m).sharded = true; }, "'narrow' is sharded, and no"},
    {"G4_narrow", // as many bytes, but twice as many numbers
     [](auto &m) {
       schema::VariableT &state = narrow(m);
       state.sharded = true;
       state.type->dims = {schema::Dim(-1, 128)};
       state.bytes = 256;
       gather(m).like = {uint32_t(m.variables.size() - 2)};
     },
     "is no sharded one of as many numbers"},
    {"V5_columns", [](auto &m) { halfWeight(m).panel = 24; }, "'half' is in panels of 24 columns, and no matrix"},
    {"V5_negative", [](auto &m) { halfWeight(m).panel = -8; }, "'half' is in panels of -8 columns, and no matrix"},
    {"V5_version", [](auto &m) { halfWeight(m).panel = 8, m.schema_version = 9; }, "'half' is in panels of 8 columns, and no matrix"},
    {"V5_integers", [](auto &m) { floatWeight(m).panel = 8, m.variables.back()->type->element = schema::ElementType::I32; }, "'half' is in panels of 8 columns, and no matrix"},
    {"V5_counter", [](auto &m) { floatWeight(m).panel = 8, m.variables.back()->kind = schema::VariableKind::Counter; }, "'half' is in panels of 8 columns, and no matrix"},
    {"V5_moment", [](auto &m) { narrow(m).panel = 8; }, "'narrow' is in panels of 8 columns, and no matrix"},
    {"V4_weight", [](auto &m) { m.variables[sharded(m)]->kind = schema::VariableKind::Weight; }, "'state' is sharded, and no"},
    {"V4_integers", [](auto &m) { m.variables[sharded(m)]->type->element = schema::ElementType::I32; }, "'state' is sharded, and no"},
    {"V4_view", [](auto &m) { m.variables[sharded(m)]->storage = 0; }, "'state' is sharded, and no"},
    {"V4_version", [](auto &m) { sharded(m), m.schema_version = 3; }, "'state' is sharded, and no"},
    {"V4_bytes",
     [](auto &m) {
       auto &state = *m.variables[sharded(m)];
       state.type->dims = {schema::Dim(-1, 65)};
       state.bytes = 260;
     },
     "'state' is sharded, and no"},
    {"L6_whole", [](auto &m) { shard(m).variable = 0; }, "is shared out as variable 0 along axis 1 by 64"},
    {"L6_no_variable", [](auto &m) { shard(m).variable = 99; }, "is shared out as variable 99"},
    {"L6_axis", [](auto &m) { shard(m).axis = 3; }, "along axis 3"},
    {"L6_tile", [](auto &m) { shard(m).tile = 0; }, "by 0 rows"},
    {"L6_repeated", [](auto &m) { shard(m), repeat(m); }, "which cannot be"},
    {"L6_workgroups", [](auto &m) { shard(m).tile = 32; }, "has 1 workgroups for 64 rows, 32 each"},
    {"L6_varying_workgroups", [](auto &m) { shard(m).axis = 0; }, "workgroups for 64 rows"},
    {"L6_rows_of_more", [](auto &m) { shard(m).row_bytes.push_back(0); }, "has the rows of"},
    {"L6_no_such_rows", [](auto &m) { shard(m).row_bytes[0] = 4; }, "binding 0 has no rows of 4 bytes"},
    {"L6_state_without_rows",
     [](auto &m) {
       launch(m).bindings[0] = schema::Binding(schema::Space::Variable, shard(m).variable, 0, 256);
       launch(m).reads.clear(), launch(m).writes.clear();
     },
     "binding 0 has no rows of 0 bytes"},
    {"G3_result_over_its_tensor", [](auto &m) { collective(m).to[0] = arena(80, 32); }, "overlap at byte 80"},
    {"G3_results",
     [](auto &m) {
       schema::CollectiveT &both = collective(m);
       both.from = {arena(0, 32), arena(32, 32)};
       both.to = {arena(512, 32), arena(512, 32)};
     },
     "overlap at byte 512"},
    {"C1_size", [](auto &m) { m.costs[0]->flops[0] = schema::CostTerm(1, 0, 3, -1, -1); }, "cost 0 uses size 3"},
    {"C1_negative_size", [](auto &m) { m.costs[0]->flops[0] = schema::CostTerm(1, -2, 0, -1, -1); }, "uses size -2"},
    {"C1_pairs", [](auto &m) { m.costs[1]->bytes[0] = schema::CostTerm(1, 0, 0, -1, 1); }, "uses count 1 of pairs"},
    {"C1_no_pairs", [](auto &m) { m.pairs.clear(); }, "uses count 0 of pairs"},
    {"C1_coefficient", [](auto &m) { m.costs[0]->flops[0] = schema::CostTerm(-1, 0, -1, -1, -1); }, "coefficient -1"},
    {"C1_terms", [](auto &m) { m.costs[0]->bytes.assign(65, schema::CostTerm(1, 0, -1, -1, -1)); }, "65 terms"},
    {"C1_keys", [](auto &m) { m.pairs[0]->keys = ""; }, "has no name"},
    {"C1_maximum", [](auto &m) { m.pairs[0]->maximum = -1; }, "maximum -1"},
    {"C2_cost", [](auto &m) { launch(m).cost = 2; }, "names cost 2"},
    {"C2_negative_cost", [](auto &m) { launch(m).cost = -2; }, "names cost -2"},
    {"C2_no_costs", [](auto &m) { m.costs.clear(); }, "names cost 0, and there are 0"},
    {"C2_unbound", [](auto &m) { launch(m).cost = 1; }, "no input of the entry binds"},
    {"C2_no_input", [](auto &m) { m.pairs[0]->keys = "sentences"; }, "counts pairs by 'sentences'"},
    {"C2_floats",
     [](auto &m) {
       entry(m).launches[0]->cost = 0, m.costs[0]->flops[0] = schema::CostTerm(1, 0, -1, -1, 0), m.pairs[0]->keys = "a";
     },
     "counts pairs by 'a'"},
    {"V3_floats", [](auto &m) { m.variables[0]->value_limit = 5; }, "the value limit 5, which only i32 can have"},
    {"V3_negative", [](auto &m) { m.variables[3]->value_limit = -1; }, "the value limit -1"},
    {"S1_no_places", [](auto &m) { test::addSegments(m).places.reset(); }, "segments 0 lacks an extent"},
    {"S1_no_rows", [](auto &m) { test::addSegments(m).rows.reset(); }, "segments 0 lacks an extent"},
    {"S1_size", [](auto &m) { *test::addSegments(m).rows = schema::Dim(3, 0); }, "uses size 3, and there are 3"},
    {"S1_extent", [](auto &m) { *test::addSegments(m).rows = schema::Dim(-1, -2); }, "an extent of -2"},
    {"S1_unbound",
     [](auto &m) {
       auto &segments = test::addSegments(m);
       segments.first->addends.clear(), segments.count->addends = {schema::Addend(0, 1, 0)};
       m.entries[4]->segments.swap(m.entries[0]->segments);
       m.entries[0]->inputs[0]->type->element = schema::ElementType::I32;
     },
     "uses size 'm', which no input of the entry binds"},
    {"S1_input", [](auto &m) { test::addSegments(m).first->addends[0] = schema::Addend(2, 1, 0); }, "names input 2"},
    {"S1_floats", [](auto &m) { test::addSegments(m), m.entries[4]->inputs[0]->value_limit = 0,
                                m.entries[4]->inputs[0]->type->element = schema::ElementType::F32; },
     "names 'index', which is no i32 tensor of 1 dimensions"},
    {"S1_addends", [](auto &m) { test::addSegments(m).first->addends.assign(9, schema::Addend(0, 1, 0)); },
     "adds 9 inputs"},
    {"S1_coefficient", [](auto &m) { test::addSegments(m).first->addends[0] = schema::Addend(0, -2000000, 0); },
     "the coefficient -2000000"},
    {"S1_constant", [](auto &m) { test::addSegments(m).first->constant = std::numeric_limits<int64_t>::min(); },
     "has the constant -9223372036854775808"},
    {"S1_from", [](auto &m) { test::addSegments(m).first->addends[0] = schema::Addend(0, 1, -1); },
     "begins at element -1"},
    {"S1_list", [](auto &m) { test::addSegments(m).list = 0; }, "lacks an extent"},
    {"S1_flat_list",
     [](auto &m) {
       auto &segments = test::addSegments(m);
       segments.list = 0, segments.listed = std::make_unique<schema::Dim>(-1, 4);
     },
     "names 'index', which is no i32 tensor of 2 dimensions"},
    {"S1_no_input",
     [](auto &m) {
       auto &segments = test::addSegments(m);
       segments.first->addends.clear(), segments.count->addends.clear();
     },
     "names no input"},
    {"S1_too_many",
     [](auto &m) {
       for (int i = 0; i < 4097; ++i)
         test::addSegments(m);
     },
     "4097 segments"},
    {"P3_segments", [](auto &m) { own(m), test::addSegments(m); }, "has other segments than the module's"},
    {"K5_too_large", [](auto &m) { packed(m).code_bytes = uint64_t(1) << 40; }, "are the most"},
    {"K5_ratio",
     [](auto &m) {
       m.targets[0]->kernels[0]->code.resize(1 << 20);
       packed(m);
     },
     "are the most"},
    {"K5_other_size", [](auto &m) { packed(m).code_bytes -= 8; }, "has code that is not packed as"},
    {"K5_cut", [](auto &m) { packed(m).code.pop_back(); }, "cannot be unpacked"},
    {"K5_no_frame", [](auto &m) { packed(m).code.assign(64, 1); }, "is not packed as"},
    {"K5_absent", [](auto &m) { packed(m).code.clear(); }, "has 0 words of code"},
    {"K5_code_beside", [](auto &m) { packed(m).kernels[0]->code = {1}; }, "not that of its kernels"},
    {"K5_part_too_large", [](auto &m) { packed(m).kernels[0]->packed_code += 8; }, "not that of its kernels"},
    {"K5_part_wraps", [](auto &m) { packed(m).kernels[0]->packed_binary = ~uint64_t(0); }, "not that of its kernels"},
    {"K5_part_too_small", [](auto &m) { packed(m).kernels[0]->packed_code -= 8; }, "not that of its kernels"},
    {"K5_no_words", [](auto &m) { packed(m).kernels[0]->packed_code -= 1; }, "not that of its kernels"},
    {"K2_packed", [](auto &m) { code(m)[0] = 0, packed(m); }, "not SPIR-V"},
    {"L3_no_such_binding", [](auto &m) { unreadable(m).texels = {9}; }, "no binding 9"},
    {"L3_size", [](auto &m) { unreadable(m).texels = {3}; }, "cannot read as texels"},
    {"L3_unaligned",
     [](auto &m) {
       unreadable(m).texels = {0};
       launch(m).bindings[0] = schema::Binding(schema::Space::Arena, 0, 4, 16);
     },
     "lies at 4 with 16 bytes, which its kernel cannot read as texels"},
    {"L3_uneven",
     [](auto &m) {
       unreadable(m).texels = {0};
       launch(m).bindings[0] = schema::Binding(schema::Space::Arena, 0, 0, 20);
     },
     "lies at 0 with 20 bytes, which its kernel cannot read as texels"},
    {"L3_texel_floats",
     [](auto &m) { unreadable(m).texels = {0}, m.targets[0]->kernels[0]->texel_floats = 3; },
     "whose texels have 3 numbers"},
    {"T1_narrow_port", [](auto &m) { entry(m).inputs[0]->type->element = schema::ElementType::BF16; }, "of 16 bits"},
    {"T1_narrow_variable", [](auto &m) { m.variables[0]->type->element = schema::ElementType::F16; }, "of 16 bits"},
    {"L4_too_many", [](auto &m) { launch(m).bindings.resize(2); }, "tensor at binding 2, which is not the binding of a tensor"},
    {"L4_size", [](auto &m) { launch(m).bindings[1] = launch(m).bindings[3]; }, "tensor at binding 1"},
    {"L4_room", [](auto &m) { launch(m).bindings[2] = schema::Binding(schema::Space::Arena, 0, 8000, 3996); },
     "binding 2 has 3996 bytes, and its tensor needs 4000"},
    {"L4_type", [](auto &m) { launch(m).writes[0]->dims[0] = schema::Dim(7, 0); }, "binding 2 uses size 7"},
    {"L4_unbound", [](auto &m) { launch(m).reads[0]->dims[0] = schema::Dim(1, 0); }, "no input of the entry binds"},
    {"L4_location", [](auto &m) { launch(m).location.assign((16 << 10) + 1, 'x'); }, "a location of 16385 bytes"},
    {"K1_no_target", [](auto &m) { m.targets.clear(); }, "no target"},
    {"K1_kernel_count", [](auto &m) { m.targets[1]->kernels.clear(); }, "has 0 kernels"},
    {"K1_kernel_name", [](auto &m) { m.targets[1]->kernels[0]->name = "sub"; }, "stands where"},
    {"K1_lanes", [](auto &m) { m.targets[0]->kernels[0]->lanes = 0; }, "0 lanes"},
    {"K1_subgroup", [](auto &m) { m.targets[0]->kernels[0]->subgroup = 9; }, "subgroups of 9"},
    {"K1_part_of_a_subgroup", [](auto &m) { m.targets[0]->kernels[0]->subgroup = 3; }, "not a whole number of subgroups of 3"},
    {"K2_empty", [](auto &m) { code(m).clear(); }, "0 words"},
    {"K2_magic", [](auto &m) { code(m)[0] = 0x464c457f; }, "not SPIR-V"},
    {"K2_version", [](auto &m) { code(m)[1] = 0x00020000; }, "unknown version 2.0"},
    {"K2_bound", [](auto &m) { code(m)[3] = 0xffffffff; }, "id bound"},
    {"K2_truncated", [](auto &m) { code(m).resize(code(m).size() - 3); }, "is damaged"},
    {"K2_open_function", [](auto &m) { code(m).pop_back(); }, "ends within a function"},
    {"K2_zero_words", [](auto &m) { code(m).push_back(0); }, "has 0 words"},
    {"K2_texels", [](auto &m) { m.targets[0]->kernels[0]->texels = {0}; }, "other than the artifact lists"},
    {"K2_lanes", [](auto &m) { m.targets[0]->kernels[0]->lanes = 16; }, "16 lanes"},
    {"K2_addressing",
     [](auto &m) {
       for (size_t i = 5; i < code(m).size(); i += code(m)[i] >> 16)
         if (code(m)[i] == ((3u << 16) | 14))
           code(m)[i + 1] = 0;
     },
     "physical storage buffer"},
    {"K2_entry_point",
     [](auto &m) {
       for (size_t i = 5; i < code(m).size(); i += code(m)[i] >> 16)
         if ((code(m)[i] & 0xffff) == 15)
           std::memcpy(&code(m)[i + 3], "menu", 4);
     },
     "no compute entry point 'main'"},
};

class VerifyRuleTest : public testing::TestWithParam<Rule> {};

TEST_P(VerifyRuleTest, isEnforced) {
  std::string message = verdictAfter(GetParam().change);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_NE(message.find("'x.heddle' is not a usable Heddle artifact"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Rules, VerifyRuleTest, testing::ValuesIn(rules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(VerifyTest, saysWhichKindAnotherFileIs) {
  auto messageOf = [](std::string_view text) {
    auto bytes = std::as_bytes(std::span(text));
    return Artifact::fromBytes({bytes.begin(), bytes.end()}, "x").message();
  };
  EXPECT_EQ(messageOf("GGUF\3............"),
            "'x' is a GGUF file and not a Heddle artifact. Compile it first: heddle-compile 'x' -o NAME.heddle");
  EXPECT_TRUE(messageOf("<!DOCTYPE html><html>").starts_with("'x' is a page of HTML and not the file itself"));
  EXPECT_TRUE(messageOf("d_model = 64").starts_with("'x' is another kind of file and not a Heddle artifact"));

  test::TemporaryFolder folder;
  EXPECT_EQ(Artifact::load(folder.path()).message(), "cannot read '" + folder.path().string() + "': it is a folder.");
  folder.write("config.json", "{}");
  EXPECT_TRUE(Artifact::load(folder.path())
                  .message()
                  .starts_with("'" + folder.path().string() + "' is a model's folder and not a Heddle artifact."));
}

TEST(VerifyTest, acceptsTheUnchangedArtifact) {
  EXPECT_EQ(verdict(buildAdder()), "accepted");
  EXPECT_EQ(verdictAfter([](auto &) {}), "accepted");
  EXPECT_EQ(verdict(buildAdder({.targets = {"vulkan:portable", "cuda:sm_80"}})), "accepted");
  EXPECT_EQ(verdict(buildAdder({.targets = {"cpu:x86-64-v3", "cpu:aarch64", "vulkan:portable"}})), "accepted");
  EXPECT_EQ(verdict(buildAdder({.targets = {"cuda:sm_80", "vulkan:portable", "cuda:sm_90a"}, .ownEntries = true})),
            "accepted");
}

TEST(VerifyTest, acceptsAnArenaInBlocks) {
  EXPECT_EQ(verdictAfter([](auto &m) { inBlocks(m); }), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) { halfWeight(m); }), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) { halfWeight(m).type->element = schema::ElementType::BF16; }), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) { halfWeight(m).panel = 8; }), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) { floatWeight(m).panel = 8; }), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) { inBlocks(m), m.schema_version = 1; }), "accepted"); // older builds run it, too
  EXPECT_EQ(verdictAfter([](auto &m) { inBlocks(m), collective(m).from[0] = arena(4096, 32); }), "accepted");
}

TEST(VerifyTest, acceptsSegmentsAndLimitsOfVariables) {
  EXPECT_EQ(verdictAfter([](auto &m) { test::addSegments(m), m.variables[3]->value_limit = 7; }), "accepted");
}

TEST(VerifyTest, unpacksCode) {
  auto pack = [](schema::ModuleT &m) {
    cuda(m).binary = {0x7f, 'E', 'L', 'F', 1};
    for (auto &target : m.targets)
      test::packCode(*target);
  };
  auto artifact = Artifact::fromBytes(test::changed(buildAdder(), pack), "x.heddle");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  const auto &targets = *(*artifact)->module().targets();
  EXPECT_TRUE(std::ranges::equal((*artifact)->code(*targets.Get(0), 0).words, test::testKernel("add")));
  EXPECT_TRUE(std::ranges::equal((*artifact)->code(*targets.Get(1), 0).words, test::testPtx("add")));
  EXPECT_TRUE(
      std::ranges::equal((*artifact)->code(*targets.Get(1), 0).binary, std::vector<uint8_t>{0x7f, 'E', 'L', 'F', 1}));
}

TEST(VerifyTest, acceptsTargetsThatPlanDifferently) {
  // The second target has its own kernels, another arena, and other offsets of the ports.
  auto differ = [](schema::ModuleT &m) {
    schema::TargetT &target = own(m);
    target.arena_bytes = 64000;
    target.kernels[0]->name = "other";
    target.entries[0]->inputs[0]->arena_offset = 40000;
    target.entries[0]->launches[0]->bindings[0] = schema::Binding(schema::Space::Arena, 0, 40000, 4000);
  };
  EXPECT_EQ(verdictAfter(differ), "accepted");
  EXPECT_EQ(verdictAfter([](auto &m) {
              schema::KernelT &kernel = cuda(m);
              kernel.binary = {0x7f, 'E', 'L', 'F', 1};
              kernel.lanes = 1024;
              kernel.shared_bytes = 227 << 10;
            }),
            "accepted");
}

} // namespace
} // namespace heddle
