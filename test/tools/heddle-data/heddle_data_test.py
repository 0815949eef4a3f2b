"""Tests what heddle-data draws and scores: heddle_data_test.py SOURCE"""

import collections
import functools
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(), "tools", "heddle-data")))
from brackets import BracketScore, parse_tree
from drawing import SplitMix64
from number_pairs import draw_numbers, largest_held_out, number_files
from number_words import english_writings, german
from parses import draw_sentence, parse_files
from prose import prose_files
from stories import draw_story, is_right


@functools.cache
def numbers(train=40_000, valid=500, test=500, maximum=999_999, seed=1):
    return draw_numbers(train, valid, test, maximum, seed)


class NumberWords(unittest.TestCase):
    def test_english(self):
        for number, words in {
            0: "zero", 10: "ten", 15: "fifteen", 20: "twenty", 40: "forty", 99: "ninety-nine", 100: "one hundred",
            111: "one hundred eleven", 234: "two hundred thirty-four", 1_000: "one thousand", 1_001: "one thousand one",
            80_018: "eighty thousand eighteen", 999_999: "nine hundred ninety-nine thousand nine hundred ninety-nine",
            1_000_000: "one million", 2_000_300: "two million three hundred",
        }.items():
            self.assertEqual(english_writings(number)[0], words)

    def test_german(self):
        for number, words in {
            0: "null", 1: "eins", 6: "sechs", 7: "sieben", 11: "elf", 12: "zwölf", 16: "sechzehn", 17: "siebzehn", 20: "zwanzig",
            21: "einundzwanzig", 30: "dreißig", 60: "sechzig", 66: "sechsundsechzig", 70: "siebzig", 77: "siebenundsiebzig",
            100: "einhundert", 101: "einhunderteins", 121: "einhunderteinundzwanzig", 234: "zweihundertvierunddreißig",
            600: "sechshundert", 1_000: "eintausend", 1_001: "eintausendeins", 21_000: "einundzwanzigtausend",
            101_000: "einhunderteintausend", 101_101: "einhunderteintausendeinhunderteins",
            716_817: "siebenhundertsechzehntausendachthundertsiebzehn", 1_000_000: "eine Million", 1_000_001: "eine Million eins",
            2_000_000: "zwei Millionen", 101_000_000: "einhunderteine Millionen", 3_021_001: "drei Millionen einundzwanzigtausendeins",
        }.items():
            self.assertEqual(german(number), words)

    def test_ways_of_writing(self):
        for number, writings in {
            0: ["zero"],
            1: ["one"],
            17: ["seventeen"],
            30: ["thirty"],
            21: ["twenty-one", "twenty one"],
            100: ["one hundred", "a hundred"],
            110: ["one hundred ten", "a hundred ten", "one hundred and ten", "a hundred and ten", "one ten"],
            402: ["four hundred two", "four hundred and two", "four oh two"],
            1_000: ["one thousand", "a thousand"],
            1_200: ["one thousand two hundred", "a thousand two hundred", "twelve hundred"],
            2_000: ["two thousand"],
            2_005: ["two thousand five", "two thousand and five", "twenty oh five"],
            7_600: ["seven thousand six hundred", "seventy-six hundred", "seventy six hundred"],
            21_000: ["twenty-one thousand", "twenty one thousand"],
            100_000: ["one hundred thousand", "a hundred thousand"],
            205_006: ["two hundred five thousand six", "two hundred and five thousand six", "two hundred five thousand and six",
                      "two hundred and five thousand and six"],
            1_000_001: ["one million one", "a million one", "one million and one", "a million and one"],
        }.items():
            self.assertEqual(english_writings(number), writings)
        for number, text in ((1_984, "nineteen eighty-four"), (1_905, "nineteen oh five"), (1_905, "nineteen hundred and five"),
                             (2_026, "twenty twenty-six"), (2_026, "two thousand and twenty-six"),
                             (105_006, "a hundred and five thousand and six"),
                             (111_111, "one hundred and eleven thousand one hundred eleven")):
            self.assertEqual(english_writings(number).count(text), 1, text)

    def test_every_text_means_one_number(self):
        """Below 10,000 every way of writing occurs; larger numbers only combine them."""
        some = [*range(20_000), *range(20_000, 1_000_000, 397)]
        english = collections.Counter(text for number in some for text in english_writings(number))
        self.assertEqual(english.most_common(1)[0][1], 1)
        self.assertEqual(len({german(number) for number in some}), len(some))

    def test_german_shape(self):
        """ "eins" occurs only at the end, and a German number below a million is one word."""
        for number in range(0, 1_000_000, 37):
            words = german(number)
            self.assertNotIn(" ", words)
            self.assertNotIn("eins", words[:-4])
            self.assertEqual(words.endswith("eins"), number % 100 == 1, words)


class NumberPairs(unittest.TestCase):
    def test_held_out_numbers_are_in_no_other_part(self):
        parts = {name: [number for number, _ in part] for name, part in numbers(50_000, 300, 300, 5_999, 3).items()}
        held = parts["valid"] + parts["test"]
        self.assertEqual([len(parts["valid"]), len(set(held))], [300, 600])
        self.assertFalse(set(held) & set(parts["train"]))
        self.assertLessEqual(max(held + parts["train"]), 5_999)

    def test_held_out_numbers_are_in_no_training_text(self):
        parts = numbers(30_000)
        held = {text for name in ("valid", "test") for number, _ in parts[name] for text in english_writings(number)}
        self.assertFalse(held & {text for _, text in parts["train"]})

    def test_magnitudes_are_even(self):
        parts = {name: collections.Counter(len(str(number)) for number, _ in part) for name, part in numbers().items()}
        for count in parts["train"].values():
            self.assertAlmostEqual(count, 6_667, delta=350)
        self.assertEqual(parts["valid"], {3: 125, 4: 125, 5: 125, 6: 125})
        self.assertEqual(parts["test"], parts["valid"])

    def test_what_readers_try_first_is_trained(self):
        train = {number for number, _ in numbers(seed=5)["train"]}
        self.assertLessEqual(set(range(100)), train)
        for unit in (100, 1_000, 10_000, 100_000):
            self.assertLessEqual(set(range(unit, 10 * unit, unit)), train)

    def test_numbers_with_zeros_are_trained(self):
        """Among all five-digit numbers, only 4 in 1,000 have at most two non-zero digits."""
        train = [number for number, _ in numbers()["train"]]
        self.assertGreater(sum(number >= 10_000 and len(str(number).replace("0", "")) <= 2 for number in train), 1_000)

    def test_every_way_of_writing_is_drawn(self):
        texts = [text for _, text in numbers()["train"]]
        counts = [sum(words in text for text in texts)
                  for words in (" and ", "a hundred", "a thousand", "teen hundred", " oh ", "twenty-", "twenty one")]
        self.assertAlmostEqual(counts[0], 12_000, delta=2_000)
        for count, least in zip(counts[1:], (500, 100, 100, 300, 1_000, 100)):
            self.assertGreater(count, least)

    def test_seeds_decide(self):
        self.assertEqual(numbers(50, 5, 5, seed=9), draw_numbers(50, 5, 5, 999_999, 9))
        self.assertNotEqual(numbers(50, 5, 5, seed=9), numbers(50, 5, 5, seed=10))

    def test_files_are_pairs_of_languages(self):
        files, train = number_files(30, 2, 3), numbers(30, 2, 3)["train"]
        self.assertEqual(files["train.en"], [text for _, text in train])
        self.assertEqual(files["train.de"], [german(number) for number, _ in train])
        self.assertEqual(list(files), ["train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de"])

    def test_holds_out_a_sixth(self):
        self.assertEqual(largest_held_out(99), 0)
        self.assertEqual(largest_held_out(999), 148)  # of 900 numbers, 9 of them whole hundreds
        self.assertEqual(len(numbers(9, 148, 148, 999)["test"]), 148)
        with self.assertRaisesRegex(ValueError, "--test asks for 149 numbers, but of 0 to 999 only 148"):
            number_files(90, 148, 149, 999)


class Brackets(unittest.TestCase):
    def brackets(self, line):
        return sorted(parse_tree(line)[0].elements())

    def test_spans_are_of_words(self):
        line = "(S (NP DT NN ) (VP VBZ ) . )"
        self.assertEqual(self.brackets(line), [("NP", 0, 2), ("S", 0, 3), ("VP", 2, 3)])
        self.assertEqual(parse_tree(line)[1], 3, "punctuation is no word")
        self.assertEqual(parse_tree("(S (NP DT NN )NP (VP VBZ )VP . )S"), parse_tree(line))
        self.assertEqual(parse_tree("(S(NP DT NN)(VP VBZ) .)"), parse_tree(line))

    def test_rules_of_evalb(self):
        self.assertEqual(self.brackets("(TOP (S (NP-SBJ NN ) (NP=2 NN ) ) )"), [("NP", 0, 1), ("NP", 1, 2), ("S", 0, 2)])
        self.assertEqual(self.brackets("(S (PRT RP ) )"), self.brackets("(S (ADVP RP ) )"))
        self.assertEqual(self.brackets("(S (X , : ) NN `` '' )"), [("S", 0, 1)], "a bracket of no word")
        self.assertEqual(self.brackets("(NP (NP NN ) )"), [("NP", 0, 1), ("NP", 0, 1)], "each counts")

    def test_what_is_no_tree(self):
        for line in ("", "NN", "(S", "(S NN", "(S NN ) )", "(S NN ) (S NN )", "(S )", ") (S NN )", "(S (NP ) NN )",
                     "(S (NP NN )VP )S", "(" * 1_000_000):
            self.assertIsNone(parse_tree(line), line[:20])

    def test_score(self):
        score = BracketScore()
        reference = parse_tree("(S (NP DT NN ) (VP VBZ (NP NNP ) ) . )")  # 4 brackets
        score.add(reference, reference)
        self.assertEqual((score.f1(), score.complete()), (1, 1))
        # S and VP are right, one NP is in the wrong place, and one has another label.
        score.add(reference, parse_tree("(S (NP DT ) NN (VP VBZ (PP NNP ) ) . )"))
        self.assertEqual((score.precision(), score.recall()), (6 / 8, 6 / 8))
        score.add(reference, parse_tree("(S (NP DT NN ) )"))  # too few words
        score.add(reference, parse_tree("(S ("))
        self.assertEqual((score.precision(), score.recall(), score.f1()), (6 / 8, 6 / 16, 2 * 6 / 24))
        self.assertEqual((score.unusable, score.complete()), (2, 0.25))

    def test_a_bracket_matches_once(self):
        score = BracketScore()
        score.add(parse_tree("(NP (NP NN ) )"), parse_tree("(NP NN )"))
        self.assertEqual((score.precision(), score.recall()), (1, 0.5))


class Parses(unittest.TestCase):
    def test_trees_fit_their_sentences(self):
        random = SplitMix64(3)
        for _ in range(2_000):
            words, symbols = draw_sentence(random, 20)
            tree = parse_tree(" ".join(symbols))
            self.assertIsNotNone(tree, symbols)
            self.assertLessEqual(len(words), 20)
            self.assertEqual(tree[1], sum(word not in ".," for word in words), words)

    def test_sentences_are_of_one_part(self):
        files = parse_files(300, 50, 70)
        sentences = [line for name, lines in files.items() if name.endswith(".txt") for line in lines]
        self.assertEqual((len(sentences), len(set(sentences))), (420, 420))
        self.assertEqual(set(files), {"train.txt", "train.tree", "valid.txt", "valid.tree", "test.txt", "test.tree"})
        self.assertEqual(parse_files(300, 50, 70), files, "the same options, the same files")
        with unittest.mock.patch("parses.MOST_REPETITIONS", 100), self.assertRaisesRegex(ValueError, "too few sentences"):
            parse_files(1_000_000, 50, 70, longest=3)


class Prose(unittest.TestCase):
    def test_paragraphs_are_held_out(self):
        texts = {name: "\n".join(lines).split("\n\n") for name, lines in prose_files().items()}
        paragraphs = {name: [text.strip() for text in text_of if text.strip()] for name, text_of in texts.items()}
        self.assertGreater(len(paragraphs["prose.txt"]), 1000)
        self.assertAlmostEqual(len(paragraphs["prose.txt"]) / len(paragraphs["valid.txt"]), 19, delta=0.3)
        self.assertIn("Writes the data of the demos and the tests. The same options write the same files on any machine.",
                      paragraphs["prose.txt"] + paragraphs["valid.txt"])
        self.assertTrue(all(len(text) >= 20 for text in paragraphs["valid.txt"]))


class Stories(unittest.TestCase):
    def test_drawn_stories_are_right(self):
        random, kinds = SplitMix64(3), set()
        for i in range(2_000):
            story = draw_story(random, i % 2 == 0)
            self.assertEqual(story.is_held_out(), i % 2 == 0)
            for past in (False, True):
                text = story.beginning() + story.continuation(past)
                self.assertEqual([is_right(text, style) for style in (past, not past)], [True, False], text)
            kinds.add((story.is_given, story.is_liked, story.tells_size))
        self.assertEqual(len(kinds), 8)

    def test_a_story_agrees_with_itself(self):
        right = ("Tom has a red ball. The red ball is big. Tom goes to the park. There Tom meets Ann. Ann likes the red ball. "
                 "Tom gives the red ball to Ann. Now Ann has the red ball.")
        self.assertTrue(is_right(right, past=False))
        self.assertTrue(is_right("Tom has a red ball. Tom went to the park. There Tom met Ann. Tom hid the red ball. "
                                 "Then Tom had the red ball.", past=True))
        for before, after in (("Now Ann has", "Now Tom has"), ("Now Ann has the red", "Now Ann has the blue"),
                              ("The red ball is big. ", "The red hat is big. "), ("meets Ann", "meets Tom"),
                              ("to the park", "to the moon"), ("the red ball.", "the red ball. Tom"), ("There Tom", "There Ann"),
                              ("Tom has", "Tim has"), ("gives", "gave"), ("Now Ann has the red ball.", "")):
            self.assertFalse(is_right(after.join(right.rsplit(before, 1)), past=False), after)
        self.assertFalse(is_right("", past=False))


unittest.main()
