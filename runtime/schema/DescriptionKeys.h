// The columns of DescriptionKeys.def, and what the runtime needs of its rows.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::schema {

enum class KeyType : uint8_t { Text, Flag, Whole, Number };

// The effect of a key. Weights fit a model only if both agree in the keys of structure and tokens.
enum class KeyRole : uint8_t {
  Structure,   // what the model computes; a model text declares parameters instead
  Regularizer, // a part of the structure that acts only in training
  Tokens,      // how many tokens there are, and the marks among them
  Setting      // how the model is trained, and how much a call holds
};

// Whether a description without a model text must give the key.
inline constexpr bool kRequired = true, kOptional = false;

// The values that a number may have; `text` follows "a number" or "a whole number".
struct NumberRange {
  double low, high;
  std::string_view text;
};

inline constexpr double kBelowOne = 1 - 0x1p-53;

inline constexpr NumberRange kAny{0, 0, ""};
inline constexpr NumberRange kRate{0, kBelowOne, "from 0 to below 1"};
inline constexpr NumberRange kWidth{1, 65536, "from 1 to 65536"};
inline constexpr NumberRange kLayers{0, 512, "from 0 to 512"};
inline constexpr NumberRange kTypes{0, 65536, "from 0 to 65536"};
// The smallest vocabulary holds the three special tokens and one other; token ids are 32-bit and signed.
inline constexpr NumberRange kVocabulary{4, 1 << 24, "from 4 to 16777216"};
inline constexpr NumberRange kTokens{1, 1 << 20, "from 1 to 1048576"};
inline constexpr NumberRange kWindow{0, 1 << 20, "from 0 to 1048576"};
inline constexpr NumberRange kSequences{1, 65535, "from 1 to 65535"}; // attention has a row of workgroups for each
inline constexpr NumberRange kBeam{1, 64, "from 1 to 64"};
inline constexpr NumberRange kSteps{1, 1 << 30, "from 1 to 1073741824"};
inline constexpr NumberRange kFallSteps{0, 1 << 30, "from 0 to 1073741824"};
inline constexpr NumberRange kEpsilon{1e-30, 1, "above 0 and at most 1"};
inline constexpr NumberRange kLearningRate{0, 1000, "from 0 to 1000"};
inline constexpr NumberRange kNorm{0, 1e30, "from 0 to 1e30"};
inline constexpr NumberRange kLabels{1, 1 << 24, "from 1 to 16777216"};
inline constexpr NumberRange kExtent{1, 1 << 24, "from 1 to 16777216"};
inline constexpr NumberRange kId{0, 2147483647, "from 0 to 2147483647"};

struct DescriptionKey {
  std::string_view name;
  KeyType type;
  KeyRole role;
  NumberRange range;
};

// All keys of a description in an artifact.
inline constexpr DescriptionKey kDescriptionKeys[] = {
#define HEDDLE_KEY(type, member, name, initial, needed, role, range, ...) {name, KeyType::type, KeyRole::role, range},
#define HEDDLE_DERIVED_KEY(name, role, range) {name, KeyType::Whole, KeyRole::role, range},
#include "runtime/schema/DescriptionKeys.def"
};

} // namespace heddle::schema
