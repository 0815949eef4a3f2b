"""Compares `heddle-run generate`, `fill` and `embed` on Hugging Face folders with random weights with PyTorch's models
(published.py) and the vocabularies of subwords.py and piece_models.py.

    text_commands.py --bin build/bin --case NAME [--target=NAME]"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import gguf_files
import piece_models
import published
import subwords
from compiled import Report, default_target, run
from tokenize_lines import CORPUS, escape


class Text:
    """A compiled model and the command that answers lines with it."""

    name, more, entries = "published", {}, "inference"

    def __init__(self, arguments, folder, command, sizes):
        self.tool, self.folder, self.command = f"{arguments.bin}/heddle-run", folder, command
        backend = arguments.target.split(":")[0]
        self.two_devices = f"--devices={backend},{backend}"  # the same device twice
        sets = [word for key, value in {**sizes, **self.more}.items() for word in ("--set", f"{key}={value}")]
        run([f"{arguments.bin}/heddle-compile", f"{folder}/{self.name}", "--weights=f32", "-o", f"{folder}/model.heddle",
             f"--target={arguments.target}", f"--entries={self.entries}", *sets])

    def start(self, *flags):
        return [self.tool, self.command, f"{self.folder}/model.heddle", "--checkpoint", f"{self.folder}/{self.name}", *flags]

    def lines(self, texts, *flags):
        data = b"".join(text.encode() + b"\n" for text in texts)
        done = subprocess.run(self.start(*flags), input=data, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"exit code {done.returncode}: {done.stderr.decode()}")
        self.said = done.stderr.decode()
        return done.stdout.decode().split("\n")[:-1]

    def in_pipe(self, texts, *flags):
        """Answers each line before the next one is sent."""
        process = subprocess.Popen(self.start(*flags), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        answers = []
        for text in texts:
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()
            answers.append(process.stdout.readline().decode().rstrip("\n"))
        process.stdin.close()
        return answers if process.wait() == 0 else []


def differ(actual, expected):
    for a, b in zip(actual, expected):
        if a != b:
            print(f"is  {a!r}\nnot {b!r}")
    return sum(a != b for a, b in zip(actual, expected)) + abs(len(actual) - len(expected))


class LanguageModel(Text):
    """A GPT-2 whose caches have room for three of the longest sequences, and whose calls take seven tokens: prompts
    wait, and are read in several calls."""

    positions, command = 60, "generate"

    def __init__(self, arguments, folder):
        self.vocabulary = subwords.BytePairs.learn(CORPUS, 90)
        self.end = self.vocabulary.vocabulary[subwords.END]
        self.write(folder / self.name, {"vocab_size": self.end + 1, "bos_token_id": self.end, "eos_token_id": self.end})
        super().__init__(arguments, folder, self.command, {"max_tokens": 200, "max_sequences": 7})
        self.gaps = []

    def write(self, folder, marks):
        self.config = {**published.GPT2, **marks, "n_positions": self.positions}
        self.tensors = published.draw_gpt2(self.config)
        self.tensors["transformer.wte.weight"] *= 2  # makes the answer depend on the prompt
        self.tensors["transformer.wte.weight"][self.end] *= 2  # and end sometimes
        self.oracle = published.Gpt2(self.config, published.write_folder(folder, self.config, self.tensors))
        self.vocabulary.write(folder)

    def tokens(self, prompt):
        return self.vocabulary.encode(prompt) or [self.end]

    @torch.no_grad()
    def continuation(self, prompt):
        """Returns all tokens until the end mark or the last position, and whether the mark ended them."""
        ids, new = self.tokens(prompt), []
        while len(ids) < self.positions:
            logits = self.oracle.logits(torch.tensor(ids))[-1]
            best, second = logits.topk(2).values.tolist()
            self.gaps.append(best - second)
            ids.append(int(logits.argmax()))
            if ids[-1] == self.end:
                return new, True
            new.append(ids[-1])
        return new, False

    def answer(self, prompt, ids):
        return escape(prompt + self.vocabulary.decode(ids).decode(errors="replace"))


class Llama(LanguageModel):
    """The same with LLaMA's blocks, and its vocabulary in tokenizer.json."""

    def write(self, folder, marks):
        self.config = {**published.LLAMA, **marks, "max_position_embeddings": self.positions}
        self.tensors = published.draw_llama(self.config)
        self.tensors["model.embed_tokens.weight"] *= 2
        self.tensors["model.embed_tokens.weight"][self.end] *= 2
        self.oracle = published.Llama(self.config, published.write_folder(folder, self.config, self.tensors))
        self.vocabulary.write_json(folder, "smollm", [])


class LlamaOfPieces(LanguageModel):
    """A vocabulary like LLaMA 2's: the mark that its file puts before texts also precedes prompts."""

    def write(self, folder, marks):
        self.vocabulary, self.end = piece_models.vocabularies(CORPUS)["llama2"], 2
        size = max(self.vocabulary.pieces) + 1
        self.config = {**published.LLAMA, "vocab_size": size, "max_position_embeddings": self.positions}
        self.tensors = published.draw_llama(self.config)
        self.tensors["model.embed_tokens.weight"] *= 2
        self.tensors["model.embed_tokens.weight"][self.end] *= 2
        self.oracle = published.Llama(self.config, published.write_folder(folder, self.config, self.tensors))
        self.vocabulary.write(folder)

    def tokens(self, prompt):
        return [1] + self.vocabulary.encode(prompt)

    def answer(self, prompt, ids):
        special = {token["id"] for token in self.vocabulary.tokens if token["special"]}  # they produce no text
        ids = [i for i in ids if i not in special]
        return escape(prompt + self.vocabulary.decode(ids, begins=prompt == "").decode(errors="replace"))


CHAT = ("{{ bos_token }}{% for m in messages %}{{ '\\n' + m.role }}: {{ m.content | trim }}"
        "{{ eos_token if m.role == 'assistant' }}{% endfor %}{% if add_generation_prompt %}{{ '\\nassistant:' }}{% endif %}")


class LlamaOfGguf(Llama):
    """A GGUF file with 8-bit weights and the vocabulary."""

    name, more, entries = "published.gguf", {"learning_rate": 1e-12}, "all"

    def write(self, path, marks):
        self.config = {**published.LLAMA, **marks, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
                       "intermediate_size": 96, "max_position_embeddings": self.positions}
        self.tensors = published.draw_llama(self.config)
        self.tensors["model.embed_tokens.weight"] *= 2
        self.tensors["model.embed_tokens.weight"][self.end] *= 2
        self.vocabulary.write_json(path.parent, "smollm", [])
        keys = {**gguf_files.byte_pair_keys(self.vocabulary, "smollm"), "tokenizer.chat_template": ("text", CHAT)}
        self.oracle = published.Llama(self.config, gguf_files.write(path, self.config, self.tensors, "Q8_0", keys=keys))


class GemmaOfGguf(LlamaOfPieces):
    """The same with SentencePiece's pieces, and no space before a text."""

    name = "published.gguf"

    def write(self, path, marks):
        self.vocabulary, self.end = piece_models.scored_vocabulary(CORPUS, False), 2
        size = max(self.vocabulary.pieces) + 1
        self.config = {**published.GEMMA2, "vocab_size": size, "max_position_embeddings": self.positions,
                       "query_pre_attn_scalar": published.GEMMA2["head_dim"]}
        self.tensors = published.draw_llama(self.config)
        self.tensors["model.embed_tokens.weight"][self.end] *= 3
        keys = gguf_files.piece_keys(self.vocabulary, False)
        self.oracle = published.Gemma2(self.config, gguf_files.write(path, self.config, self.tensors, keys=keys))


def prompts():
    words = CORPUS.split()
    texts = ["", "T", "The", "They're weaving; we've", " ".join(words[:9]), " ", "a\nb \\n \r", "naïve 東京 🙂",
             " ".join(words[30:33]), "x" + subwords.END + "y", "12 34", " ".join(words[3:7]), "weft", "ü" * 24]
    return texts + [" ".join(words[i:i + 1 + i % 5]) for i in range(40, 60)]


def generate(arguments, folder, family=LanguageModel):
    report, model, most = Report(), family(arguments, folder), 33
    # The last prompts have two tokens less than the model has positions, one less, as many (not continued), and more.
    texts = prompts() + ["T" + "\x01" * (model.positions - 1 - room) for room in (2, 1, 0)] + ["weft " * 100]
    told = [model.continuation(text) for text in texts]
    said = model.lines([escape(text) for text in texts], "--tokens", str(most))
    report.check("continuations that differ", differ(
        said, [model.answer(text, new[:most]) for text, (new, _) in zip(texts, told)]), 0)
    ends = sum(ended and len(new) < most for new, ended in told)
    report.check("whether some end with the mark, not all", int(ends in (0, len(told))), 0)
    cut = sum(len(model.tokens(text)) + len(new) >= model.positions and len(new) < most and not ended
              for text, (new, ended) in zip(texts, told))
    report.check("lines cut off that nothing is said of", abs(model.said.count("tokens only: the model was compiled for") +
                                                              model.said.count("is not continued") - cut), 0)
    print(f"{ends} of {len(told)} end, {cut} are cut off; smallest gap between two best logits {min(model.gaps):.1e}")
    if family is LanguageModel:
        some = range(0, len(texts), 7)
        report.check("continuations of two devices that differ", differ(
            model.lines([escape(texts[i]) for i in some], "--tokens", str(most), model.two_devices), [said[i] for i in some]), 0)
    return report


def generate_gguf(arguments, folder):
    """Also tests a training that starts from the file and changes almost nothing: its checkpoints have the
    vocabulary."""
    report = generate(arguments, folder, LlamaOfGguf)
    tool, model, file, trained = f"{arguments.bin}/heddle-run", f"{folder}/model.heddle", f"{folder}/published.gguf", f"{folder}/ck"
    Path(f"{folder}/text").write_text(CORPUS[:300])
    text = ["--text", f"{folder}/text", "--documents", "file"]
    run([tool, "train", model, "--weights", file, *text, "--checkpoint", trained, "--steps", "2"])
    ask = lambda *command: subprocess.run([tool, *command], input=CORPUS, capture_output=True, text=True, check=True).stdout
    score = lambda checkpoint: float(ask("score", model, *text, "--checkpoint", checkpoint).split()[1])
    report.check("the loss behind two steps", abs(score(trained) / score(file) - 1), 1e-4)
    report.check("tokens that differ", int(ask("tokenize", trained) != ask("tokenize", file)), 0)
    run([tool, "train", model, *text, "--vocab", file, "--checkpoint", f"{folder}/anew", "--steps", "1"])
    report.check("tokens of a training from the start that differ", int(ask("tokenize", f"{folder}/anew") != ask("tokenize", file)), 0)
    check_chat(report, tool, model, file, trained)
    return report


def check_chat(report, tool, model, file, trained):
    """A chat continues the rendered text, and prints only the answer. A checkpoint has the template of the file that it
    started from."""
    messages = ["The weaver", " They're\nweaving "]
    lines = [escape(text) for text in messages] + [json.dumps({"messages": [{"role": "system", "content": "weft"},
                                                                            {"role": "user", "content": "The"}]})]
    rendered = [f"{subwords.END}\nuser: {text.strip()}\nassistant:" for text in messages]
    rendered.append(f"{subwords.END}\nsystem: weft\nuser: The\nassistant:")
    ask = lambda texts, *flags: subprocess.run([tool, "generate", model, "--checkpoint", *flags, "--tokens", "9"],
                                               input="".join(text + "\n" for text in texts), capture_output=True, text=True)
    plain = [json.loads(line) for line in ask([escape(text) for text in rendered], file, "--json").stdout.splitlines()]
    answers = ask(lines, file, "--chat")
    report.check("answers of a chat that differ", differ(answers.stdout.splitlines(), [escape(one["completion"]) for one in plain]), 0)
    streamed = ask(lines, file, "--chat", "--stream").stdout
    report.check("streamed answers that differ", int(streamed != answers.stdout), 0)
    objects = [json.loads(line) for line in ask(lines, file, "--chat", "--json").stdout.splitlines()]
    report.check("prompts of a chat that differ", int([one["prompt"] for one in objects] != rendered), 0)
    report.check("answers by a checkpoint's template that are missing", int(len(ask(lines, trained, "--chat").stdout.splitlines()) != 3), 0)
    # Ids as input and output.
    ids = subprocess.run([tool, "tokenize", file], input="".join(escape(text) + "\n" for text in rendered), capture_output=True, text=True,
                         check=True).stdout.splitlines()
    ids = [line.split("\t")[0] for line in ids]
    numbers = ask(ids, file, "--ids").stdout.splitlines()
    report.check("ids that do not begin with the prompt's", sum(not line.startswith(f"{prompt} ") for line, prompt in zip(numbers, ids)), 0)
    lists = [json.loads(line) for line in ask(ids, file, "--ids", "--json").stdout.splitlines()]
    report.check("lists of ids that differ", sum(" ".join(map(str, one["prompt"] + one["completion"])) != line
                                                 for one, line in zip(lists, numbers, strict=True)), 0)
    report.check("numbers of tokens that differ", int([one["tokens"] for one in lists] != [one["tokens"] for one in plain]), 0)
    for wrong in ("1 x", "1 -2", "99999999", "1.5", "1,2"):
        done = ask([wrong], file, "--ids")
        report.check(f"'{wrong}' that is no prompt", int(done.returncode != 1 or "line 1: '" not in done.stderr), 0)
    # A conversation with one answer has the loss of the prompt's completion; with two answers, of both.
    folder, said = Path(model).parent, []
    says = lambda *texts: {"messages": [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]}
    for name, record in (("one", says("The", "weaver")), ("two", says("The", "weaver", "weft", "They're")),
                         ("prompt", {"prompt": f"{subwords.END}\nuser: The\nassistant:", "completion": " weaver"}),
                         ("second", {"prompt": f"{subwords.END}\nuser: The\nassistant: weaver{subwords.END}\nuser: weft\nassistant:",
                                     "completion": " They're"})):
        Path(folder, name).write_text(json.dumps(record) + "\n")
        words = subprocess.run([tool, "score", model, "--checkpoint", file, "--data", f"{folder}/{name}"], capture_output=True, text=True,
                               check=True).stdout.split()
        said.append((float(words[1]), int(words[5].rstrip(","))))
    (one, ofOne), (two, ofTwo), (prompt, ofPrompt), (second, ofSecond) = said
    report.check("the loss of an answer", abs(one - prompt) + abs(ofOne - ofPrompt), 1e-4)
    report.check("the loss of two answers", abs(two * ofTwo - prompt * ofPrompt - second * ofSecond) + abs(ofTwo - ofOne - ofSecond), 2e-3)
    run([tool, "train", model, "--weights", file, "--data", f"{folder}/two", "--checkpoint", f"{folder}/talk", "--steps", "1"])
    for words, line in (("the conversation", "{"), ("TemplateError", json.dumps({"messages": 3}))):
        wrong = ask([line], file, "--chat")
        report.check(f"a line that is no conversation: {words}", int(wrong.returncode != 1 or "line 1" not in wrong.stderr), 0)


def sample(arguments, folder):
    """Samples depend only on the seed and the line's number; sampling only the most probable token is greedy."""
    report, model = Report(), LanguageModel(arguments, folder)
    texts, few = [escape(text) for text in prompts()], ("--tokens", "9")
    greedy = model.lines(texts, *few)
    report.check("continuations that differ", differ(
        greedy, [model.answer(text, model.continuation(text)[0][:9]) for text in prompts()]), 0)
    report.check("lines in a pipe that differ", differ(model.in_pipe(texts[:5], *few), greedy[:5]), 0)
    draw = lambda texts, seed: model.lines(texts, *few, "--sample", "--temperature", "0.8", "--seed", seed)
    sampled = draw(texts, "3")
    report.check("samples that differ", differ(draw(texts[:7], "3"), sampled[:7]), 0)
    report.check("another seed's samples are the same", int(draw(texts[:7], "4") == sampled[:7]), 0)
    report.check("samples of one token that are not greedy", differ(
        model.lines(texts, *few, "--sample", "--top-k", "1"), greedy), 0)

    model.tensors["transformer.ln_f.weight"][3] = np.nan
    published.write_folder(folder / "published", model.config, model.tensors)
    done = subprocess.run(model.start(), input=b"The\n", capture_output=True)
    report.check("NaN that is not said", int(done.returncode != 1 or b"not numbers" not in done.stderr), 0)
    return report


def answers(arguments, folder):
    """Tests stop texts, answers as JSON, streamed pieces, and the repetition penalty."""
    report, model, most = Report(), LanguageModel(arguments, folder), 12
    texts = prompts()[:20]
    told = [model.continuation(text) for text in texts]
    said = model.lines([escape(text) for text in texts], "--tokens", str(most))
    records = [json.loads(line) for line in model.lines([escape(text) for text in texts], "--tokens", str(most), "--json")]
    report.check("records that are not the lines", differ(
        [escape(record["prompt"] + record["completion"]) for record in records], said), 0)
    report.check("endings that differ", differ(
        [record["finish"] for record in records],
        ["end" if ended and len(new) < most else "length" for new, ended in told]), 0)
    report.check("numbers of tokens that differ", differ([record["tokens"] for record in records],
                                                         [min(len(new), most) for new, _ in told]), 0)
    # A text from the middle of an answer ends that answer, and any other that contains it.
    stop = max((record["completion"][2:5] for record in records if len(record["completion"]) > 6 and
                record["completion"].isascii()), key=len)
    stopped = [json.loads(line) for line in model.lines(
        [escape(text) for text in texts], "--tokens", str(most), "--json", "--stop", escape(stop), "--stop", "never there")]
    report.check("answers that go on behind a stop", differ(
        [record["completion"] for record in stopped], [record["completion"].split(stop)[0] for record in records]), 0)
    report.check("stops that are not said", differ(
        [record["finish"] == "stop" for record in stopped], [stop in record["completion"] for record in records]), 0)
    report.check("whether some stop, not all", int(sum(record["finish"] == "stop" for record in stopped) in (0, len(stopped))), 0)
    for flags in ((), ("--stop", escape(stop))):
        streamed = model.lines([escape(text) for text in texts], "--tokens", str(most), "--stream", *flags)
        report.check("streams that differ from lines", differ(
            streamed, model.lines([escape(text) for text in texts], "--tokens", str(most), *flags)), 0)

    # The same rule in PyTorch.
    def continuation(text, penalty):
        ids = model.tokens(text)
        start = len(ids)
        while len(ids) - start < most:
            logits = model.oracle.logits(torch.tensor(ids))[-1].detach().clone()
            seen = torch.tensor(sorted(set(ids)))
            logits[seen] = torch.where(logits[seen] > 0, logits[seen] / penalty, logits[seen] * penalty)
            token = int(logits.argmax())
            if token == model.end:
                break
            ids.append(token)
        return ids[start:]

    penalised = model.lines([escape(text) for text in texts], "--tokens", str(most), "--repetition-penalty", "1.7")
    report.check("penalised continuations that differ", differ(
        penalised, [model.answer(text, continuation(text, 1.7)) for text in texts]), 0)
    report.check("whether the penalty changes some", int(penalised == said), 0)
    return report


def fill(arguments, folder):
    report, vocabulary = Report(), subwords.WordPieces.learn(CORPUS, 350)
    longest = 48
    config = {**published.BERT, "vocab_size": len(vocabulary.pieces), "max_position_embeddings": longest}
    oracle = published.Bert(config, published.write_folder(folder / "published", config, published.draw_bert(config)))
    vocabulary.write(folder / "published")
    model = Text(arguments, folder, "fill", {"max_tokens": 70, "max_sequences": 5})
    mask = vocabulary.ids["[MASK]"]
    lines = ["The loom's [MASK] is lifted.", "[MASK]", "no mask here", "", "[MASK] wea[MASK]  [MASK]", "Быстрая [MASK] 東京[MASK]!",
             "weaving " * 60 + "[MASK]", "[MASK] " + "weft under " * 30 + " [MASK]", "[mask] [MASK][SEP] café"] * 3

    top, expected, filled = 4, [], []
    for number, line in enumerate(lines, 1):
        ids = vocabulary.encode(line)
        ids = ids if len(ids) <= longest else ids[:longest - 1] + ids[-1:]
        logits = oracle.logits(torch.tensor(ids), torch.zeros(len(ids), dtype=torch.long)).detach()
        masks, text, place = [i for i, token in enumerate(ids) if token == mask], line, 0
        for which, i in enumerate(masks, 1):
            best = torch.softmax(logits[i], -1).topk(top)
            pieces = [vocabulary.pieces[token] for token in best.indices]
            expected += [(number, which, p, piece) for p, piece in zip(best.values.tolist(), pieces)]
            before, after = text[:place] + text[place:].split("[MASK]", 1)[0], text[place:].split("[MASK]", 1)[1]
            before, piece = (before.rstrip(" "), pieces[0][2:]) if pieces[0].startswith("##") else (before, pieces[0])
            text, place = before + piece + after, len(before + piece)
        if not masks:
            expected.append((number, 0, float("nan"), ""))
        filled.append(text)
    report.check("filled lines that differ", differ(model.lines(lines), filled), 0)
    report.check("filled lines of two devices that differ", differ(model.lines(lines, model.two_devices), filled), 0)
    report.check("what is said of lines without a mask and of long ones",
                 int(not ("line 3 has no [MASK]" in model.said and "line 7 has" in model.said and "line 4 " not in model.said)),
                 0)
    report.check("lines in a pipe that differ", differ(model.in_pipe(lines[:5]), filled[:5]), 0)

    said = [line.split("\t") for line in model.lines(lines, "--top-k", str(top))]
    report.check("choices that differ", differ([(int(n), int(m), piece) for n, m, _, piece in said],
                                               [(n, m, piece) for n, m, _, piece in expected]), 0)
    errors = [abs(float(row[2]) - p) for row, (_, _, p, _) in zip(said, expected) if p == p]
    report.check("probabilities", max(errors), 1e-4)
    report.check("lines without a mask", sum((row[2] == "nan") != (p != p) for row, (_, _, p, _) in zip(said, expected)), 0)
    return report


def write_modules(folder, pooling):
    """Makes the folder one of sentence-transformers, with these settings of the pooling, and vectors of length 1."""
    names = ("Transformer", "Pooling", "Normalize")
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "path": "1_Pooling" if i == 1 else "", "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(names)]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(pooling)


def embed(arguments, folder):
    report, vocabulary = Report(), subwords.WordPieces.learn(CORPUS, 350)
    published_folder = folder / "published"
    config = {**published.BERT, "architectures": ["BertModel"], "vocab_size": len(vocabulary.pieces), "max_position_embeddings": 48}
    oracle = published.Bert(config, published.write_folder(published_folder, config, published.draw_bert(config)))
    vocabulary.write(published_folder)
    model = Text(arguments, folder, "embed", {"max_tokens": 70, "max_sequences": 5})
    lines = ["The loom's weft is lifted.", "", " \t ", "Быстрая 東京!", "weaving " * 60, "[MASK] [SEP] café", "a"] * 3

    def expected(longest, pool):
        for line in lines:
            ids = vocabulary.encode(line)
            ids = ids if len(ids) <= longest else ids[:longest - 1] + ids[-1:]
            yield pool(oracle.hidden(torch.tensor(ids), torch.zeros(len(ids), dtype=torch.long)).detach())

    def check(what, longest, pool):
        wanted = torch.stack(list(expected(longest, pool))).numpy()
        rows = np.asarray([json.loads(line) for line in model.lines(lines)], np.float32)
        report.check(what, np.abs(rows - wanted).max(), 1e-4)
        return rows

    rows = check("means", 48, lambda hidden: hidden.mean(0))
    report.check("line that is cut", int("line 5 has" not in model.said), 0)
    report.check("numbers of two devices that differ", differ(model.lines(lines, model.two_devices), model.lines(lines)), 0)
    report.check("lines in a pipe that differ", differ(model.in_pipe(lines[:4]), model.lines(lines[:4])), 0)
    report.check("printed lines beside a file", len(model.lines(lines, f"--output={folder}/rows.npy")), 0)
    report.check("numbers in a file that differ", int((np.load(folder / "rows.npy") != rows).sum()), 0)

    (published_folder / "sentence_bert_config.json").write_text('{"max_seq_length": 9}')
    write_modules(published_folder, '{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}')
    check("by modules.json", 9, lambda hidden: torch.nn.functional.normalize(torch.cat([hidden[0], hidden.max(0).values]), dim=0))
    return report


def embed_decoder(arguments, folder):
    """Vectors of a decoder's hidden states. Texts begin with the begin mark."""

    class Vectors(LlamaOfPieces):
        command = "embed"

    report, model = Report(), Vectors(arguments, folder)
    lines = [text.strip() for text in prompts() if "\n" not in text] + ["weft " * 100]

    def check(what, pool):
        unit = lambda text: torch.nn.functional.normalize(pool(model.oracle.hidden(torch.tensor(model.tokens(text)[:model.positions]))), dim=0)
        wanted = torch.stack([unit(text).detach() for text in lines]).numpy()
        rows = np.asarray([json.loads(line) for line in model.lines(lines)], np.float32)
        report.check(what, np.abs(rows - wanted).max(), 1e-4)

    check("means", lambda hidden: hidden.mean(0))
    report.check("line that is cut", int(f"line {len(lines)} has" not in model.said), 0)
    report.check("numbers of two devices that differ", differ(model.lines(lines, model.two_devices), model.lines(lines)), 0)
    write_modules(folder / "published", '{"pooling_mode_lasttoken": true}')
    check("last tokens, by modules.json", lambda hidden: hidden[-1])
    return report


CASES = {"generate": generate, "generate-llama": lambda *a: generate(*a, Llama),
         "generate-pieces": lambda *a: generate(*a, LlamaOfPieces), "generate-gguf": generate_gguf,
         "generate-gguf-pieces": lambda *a: generate(*a, GemmaOfGguf), "sample": sample, "answers": answers, "fill": fill, "embed": embed,
         "embed-decoder": embed_decoder}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = CASES[arguments.case](arguments, Path(folder))
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
