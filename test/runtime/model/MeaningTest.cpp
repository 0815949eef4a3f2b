#include "runtime/artifact/Meaning.h"
#include "runtime/model/Description.h"

#include <gtest/gtest.h>

using namespace heddle;
using Json = nlohmann::json;

namespace {

Json describe() {
  Json meaning = {{"format", 1},
                  {"text", "layers 1, llama 1"},
                  {"architecture", "decoder"},
                  {"vocab_size", 32},
                  {"marks", {{"begin", 1}, {"end", 2}}},
                  {"parameters",
                   {{"heads", 8},
                    {"norm_epsilon", 1e-5},
                    {"rotary_base", 10000},
                    {"attention_window", 0},
                    {"attention_soft_cap", 0.0},
                    {"activation", "swish"},
                    {"query_key_norm", false}}}};
  return {{"meaning", meaning}, {"dropout", 0.1}, {"max_tokens", 64}, {"adapter", {{"rank", 8}}}};
}

TEST(Meaning, ChangesOfArithmeticAreNamed) {
  const Json before = describe();
  EXPECT_TRUE(differences(before, describe(), true).empty());
  auto differs = [&](const char *path, Json value) {
    Json now = describe();
    now["meaning"][Json::json_pointer(path)] = std::move(value);
    std::vector<std::string> found = differences(before, now, true);
    return found.size() == 1 ? found.front() : str(found.size(), " differences");
  };
  EXPECT_EQ(differs("/parameters/heads", 4), "parameters.heads (8, now 4)");
  EXPECT_EQ(differs("/parameters/norm_epsilon", 1e-6), "parameters.norm_epsilon (1e-05, now 1e-06)");
  EXPECT_EQ(differs("/parameters/rotary_base", 5e5), "parameters.rotary_base (10000, now 500000)");
  EXPECT_EQ(differs("/parameters/attention_window", 7), "parameters.attention_window (0, now 7)");
  EXPECT_EQ(differs("/parameters/attention_soft_cap", 50), "parameters.attention_soft_cap (0, now 50)");
  EXPECT_EQ(differs("/parameters/activation", "gelu"), R"(parameters.activation ("swish", now "gelu"))");
  EXPECT_EQ(differs("/parameters/query_key_norm", true), "parameters.query_key_norm (false, now true)");
  EXPECT_EQ(differs("/text", "layers 1, llama 2"), R"(text ("layers 1, llama 1", now "layers 1, llama 2"))");
  EXPECT_EQ(differs("/marks/end", 3), "marks.end (2, now 3)");
  EXPECT_EQ(differs("/vocab_size", 33), "vocab_size (32, now 33)");
  // Different spellings of a number are equal if they are equal as f32.
  EXPECT_EQ(differs("/parameters/norm_epsilon", double(1e-5f)), "0 differences");
  EXPECT_EQ(differs("/parameters/rotary_base", 10000.0), "0 differences");
}

TEST(Meaning, AnotherFormatIsNotCompared) {
  Json before = describe(), now = describe();
  now["meaning"]["format"] = 2;
  now["meaning"]["parameters"]["heads"] = "eight";
  EXPECT_FALSE(sayMeaning(before, now));
  EXPECT_TRUE(differences(before, now, true).empty()) << "the keys of before `meaning` are the same";
  before["meaning"].erase("format");
  EXPECT_FALSE(sayMeaning(before, before));
  EXPECT_TRUE(sayMeaning(now, now));
}

TEST(Meaning, TrainingAndSizesDoNotCount) {
  Json now = describe();
  now["dropout"] = 0.3;
  now["max_tokens"] = 128;
  EXPECT_TRUE(differences(describe(), now, true).empty());
  now["adapter"]["rank"] = 4;
  EXPECT_EQ(differences(describe(), now, true), std::vector<std::string>{R"(adapter ({"rank":8}, now {"rank":4}))"});
  now["adapter"] = {{"rank", 8}, {"dropout", 0.1}};
  EXPECT_TRUE(differences(describe(), now, true).empty());
}

TEST(Meaning, KeysThatAnOlderSideLacks) {
  Json older = describe(), now = describe();
  now["meaning"]["parameters"]["rotary_truncated"] = true; // as in older versions of Heddle
  now["meaning"]["parameters"]["new_key"] = 3;
  EXPECT_TRUE(differences(older, now, true).empty());
  now["meaning"]["parameters"]["rotary_truncated"] = false;
  EXPECT_EQ(differences(older, now, true), std::vector<std::string>{"parameters.rotary_truncated (true, now false)"});
  // A model whose sources have no end mark differs from models made before this key, whichever is older.
  older["meaning"]["parameters"]["rotary_truncated"] = now["meaning"]["parameters"]["rotary_truncated"];
  now["meaning"]["marks"]["source_end"] = false;
  EXPECT_EQ(differences(older, now, true), std::vector<std::string>{"marks.source_end (true, now false)"});
  now["meaning"]["parameters"].erase("new_key");
  EXPECT_EQ(differences(now, older, true), std::vector<std::string>{"marks.source_end (false, now true)"});
  now["meaning"]["marks"]["source_end"] = true;
  EXPECT_TRUE(differences(now, older, true).empty());
  // A checkpoint without a meaning is compared by the keys of its description.
  older.erase("meaning");
  older["d_model"] = 8;
  now["d_model"] = 16;
  EXPECT_FALSE(sayMeaning(older, now));
  EXPECT_EQ(differences(older, now, true), std::vector<std::string>{"d_model (8, now 16)"});
  now["d_model"] = 8;
  now["source_end"] = false;
  EXPECT_EQ(differences(older, now, true), std::vector<std::string>{"source_end (true, now false)"});
  now["source_end"] = true;
  EXPECT_TRUE(differences(older, now, true).empty());
}

} // namespace
