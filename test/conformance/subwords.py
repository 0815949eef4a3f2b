"""The vocabularies of GPT-2 and BERT, written from their published descriptions: byte pair encoding (Sennrich et al., 2016)
of bytes (Radford et al., 2019), and WordPiece (Wu et al., 2016) as BERT prepares its text (Devlin et al., 2019). Slow and
plain: an oracle. Learns small vocabularies, writes them as they are published, and tokenises."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

END = "<|endoftext|>"


# ---- GPT-2 -----------------------------------------------------------------------------------------------------------

def byte_alphabet():
    """A character for each byte: that of Latin-1 where it is visible, and the others from U+0100 on."""
    visible = set(range(33, 127)) | set(range(161, 173)) | set(range(174, 256))
    others = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) if byte in visible else chr(256 + others.index(byte)) for byte in range(256)}


def is_space(c):
    """White_Space, of which Python's isspace() has four control characters too many."""
    return c.isspace() and not "\x1c" <= c <= "\x1f"


def pretokenize(text):
    """'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"""
    letter = lambda c: unicodedata.category(c)[0] == "L"
    number = lambda c: unicodedata.category(c)[0] == "N"
    other = lambda c: not (is_space(c) or letter(c) or number(c))

    def run(start, accepts):
        end = start
        while end < len(text) and accepts(text[end]):
            end += 1
        return end

    def match(i):
        for contraction in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
            if text.startswith(contraction, i):
                return i + len(contraction)
        for accepts in (letter, number, other):
            start = i + 1 if text[i] == " " else i
            for begin in (start, i):
                end = run(begin, accepts)
                if end > begin:
                    return end
        end = run(i, is_space)
        for last in range(end, i, -1):  # \s+(?!\S) gives back until what follows is space, or nothing does
            if last == len(text) or is_space(text[last]):
                return last
        return end

    words, i = [], 0
    while i < len(text):
        end = match(i)
        words.append(text[i:end])
        i = end
    return words


class BytePairs:
    def __init__(self, vocabulary, merges):
        self.vocabulary, self.merges = vocabulary, merges
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.alphabet = byte_alphabet()
        self.bytes = {c: byte for byte, c in self.alphabet.items()}
        self.pieces = {number: piece for piece, number in vocabulary.items()}

    @classmethod
    def learn(cls, text, merges):
        """The most frequent pair of neighbours becomes a piece, again and again; numbers as in GPT-2, the end mark last."""
        alphabet = byte_alphabet()
        words = Counter(tuple(alphabet[b] for b in word.encode()) for word in pretokenize(text))
        learnt = []
        while len(learnt) < merges:
            pairs = Counter()
            for word, count in words.items():
                for pair in zip(word, word[1:]):
                    pairs[pair] += count
            if not pairs:
                break
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            learnt.append(best)
            words = Counter({cls.apply(word, best): count for word, count in words.items()})
        pieces = [alphabet[b] for b in sorted(alphabet, key=lambda b: alphabet[b])]
        pieces += list(dict.fromkeys(a + b for a, b in learnt)) + [END]
        return cls({piece: number for number, piece in enumerate(pieces)}, learnt)

    @staticmethod
    def apply(word, pair):
        merged, i = [], 0
        while i < len(word):
            if tuple(word[i:i + 2]) == pair:
                merged.append(word[i] + word[i + 1])
                i += 2
            else:
                merged.append(word[i])
                i += 1
        return tuple(merged)

    def write(self, folder):
        (Path(folder) / "vocab.json").write_text(json.dumps(self.vocabulary))
        lines = ["#version: 0.2"] + [f"{a} {b}" for a, b in self.merges]
        (Path(folder) / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def encode(self, text):
        ids = []
        for i, part in enumerate(text.split(END)):
            if i != 0:
                ids.append(self.vocabulary[END])
            for text_word in pretokenize(part):
                word = tuple(self.alphabet[b] for b in text_word.encode())
                while True:
                    pairs = [pair for pair in zip(word, word[1:]) if pair in self.ranks]
                    if not pairs:
                        break
                    word = self.apply(word, min(pairs, key=self.ranks.get))
                ids += [self.vocabulary[piece] for piece in word]
        return ids

    def decode(self, ids):
        return b"".join(bytes(self.bytes[c] for c in self.pieces[i]) for i in ids)


# ---- BERT ------------------------------------------------------------------------------------------------------------

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
IDEOGRAPHS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]


class WordPieces:
    def __init__(self, pieces, lower=True, strip=None, ideographs=True):
        self.pieces = pieces
        self.ids = {piece: number for number, piece in enumerate(pieces)}
        self.lower, self.ideographs = lower, ideographs
        self.strip = lower if strip is None else strip
        self.settings = {"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": ideographs}

    @classmethod
    def learn(cls, text, count, **settings):
        """Characters, alone and within words, and the most frequent beginnings, ends and middles of words."""
        basic = cls([], **settings)
        parts, characters = Counter(), set()
        for word in basic.words(text):
            characters |= set(word)
            for i in range(len(word)):
                for j in range(i + 2, min(len(word), i + 6) + 1):
                    parts[("##" if i else "") + word[i:j]] += 1
        pieces = SPECIAL + sorted(characters) + ["##" + c for c in sorted(characters)]
        pieces += [piece for piece, _ in sorted(parts.items(), key=lambda item: (-item[1], item[0]))]
        return cls(list(dict.fromkeys(pieces))[:count], **settings)

    def write(self, folder, config=True):
        (Path(folder) / "vocab.txt").write_text("".join(piece + "\n" for piece in self.pieces), encoding="utf-8")
        if config:
            (Path(folder) / "tokenizer_config.json").write_text(json.dumps(self.settings))

    def words(self, text):
        clean = ""
        for c in text:
            if c in "\t\n\r" or unicodedata.category(c) == "Zs":
                clean += " "
            elif c not in "\0\ufffd" and unicodedata.category(c)[0] != "C":
                wide = self.ideographs and any(low <= ord(c) <= high for low, high in IDEOGRAPHS)
                clean += f" {c} " if wide else c
        for word in clean.split():
            if self.lower:
                word = word.lower()
            if self.strip:
                word = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
            part = ""
            for c in word:
                ascii_mark = c.isascii() and not c.isalnum()
                if ascii_mark or unicodedata.category(c)[0] == "P":
                    if part:
                        yield part
                    yield c
                    part = ""
                else:
                    part += c
            if part:
                yield part

    def word(self, word):
        if len(word) > 100:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            ends = [end for end in range(len(word), start, -1) if ("##" if start else "") + word[start:end] in self.ids]
            if not ends:
                return ["[UNK]"]
            pieces.append(("##" if start else "") + word[start:ends[0]])
            start = ends[0]
        return pieces

    def encode(self, text):
        parts = [text]
        for special in SPECIAL:
            cut = []
            for part in parts:
                if part in SPECIAL:
                    cut.append(part)
                    continue
                for i, piece in enumerate(part.split(special)):
                    cut += [special, piece] if i else [piece]
            parts = cut
        pieces = ["[CLS]"]
        for part in parts:
            pieces += [part] if part in SPECIAL else [piece for word in self.words(part) for piece in self.word(word)]
        return [self.ids[piece] for piece in pieces + ["[SEP]"]]
