"""Compares `heddle-run tokenize` with the oracles of subwords.py, on difficult texts and on thousands of random ones.

    tokenize_lines.py --bin build/bin --case NAME"""

import argparse
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import gguf_files
import piece_models
import subwords

CORPUS = """The loom's warp is lifted by a heddle, and the weft passes under it. They're weaving; we've woven, I'll weave 1234 ells.
It wasn't 3.14 or 2,718, don't you see? Naïve café-goers couldn't care less: «Ça va?» — „Grüße aus Köln“, said Ærøskøbing.
Быстрая лиса прыгает через ленивую собаку. Η γρήγορη καφέ αλεπού ΠΗΔΆΕΙ ΠΆΝΩ ΑΠΌ ΤΟΝ ΣΚΎΛΟΣ. İstanbul'da ılık rüzgâr.
東京都の織物 北京市的织机 서울의 베틀 שלום עולם مرحبا بالعالم नमस्ते दुनिया 🙂👩‍👩‍👧 weaving   with\tblanks\u00a0and  more weaving weavers
""" * 3

HARD = ["", " ", "  ", "\t", "a", " a", "a ", "  a  b ", "a\tb\t\tc", "\n", "a\n\nb \n c\r\nd", "\\n \\ \\\\n", "a\u00a0b\u00a0\u00a0c",
        "\u2028x\u2029\u3000y\u200bz\u1680", "\x1c\x1d\x1e\x1fa\x00b\x7fc\x85d\x0be\x0cf", "I'll I'LL we've'nt 's 'tis 'd'd'''s don't",
        "1,234.50 ½ Ⅷ ٣٤ 12ab34 x² ①", "Ünïcödé e\u0301e\u0300\u0323 \u0301a ﬁ ǅ ß ẞ", "İIıi ΑΣ ΑΣΑ Σ ΣΣ. Α'Σ ΑΣ' ὈΔΥΣΣΕΎΣ",
        "東京 abc東京def 豈 𠀀", "서울의 각 한글", "🙂👩\u200d👩\u200d👧🏽 ©™ ∑ € $5+3=8~^`|", "a##b ##a [MASK] x[MASK]y [mask] [SEP][CLS] [UNK",
        "<|endoftext|> a<|endoftext|>b <|endoftext", "w" * 100 + " " + "w" * 101 + " " + "é" * 101, "a" * 3000, "ab" * 400 + "!" * 99,
        "\ufffd \ufeff\u00ad\u061c \ue000 \U000e0001", "क्षि नमस्ते", "שָׁלוֹם", "...?!—“”‘’«»"]


class Drawn:
    """Random texts of the characters that Python's Unicode has assigned, without surrogates."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.assigned = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
        self.plane0 = [c for c in self.assigned if c < "\u3400"]
        self.common = "".join(HARD) + CORPUS

    def text(self):
        alphabets = [self.common, self.plane0, self.assigned, "aeinst' ", " \t\n\u00a0ab1.'", "ΑΣσςα'. \u0301", "wove "]
        parts = []
        for _ in range(self.random.randint(1, 4)):
            alphabet = self.random.choice(alphabets)
            parts.append("".join(self.random.choice(alphabet) for _ in range(self.random.randint(0, 25))))
        return "".join(parts)


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def shown(text):
    """Returns bytes as `--decode` prints them."""
    return escape(text.decode(errors="replace")).encode()


class Tool:
    def __init__(self, arguments, folder):
        self.command = [f"{arguments.bin}/heddle-run", "tokenize", str(folder)]

    def lines(self, data, *flags):
        done = subprocess.run([*self.command, *flags], input=data, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout.split(b"\n")[:-1]

    def check(self, texts, oracle, pieces):
        """Checks each text's ids and pieces. Returns the lines."""
        lines = self.lines("".join(escape(text) + "\n" for text in texts).encode())
        wrong = abs(len(lines) - len(texts))
        for text, line in zip(texts, lines):
            expected = oracle.encode(text)
            said = " ".join(map(str, expected)) + "\t" + " ".join(escape(pieces[i]) for i in expected)
            if line.decode() != said:
                wrong += 1
                if wrong <= 5:
                    print(f"{text!r}\n  is {line.decode()!r}\n  not {said!r}")
        print(f"{len(texts)} texts, {wrong} wrong")
        return wrong, lines


def gpt2(arguments, folder):
    oracle = subwords.BytePairs.learn(CORPUS, 300)
    oracle.write(folder)
    tool, drawn = Tool(arguments, folder), Drawn(1)
    texts = HARD + [drawn.text() for _ in range(4000)]
    wrong, lines = tool.check(texts, oracle, oracle.pieces)
    back = tool.lines(b"\n".join(lines) + b"\n", "--decode")
    lost = sum(escape(text).encode() != line for text, line in zip(texts, back)) + abs(len(texts) - len(back))
    # Bytes that are not UTF-8 have ids, too. They decode to text, with a mark for bytes that are not a character.
    noise = [bytes(drawn.random.choice([b for b in range(256) if b not in b"\n\r\\"]) for _ in range(drawn.random.randint(0, 40)))
             for _ in range(1000)]
    back = tool.lines(b"\n".join(tool.lines(b"\n".join(noise) + b"\n")) + b"\n", "--decode")
    lost += sum(a.decode(errors="replace").encode() != b for a, b in zip(noise, back)) + abs(len(noise) - len(back))
    print(f"{lost} texts lost on the way there and back")

    # Merges in an order that no corpus gives: a merge's result takes part in an earlier merge.
    odd = "abcd"
    pieces = {c: i for i, c in enumerate(subwords.byte_alphabet().values())}
    merges = [("a", "a"), ("bc", "a"), ("abc", "d"), ("abc", "a"), ("b", "c"), ("a", "bc"), ("aa", "b"), ("c", "d")]
    for piece in [a + b for a, b in merges] + [subwords.END]:
        pieces.setdefault(piece, len(pieces))
    strange = subwords.BytePairs(pieces, merges)
    strange.write(folder)
    wrong += tool.check(["".join(drawn.random.choice(odd) for _ in range(30)) for _ in range(500)], strange, strange.pieces)[0]
    return wrong + lost


def bert(arguments, folder):
    wrong, drawn = 0, Drawn(2)
    for settings in ({}, {"lower": False}, {"lower": False, "strip": True, "ideographs": False}, {"strip": False}):
        oracle = subwords.WordPieces.learn(CORPUS, 400, **settings)
        oracle.write(folder, config=settings != {})  # without a configuration, the defaults apply
        texts = HARD + [drawn.text() for _ in range(1500)]
        wrong += Tool(arguments, folder).check(texts, oracle, oracle.pieces)[0]
    return wrong


def tokenizer_json(arguments, folder):
    wrong, drawn = 0, Drawn(3)
    variants = {"gpt2": {}, "smollm": {}, "llama3": {"whole_words": True, "pairs": True}, "qwen2": {"compose": True}}
    for rule, options in variants.items():
        oracle = subwords.BytePairs.learn(CORPUS, 300)
        oracle.write_json(folder, rule, ["<|im_start|>", "<|im_start|>user", "  "], **options)
        texts = HARD + [drawn.text() for _ in range(2500)] + ["<|im_start|>user 1234 <|im_start|>  a   b", "I'LL 'Re\n\n \n x\r\n12345 ab\u00b2"]
        wrong += Tool(arguments, folder).check(texts, oracle, oracle.pieces)[0]
    return wrong


def piece_models_json(arguments, folder):
    wrong = 0
    for number, (name, oracle) in enumerate(piece_models.vocabularies(CORPUS).items()):
        drawn = Drawn(10 + number)
        texts = HARD + [drawn.text() for _ in range(1500)]
        texts += ["<s> a</s>b <|user|>x  y", " weaving<|user|> weaving weaving", "a \t <|wide|>\u3000 b<|user|>", "▁a ▁▁b<unk>c", "<0x41>\u00e9"]
        if name == "t5":  # its character table, and the clusters that the oracle knows
            alphabet = list("ab Ae\t\n\r\u00a0ﬁ①½\u0301\u0323\u00ad\u3000ÀA０\x07東") + ["\r\n", "e\u0301"]
            texts = [text for text in texts if text.isascii()]
            texts += ["".join(drawn.random.choice(alphabet) for _ in range(drawn.random.randint(0, 40))) for _ in range(1500)]
        oracle.write(folder)
        print(name)
        tool = Tool(arguments, folder)
        differ, lines = tool.check(texts, oracle, oracle.pieces)
        back = tool.lines(b"\n".join(lines) + b"\n", "--decode")
        lost = sum(shown(oracle.decode(oracle.encode(text))) != line for text, line in zip(texts, back))
        print(f"{lost} decoded otherwise")
        wrong += differ + lost + abs(len(texts) - len(back))
    return wrong


def gguf(arguments, folder):
    wrong, drawn, path = 0, Drawn(30), folder / "model.gguf"
    variants = {"gpt2": ("gpt-2", {}), "smollm": ("smollm", {}), "llama3": ("llama-bpe", {"whole_words": True}),
                "qwen2": ("qwen2", {"compose": True})}
    for rule, (cutting, options) in variants.items():
        oracle = subwords.BytePairs.learn(CORPUS, 300)
        oracle.write_json(folder, rule, ["<|im_start|>", "<|im_start|>user", "  "], **options)
        path.write_bytes(gguf_files.assemble(gguf_files.byte_pair_keys(oracle, cutting), {}))
        texts = HARD + [drawn.text() for _ in range(1500)] + ["<|im_start|>user 1234 <|im_start|>  a   b"]
        wrong += Tool(arguments, path).check(texts, oracle, oracle.pieces)[0]
    for space_first in (True, False):
        oracle = piece_models.scored_vocabulary(CORPUS, space_first)
        path.write_bytes(gguf_files.assemble(gguf_files.piece_keys(oracle, space_first), {}))
        texts = [text for text in HARD if len(text) < 500] + [drawn.text() for _ in range(1500)]
        texts += ["<s> a</s>b <|user|>x  y", "▁a ▁▁b<unk>c", "<0x41>\u00e9"]
        tool = Tool(arguments, path)
        differ, lines = tool.check(texts, oracle, oracle.pieces)
        back = tool.lines(b"\n".join(lines) + b"\n", "--decode")
        lost = sum(shown(oracle.decode(oracle.encode(text))) != line for text, line in zip(texts, back))
        print(f"{lost} decoded otherwise")
        wrong += differ + lost
    return wrong


CASES = {"gpt2": gpt2, "bert": bert, "tokenizer-json": tokenizer_json,
         "piece-models": piece_models_json, "gguf": gguf}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        sys.exit(CASES[arguments.case](arguments, Path(name)) != 0)


if __name__ == "__main__":
    main()
