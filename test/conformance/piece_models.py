"""SentencePiece vocabularies in tokenizer.json, written from their published descriptions: byte pair encoding of
characters with a byte fallback, unigram models (Kudo, 2018), and the steps around them. An oracle, slow and simple. It
learns small vocabularies, writes them in the published format, and tokenizes."""

import base64
import json
import math
import re
import struct
import unicodedata
from collections import Counter
from pathlib import Path

import subwords

MARK = "▁"
MARKS = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


# ---- Steps: each is a function, and its form in the file
# ----------------------------------------------------------------

def replace(text, by):
    return lambda whole: whole.replace(text, by), {"type": "Replace", "pattern": {"String": text}, "content": by}


def prepend(text):
    return lambda whole: text + whole if whole else whole, {"type": "Prepend", "prepend": text}


def is_space(c):
    return subwords.is_space(c)


def strip(left, right):
    def apply(text):
        while left and text and is_space(text[0]):
            text = text[1:]
        while right and text and is_space(text[-1]):
            text = text[:-1]
        return text
    return apply, {"type": "Strip", "strip_left": left, "strip_right": right}


SPACES = lambda text: re.sub(" {2,}", " ", text), {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
NFC, NFKC = [(lambda text, form=form: unicodedata.normalize(form, text), {"type": form}) for form in ("NFC", "NFKC")]
LOWER = lambda text: "".join(c.lower() for c in text), {"type": "Lowercase"}


def characters(table):
    """SentencePiece's character table. Clusters are those that the test needs: \\n joins \\r, and marks join anything
    but controls."""
    keys = sorted(table, key=len)

    def find(text):
        return next((table[key] for key in keys if text.startswith(key)), None)

    def apply(text):
        clusters = re.findall("\r\n|[\0-\x1f\x7f-\x9f\u00ad]|[\\s\\S][\u0300-\u036f]*", text)
        result = ""
        for cluster in clusters:
            whole = find(cluster) if len(cluster.encode()) < 6 else None
            result += whole if whole is not None else "".join(c if find(c) is None else find(c) for c in cluster)
        return result

    return apply, {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(character_table(table)).decode()}


def character_table(table):
    """Returns a trie in a double array (Yata, Darts-clone), and the replacements."""
    texts, values = b"", {}
    for key, by in table.items():
        values[key.encode()] = len(texts)
        texts += by.encode() + b"\0"
    units, bases = {0: 0}, set()

    def place(prefix, at):
        below = sorted({key[len(prefix)] if len(key) > len(prefix) else 0 for key in values if key.startswith(prefix)})
        base = next(b for b in range(1, 1 << 20) if b not in bases and all(b ^ byte not in units for byte in below))
        bases.add(base)
        units[at] |= (at ^ base) << 10 | (1 << 8 if 0 in below else 0)
        for byte in below:
            units[base ^ byte] = byte if byte else 1 << 31 | values[prefix]
        for byte in below:
            if byte:
                place(prefix + bytes([byte]), base ^ byte)

    place(b"", 0)
    array = [units.get(i, 0xFF) for i in range((max(units) // 256 + 1) * 256)]
    return struct.pack(f"<I{len(array)}I", 4 * len(array), *array) + texts


def metaspace(scheme="always", split=True, old=False):
    def cut(text, first):
        text = text.replace(" ", MARK)
        if not text.startswith(MARK) and (scheme == "always" or scheme == "first" and first):
            text = MARK + text
        return re.findall(f"{MARK}[^{MARK}]*|[^{MARK}]+", text) if split else [text]
    said = {"add_prefix_space": scheme == "always"} if old else {"prepend_scheme": scheme, "split": split}
    return cut, {"type": "Metaspace", "replacement": MARK, **said}


def split_white_space(text, first):
    words, word = [], ""
    for c in text + " ":
        if not is_space(c):
            word += c
        elif word:
            words.append(word)
            word = ""
    return words


WHITE_SPACE = split_white_space, {"type": "WhitespaceSplit"}
BEHIND_SPACES = (lambda text, first: re.findall("[^ ]* |[^ ]+", text),
                 {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False})


def sequence(key, steps):
    said = [step[1] for step in steps]
    return None if not said else said[0] if len(said) == 1 else {"type": "Sequence", key: said}


SPACE = {"type": "Replace", "pattern": {"String": MARK}, "content": " "}
FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


# ---- Models ------------------------------------------------------------------------------------------------------------

class Merged:
    """Byte pair encoding: merges the most frequent pairs of neighbours, in words that begin with the mark of a
    space."""

    def __init__(self, text, merges, alphabet, fallback=True, fuse=True, whole_words=False):
        words = Counter(tuple(MARK + word) for word in text.split())
        self.merges = []
        while len(self.merges) < merges:
            pairs = Counter()
            for word, count in words.items():
                for pair in zip(word, word[1:]):
                    pairs[pair] += count
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            self.merges.append(best)
            words = Counter({subwords.BytePairs.apply(word, best): count for word, count in words.items()})
        pieces = MARKS + (BYTES if fallback else []) + ["".join(pair) for pair in self.merges]
        pieces += [MARK] + sorted(set("".join("".join(pair) for pair in self.merges)) | set(alphabet))
        self.ids = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
        self.fallback, self.fuse, self.whole_words = fallback, fuse, whole_words

    def said(self):
        return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                "end_of_word_suffix": None, "fuse_unk": self.fuse, "byte_fallback": self.fallback,
                "ignore_merges": self.whole_words, "vocab": self.ids, "merges": [list(pair) for pair in self.merges]}

    def encode(self, word):
        if self.whole_words and word in self.ids:
            return [self.ids[word]]
        pieces = []
        for c in word:
            if c in self.ids:
                pieces.append(c)
            elif self.fallback:
                pieces += [BYTES[byte] for byte in c.encode()]
            else:
                pieces.append(None)
        if self.fuse:
            pieces = [piece for i, piece in enumerate(pieces) if piece or i == 0 or pieces[i - 1]]
        pieces = [piece or "<unk>" for piece in pieces]
        ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        return [self.ids[piece] for piece in subwords.merge(pieces, ranks)]


class Scored(Merged):
    """The same pieces without merges: among neighbours that form a piece, those with the highest score merge first."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.scores = {}
        for rank, pair in enumerate(self.merges):
            self.scores.setdefault("".join(pair), -float(rank))
        for piece in self.ids:
            if piece not in MARKS + BYTES:
                self.scores.setdefault(piece, -1e6)

    def encode(self, word):
        parts = list(word)
        while True:
            made = [(-self.scores[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in self.scores]
            if not made:
                break
            _, place = min(made)
            parts[place:place + 2] = ["".join(parts[place:place + 2])]
        ids = []
        for part in parts:
            if part in self.scores:
                ids.append(self.ids[part])
            else:
                ids += [self.ids[BYTES[byte]] for byte in part.encode()]
        return ids


class Unigram:
    """A unigram model: the most frequent parts of words, and their log frequencies."""

    def __init__(self, text, count, fallback=False):
        parts, characters = Counter(), Counter()
        for word in text.split():
            word = MARK + word
            characters.update(word)
            for i in range(len(word)):
                for j in range(i + 2, min(len(word), i + 6) + 1):
                    parts[word[i:j]] += 1
        common = sorted(characters, key=lambda c: (-characters[c], c))[:60]
        chosen = sorted(parts, key=lambda part: (-parts[part] * len(part), part))[:count] + common
        total = sum(parts.values())
        scores = {piece: math.log((parts[piece] or characters[piece]) / total) for piece in dict.fromkeys(chosen)}
        pieces = [(mark, 0.0) for mark in MARKS] + [(byte, 0.0) for byte in (BYTES if fallback else [])]
        self.pieces = pieces + list(scores.items())
        self.ids = {piece: i for i, (piece, _) in enumerate(self.pieces)}
        self.fallback, self.unknown = fallback, min(score for _, score in self.pieces) - 10

    def said(self):
        return {"type": "Unigram", "unk_id": 0, "byte_fallback": self.fallback, "vocab": [list(piece) for piece in self.pieces]}

    def encode(self, word):
        longest, scores = max(len(piece) for piece in self.ids), dict(self.pieces)
        best = [(0.0, 0, None)]
        for end in range(1, len(word) + 1):
            here = None
            for begin in range(max(0, end - longest), end):
                part = word[begin:end]
                if part not in scores and len(part) > 1:
                    continue
                score = best[begin][0] + scores.get(part, self.unknown)
                if here is None or score > here[0]:
                    here = (score, begin, part if part in scores else None)
            best.append(here)
        ids, end, unknown = [], len(word), ""
        while end or unknown:
            _, begin, part = best[end]
            if end and part in (None, "<unk>"):
                unknown, end = word[begin:end] + unknown, begin
                continue
            if unknown:
                known = self.fallback and unknown not in self.ids
                ids = ([self.ids[BYTES[byte]] for byte in unknown.encode()] if known else [0]) + ids
                unknown = ""
            if end:
                ids, end = [self.ids[part]] + ids, begin
        return ids


# ---- The whole ---------------------------------------------------------------------------------------------------------

class Vocabulary:
    """`added`: tokens with their further properties in the file. `begin`, `end`: marks of every text."""

    def __init__(self, model, normalizer=(), cutter=(), decoder=None, added=(), begin=None, end=None):
        self.model, self.normalizer, self.cutter, self.decoder = model, normalizer, cutter, decoder
        self.tokens = [{"id": model.ids[mark], "content": mark, "special": True} for mark in MARKS]
        self.tokens += [{"id": len(model.ids) + i, "special": False, **token} for i, token in enumerate(added)]
        self.begin, self.end = begin, end
        self.pieces = {i: piece for piece, i in model.ids.items()} | {token["id"]: token["content"] for token in self.tokens}

    def write(self, folder):
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        mark = lambda token: [{"SpecialToken": {"id": token, "type_id": 0}}] if token else []
        single = mark(self.begin) + [{"Sequence": {"id": "A", "type_id": 0}}] + mark(self.end)
        named = {token: {"id": token, "ids": [self.model.ids[token]], "tokens": [token]}
                 for token in (self.begin, self.end) if token}
        whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [flags | token for token in self.tokens],
                 "normalizer": sequence("normalizers", self.normalizer), "pre_tokenizer": sequence("pretokenizers", self.cutter),
                 "post_processor": {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": named},
                 "decoder": self.decoder, "model": self.model.said()}
        (Path(folder) / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")

    def normal(self, text):
        for step, _ in self.normalizer:
            text = step(text)
        return text

    def split(self, text, tokens):
        """Yields the text between added tokens, its position, and the tokens by number; the longest if several begin at
        a place."""
        begin = place = 0
        while place < len(text):
            here = max((token for token in tokens if text.startswith(token, place)), key=len, default=None)
            if here is None:
                place += 1
                continue
            token, end = tokens[here], place + len(here)
            first = place
            while token.get("lstrip") and first > begin and is_space(text[first - 1]):
                first -= 1
            while token.get("rstrip") and end < len(text) and is_space(text[end]):
                end += 1
            yield begin, text[begin:first]
            yield None, token["id"]
            begin = place = end
        yield begin, text[begin:]

    def encode(self, text):
        raw = {token["content"]: token for token in self.tokens if not token.get("normalized")}
        normal = {self.normal(token["content"]): token for token in self.tokens if token.get("normalized")}
        ids = []
        for place, part in self.split(text, raw):
            if place is None:
                ids.append(part)
                continue
            for inner, word in self.split(self.normal(part), normal):
                if inner is None:
                    ids.append(word)
                    continue
                words = [word] if word else []
                first = place == 0 and inner == 0
                for cut, _ in self.cutter:
                    cuts = [cut(one, first and i == 0 and word.startswith(one)) for i, one in enumerate(words)]
                    words = [one for some in cuts for one in some if one]
                for one in words:
                    ids += self.model.encode(one)
        return ids

    def decode(self, ids, begins=True):
        """Returns the bytes of tokens, by a decoder that is a sequence or a Metaspace. `begins`: the tokens begin a
        text."""
        pieces = [self.pieces[i] for i in ids]
        if self.decoder["type"] == "Metaspace":
            drops = begins and self.decoder.get("prepend_scheme", "always") != "never"
            return "".join(p.replace(MARK, "" if drops and i == 0 else " ") for i, p in enumerate(pieces)).encode()
        joined = b"".join(bytes([int(p[3:5], 16)]) if p in BYTES else p.replace(MARK, " ").encode() for p in pieces)
        return joined[1:] if begins and STRIP in self.decoder["decoders"] and joined.startswith(b" ") else joined


def vocabularies(text):
    """Returns vocabularies by the published models that they resemble."""
    merged, plain = Merged(text, 250, "abcdefgh.,"), Merged(text, 120, "xyz", fallback=False)
    fallback = {"type": "Sequence", "decoders": [SPACE, FALLBACK, FUSE]}
    stripped = {"type": "Sequence", "decoders": [SPACE, FALLBACK, FUSE, STRIP]}
    pieces, metaspace_decoder = Unigram(text, 400), metaspace()[1]
    table = characters({"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "ﬁ": "fi", "①": "1", "½": "1/2", "e\u0301": "é",
                        "\u00ad": "", "\u3000": " ", "ÀA": "never", "０": "0", "\x07": ""})
    more = [{"content": "<|user|>"}, {"content": "weaving", "normalized": True},
            {"content": "<|wide|>", "lstrip": True, "rstrip": True}, {"content": "<|user|>x", "rstrip": True}, {"content": "  "}]
    return {
        "llama2": Vocabulary(merged, [prepend(MARK), replace(" ", MARK)], [], stripped, more, begin="<s>"),
        "mistral": Vocabulary(merged, [], [metaspace("first", split=False)], stripped, more[:3], begin="<s>", end="</s>"),
        "gemma": Vocabulary(Merged(text, 250, "abc", whole_words=True), [replace(" ", MARK)], [BEHIND_SPACES], fallback, more,
                            begin="<s>"),
        "unknown": Vocabulary(plain, [NFC], [metaspace()], metaspace_decoder, more[:2]),
        "apart": Vocabulary(Merged(text, 90, "xyz", fallback=False, fuse=False), [LOWER], [BEHIND_SPACES, metaspace("never")],
                            metaspace("never")[1]),
        "t5": Vocabulary(pieces, [table, SPACES, strip(False, True)], [WHITE_SPACE, metaspace(old=True)], metaspace_decoder,
                         more[:3], end="</s>"),
        "unigram": Vocabulary(Unigram(text, 300, fallback=True), [NFKC, LOWER, strip(True, True)], [metaspace("never")],
                              fallback, more),
        "unigram-whole": Vocabulary(pieces, [SPACES], [metaspace("first", split=False)], metaspace_decoder, more[1:3]),
    }


def scored_vocabulary(text, space_first):
    """Returns LLaMA 2's or Gemma's vocabulary as in SentencePiece's own files and GGUF files."""
    more = [{"content": "<|user|>", "special": True}, {"content": "<|user|>x", "special": True}]
    first = [prepend(" ")] if space_first else []
    decoders = [SPACE, FALLBACK, FUSE] + ([STRIP] if space_first else [])
    return Vocabulary(Scored(text, 250, "abcdefgh.,"), first + [replace(" ", MARK)], [],
                      {"type": "Sequence", "decoders": decoders}, more, begin="<s>")
