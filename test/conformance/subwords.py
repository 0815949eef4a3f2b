"""The vocabularies of GPT-2 and BERT, written from their published descriptions: byte pair encoding (Sennrich et al.,
2016) of bytes (Radford et al., 2019), and WordPiece (Wu et al., 2016) with BERT's text preparation (Devlin et al.,
2019). An oracle, slow and simple. It learns small vocabularies, writes them in the published format, and tokenizes."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

END = "<|endoftext|>"


# ---- GPT-2 -----------------------------------------------------------------------------------------------------------

def byte_alphabet():
    """Returns a character for each byte: Latin-1's if it is visible, otherwise one from U+0100 on."""
    visible = set(range(33, 127)) | set(range(161, 173)) | set(range(174, 256))
    others = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) if byte in visible else chr(256 + others.index(byte)) for byte in range(256)}


def is_space(c):
    """Returns true for White_Space; Python's isspace() also accepts four control characters."""
    return c.isspace() and not "\x1c" <= c <= "\x1f"


def cut(text, match):
    """Cuts the text into words; `match` returns the end of the word that begins at a position."""
    words, i = [], 0
    while i < len(text):
        end = match(i)
        words.append(text[i:end])
        i = end
    return words


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
        for last in range(end, i, -1):  # \s+(?!\S) backtracks until a space follows, or nothing
            if last == len(text) or is_space(text[last]):
                return last
        return end

    return cut(text, match)


def pretokenize_digits(text):
    """Makes each number a word, and cuts the text between numbers like GPT-2."""
    words, begin = [], 0
    for i, c in enumerate(text):
        if unicodedata.category(c)[0] == "N":
            words += pretokenize(text[begin:i]) + [c]
            begin = i + 1
    return words + pretokenize(text[begin:])


def pretokenize_llama(text, numbers):
    """(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|
    \\s+(?!\\S)|\\s+, tried one after the other, with their backtracking written out."""
    kind = lambda c: unicodedata.category(c)[0]
    plain = lambda c: not is_space(c) and kind(c) not in "LN"

    def run(start, accepts, most=10 ** 9):
        end = start
        while end < len(text) and end - start < most and accepts(text[end]):
            end += 1
        return end

    def match(i):
        for contraction in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
            if text[i:i + len(contraction)].lower() == contraction and text[i:i + len(contraction)].isascii():
                return i + len(contraction)
        for begin in ((i + 1, i) if text[i] not in "\r\n" and kind(text[i]) not in "LN" else (i,)):
            end = run(begin, lambda c: kind(c) == "L")
            if end > begin:
                return end
        end = run(i, lambda c: kind(c) == "N", numbers)
        if end > i:
            return end
        for begin in ((i + 1, i) if text[i] == " " else (i,)):
            end = run(begin, plain)
            if end > begin:
                return run(end, lambda c: c in "\r\n")
        end = run(i, is_space)
        for start in range(end, i - 1, -1):  # \s* backtracks until a new line follows
            last = run(start, lambda c: c in "\r\n")
            if last > start:
                return last
        for last in range(end, i, -1):
            if last == len(text) or is_space(text[last]):
                return last
        return end

    return cut(text, match)


LLAMA_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                 r"|\s+(?!\S)|\s+")
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def split_by(pattern):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": LLAMA_PATTERN % pattern}, "behavior": "Isolated", "invert": False},
        {**BYTES, "use_regex": False}]}


# How vocabularies in tokenizer.json cut words: the function, and its form in the file.
RULES = {
    "gpt2": (pretokenize, {**BYTES, "use_regex": True}),
    "smollm": (pretokenize_digits, {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}]}),
    "llama3": (lambda text: pretokenize_llama(text, 3), split_by(r"\p{N}{1,3}")),
    "qwen2": (lambda text: pretokenize_llama(text, 1), split_by(r"\p{N}")),
}


def merge(pieces, ranks):
    """While some pair of neighbours has a merge, merges the leftmost pair of the first such merge."""
    pieces = list(pieces)
    while True:
        pairs = [(ranks[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in ranks]
        if not pairs:
            return pieces
        i = min(pairs)[1]
        pieces[i:i + 2] = [pieces[i] + pieces[i + 1]]


class BytePairs:
    cut = staticmethod(pretokenize)
    added, whole_words, compose = (END,), False, False

    def __init__(self, vocabulary, merges):
        self.vocabulary, self.merges = vocabulary, merges
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.alphabet = byte_alphabet()
        self.bytes = {c: byte for byte, c in self.alphabet.items()}
        self.pieces = {number: piece for piece, number in vocabulary.items()}

    @classmethod
    def learn(cls, text, merges):
        """Repeatedly makes the most frequent pair of neighbours a piece. Numbers are as in GPT-2, with the end mark
        last."""
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

    def write_json(self, folder, rule, added, whole_words=False, compose=False, pairs=False):
        """Returns the tokenizer.json with added tokens after the others. From here on encode() uses that vocabulary."""
        self.cut, cutter = RULES[rule]
        self.added, self.whole_words, self.compose = (*added, END), whole_words, compose
        tokens = [{"id": self.vocabulary[END], "content": END, "special": True, "normalized": False}]
        base = dict(self.vocabulary)
        del base[END]
        for content in added:
            self.vocabulary[content] = len(self.vocabulary)
            self.pieces[self.vocabulary[content]] = content
            tokens.append({"id": self.vocabulary[content], "content": content, "special": False, "single_word": False,
                           "lstrip": False, "rstrip": False, "normalized": False})
        merges = [[a, b] if pairs else f"{a} {b}" for a, b in self.merges]
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                 "fuse_unk": False, "byte_fallback": False, "ignore_merges": whole_words, "vocab": base, "merges": merges}
        whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
                 "normalizer": {"type": "NFC"} if compose else None, "pre_tokenizer": cutter, "post_processor": None,
                 "decoder": {"type": "ByteLevel"}, "model": model}
        (Path(folder) / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": END}}))

    def split_at_added(self, text):
        """Yields the parts between added tokens (the longest if several begin at a place), and those tokens by
        number."""
        begin = place = 0
        while place < len(text):
            here = max((token for token in self.added if text.startswith(token, place)), key=len, default=None)
            if here is None:
                place += 1
                continue
            yield text[begin:place]
            yield self.vocabulary[here]
            begin = place = place + len(here)
        yield text[begin:]

    def encode(self, text):
        ids = []
        for part in self.split_at_added(text):
            if isinstance(part, int):
                ids.append(part)
                continue
            for text_word in self.cut(unicodedata.normalize("NFC", part) if self.compose else part):
                word = tuple(self.alphabet[b] for b in text_word.encode())
                if self.whole_words and "".join(word) in self.vocabulary:
                    ids.append(self.vocabulary["".join(word)])
                    continue
                ids += [self.vocabulary[piece] for piece in merge(word, self.ranks)]
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
        """Learns characters, alone and within words, and the most frequent beginnings, ends and middles of words."""
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
