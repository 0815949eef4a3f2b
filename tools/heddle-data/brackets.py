"""Labelled bracket scores by the rules of EVALB with Collins's parameters: brackets of word tags, of TOP and of
punctuation do not count, punctuation is no word, ADVP and PRT are one label, and the part of a label after a hyphen or an
equals sign is ignored."""

import collections
import re

DELETED = {"TOP", "-NONE-", ",", ":", "``", "''", "."}


def _plain(label):
    plain = label if label.startswith("-") else re.split("[-=]", label)[0]
    return "ADVP" if plain == "PRT" else plain


def parse_tree(line):
    """Parses "(S (NP DT NN )NP (VP VBZ )VP . )S", with a tag for each word; closing brackets need no label. Returns the
    counts of brackets, each a label with the first word and the word after the last, and the number of words. Returns None
    if brackets do not match or are empty, or if the line is not exactly one tree."""
    brackets, words, opened = collections.Counter(), 0, []
    tokens = re.findall(r"[()]?[^\s()]+|[()]", line)
    for i, token in enumerate(tokens):
        if token[0] == "(":
            if i > 0 and not opened:
                return None
            opened.append((token[1:], words))
        elif not opened:
            return None
        elif token[0] != ")":
            words += token not in DELETED
        else:
            label, begin = opened.pop()
            if tokens[i - 1][0] == "(" or token[1:] not in ("", label):
                return None
            if words > begin and label and label not in DELETED:
                brackets[_plain(label), begin, words] += 1
    return None if opened or not tokens else (brackets, words)


class BracketScore:
    def __init__(self):
        self.matched = self.proposed = self.expected = self.completely = self.unusable = self.sentences = 0

    def add(self, reference, hypothesis):
        """A hypothesis that is no tree, or has another number of words than the reference, counts as a tree without
        brackets. (EVALB leaves such sentences out, which would favour a parser that fails.)"""
        self.sentences += 1
        self.expected += reference[0].total()
        if hypothesis is None or hypothesis[1] != reference[1]:
            self.unusable += 1
            return
        self.matched += (reference[0] & hypothesis[0]).total()
        self.proposed += hypothesis[0].total()
        self.completely += reference[0] == hypothesis[0]

    def precision(self):  # from 0 to 1
        return self.matched / max(self.proposed, 1)

    def recall(self):
        return self.matched / max(self.expected, 1)

    def f1(self):
        return 2 * self.matched / max(self.proposed + self.expected, 1)

    def complete(self):
        return self.completely / max(self.sentences, 1)
