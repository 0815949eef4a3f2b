#include "runtime/model/AnswerText.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

// Each token stands for the text of its number.
class Pieces final : public TextCodec {
public:
  explicit Pieces(std::vector<std::string> texts) : texts(std::move(texts)) {}
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (int32_t id : ids)
      text += texts[size_t(id)];
    return text;
  }
  std::string piece(int32_t id) const override { return texts[size_t(id)]; }
  int32_t pieces() const override { return int32_t(texts.size()); }
  const std::vector<TokenizerFile> &files() const override { return none; }

private:
  std::vector<std::string> texts;
  std::vector<TokenizerFile> none;
};

struct Streamed {
  std::vector<std::string> pieces;
  bool isStopped;
};

Streamed stream(const std::vector<std::string> &texts, std::vector<std::string> stops) {
  Pieces vocabulary(texts);
  AnswerText answer(vocabulary, {}, std::move(stops));
  std::vector<int32_t> tokens;
  Streamed streamed{};
  for (size_t i = 0; i < texts.size() && !answer.isStopped(); ++i) {
    tokens.push_back(int32_t(i));
    answer.add(tokens);
    streamed.pieces.push_back(answer.take());
  }
  answer.finish(tokens);
  streamed.pieces.push_back(answer.take());
  streamed.isStopped = answer.isStopped();
  return streamed;
}

using Texts = std::vector<std::string>;

TEST(AnswerText, CharactersAreWhole) {
  EXPECT_EQ(stream({"a\xC3", "\xA4z", "\xE2\x82", "\xAC"}, {}).pieces,
            (Texts{"a", "\xC3\xA4z", "", "\xE2\x82\xAC", ""}));
  EXPECT_EQ(stream({"a\xE2", "\x82"}, {}).pieces, (Texts{"a", "", "\xEF\xBF\xBD"}));
  EXPECT_EQ(stream({"\xFF", "b"}, {}).pieces, (Texts{"\xEF\xBF\xBD", "b", ""}));
  EXPECT_EQ(stream({"\xEF\xBF\xBD", "b"}, {}).pieces, (Texts{"",
                                                             "\xEF\xBF\xBD"
                                                             "b",
                                                             ""}));
}

TEST(AnswerText, StopsAreFoundAcrossTokens) {
  Streamed streamed = stream({"one", " st", "op", "after"}, {"stop", "zz"});
  EXPECT_EQ(streamed.pieces, (Texts{"one", " ", "", ""}));
  EXPECT_TRUE(streamed.isStopped);
  streamed = stream({"one st", "ill"}, {"stop"});
  EXPECT_EQ(streamed.pieces, (Texts{"one ", "still", ""}));
  EXPECT_FALSE(streamed.isStopped);
  EXPECT_EQ(stream({"a st"}, {"stop"}).pieces, (Texts{"a ", "st"}));
  EXPECT_EQ(stream({"a stop b sto"}, {"sto", "stop b"}).pieces, (Texts{"a ", ""}));
}

} // namespace
