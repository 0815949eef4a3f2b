"""Compares published families with the results of Hugging Face's transformers for small random folders, and with the
same models as GGUF files. The folders are not in this repository; run.py says where they are.

    families.py --bin build/bin --references FOLDER --family NAME [--folder-only] [--target=NAME]

Compares logits of sequences of 1, 7 and 33 tokens, the same with PEFT's adapter, the loss and every gradient, 20 steps
of AdamW, greedy tokens with caches, and the logits of the folder's GGUF file. An encoder that has labels.json predicts
these."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import gpt_oss_file
from compiled import Model, Report, decode_with_cache, default_target, relative
from tensor_files import load_safetensors, pack, pack_targets, save_safetensors, without_labels

BOUND = 1e-4  # relative norm
MARGIN = 1e-3  # if the two best logits differ by more, the greedy token must be the same
TEXT = {"max_tokens": 64, "max_sequences": 8, "max_length": 40, "logits_entry": True, "token_weights": False}
TRAINING = {**TEXT, "schedule": "constant", "warmup": 1, "learning_rate": 1e-3, "adam_beta2": 0.999, "adam_epsilon": 1e-8}


def published(origin, tied, tensors):
    """Returns a weight's value, or that of the first of `tied`, from the tensors of a folder; None if there is none.
    `origin` is the weight's in the artifact's description."""
    find = lambda names: next((tensors[name] for name in names if name in tensors), None)
    if "experts.*" in origin["from"][0]:
        return of_experts(origin["from"][0], tensors)
    if count := origin.get("stack"):
        return np.concatenate([find([name.replace("*", str(i)) for name in origin["from"]]) for i in range(count)])
    value = find(origin["from"] + [name.replace("block_sparse_moe", "mlp") for name in origin["from"]] +
                 [in_memory(name) for name in origin["from"]] + tied)
    if value is not None and value.ndim == 3 and origin.get("matrices"):
        value = value.reshape(-1, value.shape[-1])
    if "pick" in origin:
        groups, of, index, *count = origin["pick"]
        value = value.reshape(groups, of, -1, *value.shape[1:])[:, index:index + (count or [1])[0]].reshape(-1, *value.shape[1:])
    if isinstance(origin.get("rows"), list):
        first, shape = origin["rows"][0], origin["shape"]
        value = value[first:first + shape[-1 if origin.get("transpose") or len(shape) == 1 else 0]]
    if value is not None and origin.get("matrices"):
        count = origin["matrices"]
        return value.reshape(count, -1, value.shape[-1]).transpose(0, 2, 1).reshape(-1, value.shape[0] // count)
    if "part" in origin:
        index, of = origin["part"]
        value = np.split(value, of, -1)[index]
    if "interleaved" in origin:
        index, of = origin["interleaved"]
        value = value[..., index::of]
    return value if value is None or value.ndim < 3 else value.reshape(-1, value.shape[-1])


def in_memory(name):
    """Returns transformers' name in memory for a tensor of a GraniteMoe folder."""
    for theirs, own in {"input_linear.weight": "experts.gate_up_proj", "output_linear.weight": "experts.down_proj", "router.layer": "router"}.items():
        name = name.replace(f"block_sparse_moe.{theirs}", f"block_sparse_moe.{own}")
    return name


def of_experts(name, tensors):
    """Returns the gradient of a weight with a matrix for each expert. transformers holds those of all experts in one tensor, and gates and
    inner matrices one below the other."""
    stem, own = name.replace("block_sparse_moe", "mlp").split(".*.")
    both = own.removesuffix(".weight") not in ("w2", "down_proj")
    value = tensors[f"{stem}.{'gate_up_proj' if both else 'down_proj'}"]
    if both:
        value = np.split(value, 2, 1)[0 if own.startswith(("w1", "gate")) else 1]
    return value.transpose(0, 2, 1).reshape(-1, value.shape[1])


def roberta_marks(begin, end):
    return {"type": "RobertaProcessing", "cls": ["<s>", begin], "sep": ["</s>", end], "trim_offsets": True, "add_prefix_space": False}


class Case:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.report = arguments, folder, Report()
        self.family = Path(arguments.references, arguments.family).resolve()
        self.ids = self.read("ids.json")
        self.logits = load_safetensors(self.family / "reference" / "logits.safetensors")

    def read(self, name):
        return json.loads((self.family / "reference" / name).read_text())

    def compile(self, name, model, keys, *flags):
        folder = Path(self.folder, name)
        folder.mkdir()
        (folder / "weights").symlink_to(model)
        return Model(SimpleNamespace(bin=self.arguments.bin, model=model), keys, folder, self.arguments.target,
                     flags=[*flags, *(self.arguments.flag or [])])

    def with_tokenizer(self, name, **changes):
        """Returns a folder of the same model, with other entries in its tokenizer.json."""
        folder = Path(self.folder, name)
        folder.mkdir()
        for file in self.family.iterdir():
            if file.is_file() and file.name != "tokenizer.json":
                (folder / file.name).symlink_to(file)
        tokenizer = json.loads((self.family / "tokenizer.json").read_text())
        (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, **changes}))
        return folder

    def texts(self):
        return without_labels(pack_targets([([], ids, ids) for ids in self.ids], token_scale=False))

    def check_logits(self, what, model, weights="weights", expected=None):
        (logits,) = model.call("logits", self.texts(), ["logits"], variables=weights)
        expected = np.concatenate([np.atleast_2d((expected or self.logits)[str(i)]) for i in range(len(self.ids))])
        self.report.check(what, relative(logits, expected), BOUND)

    def check_hidden(self, model):
        """The hidden states times the projection are the reference's logits."""
        (hidden,) = model.call("encode", self.texts(), ["hidden"])
        config, tensors = json.loads((self.family / "config.json").read_text()), load_safetensors(self.family / "model.safetensors")
        names = ("lm_head.weight", "embed_out.weight", "model.embed_tokens.weight", "transformer.wte.weight", "gpt_neox.embed_in.weight")
        head = next(tensors[name] for name in names if name in tensors)
        logits = hidden @ head.T / config.get("logits_scaling", 1) * config.get("logit_scale", 1)
        if cap := config.get("final_logit_softcapping"):
            logits = np.tanh(logits / cap) * cap
        self.report.check("hidden states, by their logits", relative(logits, np.concatenate([self.logits[str(i)] for i in range(len(self.ids))])), BOUND)

    def batch(self):
        return pack_targets([([], ids[:-1], ids[1:]) for ids in self.ids if len(ids) > 1])

    def check_gradients(self, model):
        (loss,) = model.call("accumulate_step", self.batch(), ["loss"], variables="weights", save="gradients.safetensors")
        self.report.check("loss", abs(loss.item() - self.read("adam.json")[0]), 1e-5)
        found = load_safetensors(f"{model.folder}/gradients.safetensors")
        expected = load_safetensors(self.family / "reference" / "gradients.safetensors")
        said = subprocess.run([f"{self.arguments.bin}/heddle-inspect", "--json", model.artifact], capture_output=True, check=True).stdout
        for name, origin in json.loads(said)["description"]["tensors"].items():
            tied = ["lm_head.decoder.weight"] if name == "embedding" else []
            theirs = published(origin, tied, expected)
            if theirs is None and "grad." + name not in found:  # a buffer, which is not trained
                continue
            gradient = found["grad." + name]
            if origin.get("flat") == "columns":
                theirs = theirs.T.reshape(-1)
            if origin.get("rows") == "leading":  # other rows have no gradient in these sequences
                rows = theirs[origin.get("skip", 0):]
                theirs = rows[:len(gradient)] if gradient.ndim == theirs.ndim else rows[0]
            # A key's bias adds one number to all scores of a query, so its gradient is zero but for rounding.
            if name.endswith("key.bias") and np.abs(theirs).max() < 1e-6:
                self.report.check(f"gradient of {name}", np.abs(gradient).max(), 1e-6)
                continue
            theirs = theirs.reshape(-1) if gradient.ndim == 1 else theirs
            turned = origin.get("transpose") and "matrices" not in origin
            self.report.check(f"gradient of {name}", relative(gradient.T if turned else gradient, theirs), 1e-3)

    def check_steps(self, model):
        # In this folder's batch no token chooses the expert 3. Its router has a gradient of rounding errors, which Adam enlarges. After eight
        # steps they decide a choice.
        expected, found = self.read("adam.json")[:8 if self.arguments.family == "qwen3-moe" else None], []
        for step in range(len(expected)):
            (loss,) = model.call("train_step", self.batch(), ["loss"], variables=None if step else "weights")
            found.append(loss.item())
        self.report.check(f"losses of {len(expected)} steps", max(abs(a - b) for a, b in zip(found, expected)), BOUND)

    def decode(self, model, ids):
        """Returns the logits of a sequence, computed token by token with caches."""
        i32, rows = lambda *values: np.asarray(values, np.int32), []
        for step, token in enumerate(ids):
            (logits,) = model.call("decode_step", {
                "token": i32(token), "position": i32(step), "query_starts": i32(0), "query_lengths": i32(1), "cache_rows": i32(step),
                "cache_starts": i32(0), "cache_lengths": i32(step + 1)}, ["logits"], variables=None if step else "weights")
            rows.append(logits.reshape(-1))
        return np.stack(rows)

    def check_greedy(self, model):
        greedy, wrong = self.read("greedy.json"), 0
        tokens = np.argmax(self.decode(model, greedy["prompt"] + greedy["tokens"][:-1]), -1)
        for token, expected, margin in zip(tokens[len(greedy["prompt"]) - 1:], greedy["tokens"], greedy["margins"], strict=True):
            wrong += token != expected and margin > MARGIN
        self.report.check("greedy tokens that differ", wrong, 0)


    def check_adapter(self, model):
        """Merges the base with PEFT's adapter."""
        with self.compile("adapter", self.family, TEXT, f"--lora={self.family}/adapter") as lora:
            subprocess.run([f"{self.arguments.bin}/heddle-run", "merge", lora.artifact, "--base", self.family, "--checkpoint",
                            self.family / "adapter", "--output", f"{model.folder}/merged"], check=True, capture_output=True)
        self.check_logits("logits with the adapter", model, "merged", load_safetensors(self.family / "reference" / "adapter.safetensors"))
        if self.arguments.family == "gpt2":
            with self.compile("trained", self.family, {"max_tokens": 64, "max_length": 40}, f"--lora={self.family}/adapter") as lora:
                self.check_trained(lora)

    def check_trained(self, lora):
        """Merges a checkpoint that has no files of PEFT's, because tensors hold several linear transformations."""
        at = lambda name: f"{lora.folder}/{name}"
        tool = lambda *words, lines="": subprocess.run([f"{self.arguments.bin}/heddle-run", *map(str, words)], input=lines, text=True, check=True,
                                                       capture_output=True).stdout
        Path(at("data.jsonl")).write_text(json.dumps({"prompt": "in the", "completion": " ing"}) + "\n")
        tool("train", lora.artifact, "--base", self.family, "--weights", self.family / "adapter", "--data", at("data.jsonl"), "--steps", 2,
             "--checkpoint", at("trained"))
        tool("merge", lora.artifact, "--base", self.family, "--checkpoint", at("trained"), "--output", at("merged"))
        ask = lambda artifact, *weights: tool("generate", artifact, *weights, "--tokens", 20, "--greedy", lines="in the\nthe\n")
        beside, within = ask(lora.artifact, "--base", self.family, "--checkpoint", at("trained")), ask(lora.artifact, "--checkpoint", at("merged"))
        self.report.check("texts with a merged checkpoint that differ", int(beside != within), 0)


    def check_gpt_oss_file(self):
        """A GGUF file has the logits of the folder with YaRN's limits rounded, as llama.cpp rounds them. Packed experts have those of the
        folder."""
        rounded = Path(self.folder, "rounded")
        rounded.mkdir()
        config = json.loads((self.family / "config.json").read_text())
        config["rope_parameters"]["truncate"] = True
        (rounded / "config.json").write_text(json.dumps(config))
        (rounded / "model.safetensors").symlink_to(self.family / "model.safetensors")
        with self.compile("of-folder", rounded, TEXT) as model:
            (expected,) = model.call("logits", self.texts(), ["logits"], variables="weights")
        file = Path(self.folder, "model.gguf")
        gpt_oss_file.write(file, self.family)
        with self.compile("of-file", file, TEXT) as model:
            (found,) = model.call("logits", self.texts(), ["logits"], variables="weights")
        self.report.check("logits of a GGUF file, limits rounded", relative(found, expected), 1e-5)
        with self.compile("inference", self.family, TEXT, "--entries=inference") as model:
            self.check_logits("logits for inference", model)
            said = subprocess.run([f"{self.arguments.bin}/heddle-inspect", "--json", model.artifact], capture_output=True, check=True).stdout
        words = [v for v in json.loads(said)["variables"] if v["name"].endswith("feed_forward.gate") and v["type"] == "i32"]
        self.report.check("experts that are not kept packed", len(words) - config["num_hidden_layers"] * ("quantization_config" in config), 0)

    def check_within(self, prefix):
        """Writes the model as the text part of a model that also sees images; its tensors' names begin with
        `prefix`."""
        whole = Path(self.folder, prefix)
        whole.mkdir()
        config, outer = json.loads((self.family / "config.json").read_text()), ("bos_token_id", "eos_token_id", "pad_token_id")
        (whole / "config.json").write_text(json.dumps({
            "architectures": [config.pop("architectures")[0].replace("ForCausalLM", "ForConditionalGeneration")], "mm_tokens_per_image": 4,
            **{key: config.pop(key) for key in outer}, "text_config": config, "vision_config": {"hidden_size": 8}}))
        tensors = {name.replace("model.", prefix, 1): value for name, value in load_safetensors(self.family / "model.safetensors").items()}
        tensors["vision_tower.patches.weight"] = np.zeros((2, 2), np.float32)
        save_safetensors(whole / "model.safetensors", tensors)
        with self.compile(f"{prefix}texts", whole, TEXT) as model:
            self.check_logits(f"logits of {prefix}*", model)


class Encoder(Case):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.labels = self.read("labels.json")
        self.has_types = self.family.name.startswith("bert")

    def texts(self):
        packed = pack([(ids, [], []) for ids in self.ids], token_scale=False)
        inputs = {name: value for name, value in packed.items() if name.startswith("source")}
        return {**inputs, "source_types": np.zeros_like(inputs["source"])} if self.has_types else inputs

    def predict(self, model, weights, lines):
        done = subprocess.run([f"{self.arguments.bin}/heddle-run", "predict", model.artifact, "--checkpoint", weights],
                              input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def logits_of(self, model, texts):
        """Returns the logits of one or two texts, whose words are characters of BERT's vocabulary."""
        ids = json.loads((self.family / "tokenizer.json").read_text())["model"]["vocab"]
        parts = [[ids[c] for c in text.split()] + [ids["[SEP]"]] for text in texts]
        tokens = np.asarray([ids["[CLS]"], *parts[0], *(parts[1] if len(parts) > 1 else [])], np.int32)
        types = (np.arange(len(tokens)) > len(parts[0])).astype(np.int32)
        (logits,) = model.call("logits", {"source": tokens, "source_positions": np.arange(len(tokens), dtype=np.int32), "source_types": types,
                                          "source_starts": np.zeros(1, np.int32), "source_lengths": np.asarray([len(tokens)], np.int32)}, ["logits"])
        return logits

    def check_predictions(self, model):
        """Labels by the names of config.json: of texts, of pairs of texts, of words."""
        lines, wrong = ["a b c", "x y\tq", "z"], 0
        if not isinstance(self.labels[0], list):  # a mark within a text begins no second text
            lines += ["a [SEP] b", "a [SEP] b\tq [SEP] x"]
        expected = [self.logits_of(model, line.split("\t")) for line in lines]
        lines.append("")
        for said, rows, line in zip(self.predict(model, self.family, lines), expected, lines):
            if isinstance(self.labels[0], list):
                wrong += "\t" not in line and said.split() != [f"LABEL_{label}" for label in rows.argmax(1)[1:1 + len(line.split())]]
                continue
            name, probability = said.split("\t")
            softmax = np.exp(rows[0] - rows[0].max()) / np.exp(rows[0] - rows[0].max()).sum()
            wrong += name != f"LABEL_{rows[0].argmax()}" or abs(float(probability) - softmax.max()) > 1e-5
        self.report.check("wrong predictions", wrong, 0)

    def check_filling(self):
        """Fills in a mask of RoBERTa's vocabulary of bytes, which the folder lacks and gets here."""
        ids = json.loads((self.family / "tokenizer.json").read_text())["model"]["vocab"]
        marks = {"<s>": ids["<s>"], "</s>": ids["</s>"], "<mask>": len(ids)}
        added = [{"id": id, "content": text, "special": True, "lstrip": text == "<mask>", "normalized": text == "<mask>"}
                 for text, id in marks.items()]
        whole = self.with_tokenizer("masks", added_tokens=added, normalizer={"type": "NFKC"},
                                    post_processor=roberta_marks(marks["<s>"], marks["</s>"]))
        space = "\u0120"
        tokens = [marks["<s>"], ids["a"], marks["<mask>"], ids[space], ids["b"], marks["</s>"]]
        sequence = {"source": tokens, "source_positions": range(len(tokens)), "source_starts": [0], "source_lengths": [len(tokens)]}
        with self.compile("filling", whole, TEXT) as model:
            (logits,) = model.call("logits", {name: np.asarray(value, np.int32) for name, value in sequence.items()}, ["logits"], variables="weights")
            run = lambda text, *flags: subprocess.run([f"{self.arguments.bin}/heddle-run", "fill", model.artifact, "--checkpoint", whole, *flags],
                                                      input=text + "\n", capture_output=True, text=True, check=True)
            choices, filled = [[line.split("\t") for line in run("a <mask> b", *flags).stdout.splitlines()] for flags in (["--top-k=3"], [])]
            wide = "a \uff1cmask\uff1e <mask>"  # NFKC makes the mask of fullwidth brackets
            unspelled = run(wide)
            self.check_hidden_words(model.artifact, whole)
        best = np.argsort(-logits[2])[:3]
        names = {id: piece for piece, id in ids.items()} | {marks["<mask>"]: "<mask>"}
        self.report.check("choices that differ", sum(line[3] != names.get(id, f"#{id}") for line, id in zip(choices, best.tolist(), strict=True)), 0)
        text = "a" + names.get(int(best[0]), "").replace(space, " ") + " b"  # the mask takes the space before it
        self.report.check("filled lines that differ", int(filled != [[text]]), 0)
        self.report.check("masks of another spelling that are replaced",
                          int("is not written <mask>" not in unspelled.stderr or unspelled.stdout != wide + "\n"), 0)

    def check_hidden_words(self, artifact, whole):
        """Trains on hidden words of plain text, interrupted and not."""
        text = Path(self.folder, "hidden.txt")
        text.write_text("a b c d e f\nb c a\n\nf e d c b a a b c\n" * 20)
        def train(name, steps, *flags):
            subprocess.run([f"{self.arguments.bin}/heddle-run", "train", artifact, "--text", text, "--checkpoint", Path(self.folder, name),
                            "--steps", str(steps), "--documents=blank-lines", *flags], capture_output=True, check=True)
        train("whole", 4, "--weights", whole)
        train("parts", 2, "--weights", whole)
        train("parts", 4, "--resume")
        weights = [load_safetensors(Path(self.folder, name, "step-00000004", "weights.safetensors")) for name in ("whole", "parts")]
        self.report.check("weights of a resumed training that differ", sum(not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0]), 0)
        start = load_safetensors(self.family / "model.safetensors")
        self.report.check("weights that training leaves", int(np.array_equal(weights[0]["embedding"], start["roberta.embeddings.word_embeddings.weight"])), 0)

    def check_fresh_head(self):
        """A training begins with an encoder that has another head, with labels of its own."""
        folder = Path(self.folder, "fresh")
        base = Path(self.arguments.references, "bert-mlm").resolve()
        records = [json.dumps({"text": f"a b {word}", "label": label}) for word, label in (("x", "ham"), ("y", "spam"), ("z", "eggs"))] * 20
        with self.compile("fresh", base, {**TEXT, "schedule": "constant", "warmup": 1, "learning_rate": 1e-3, "classes": 3, "dropout": 0.0},
                          "--architecture=BertForSequenceClassification") as model:
            (folder / "records.jsonl").write_text("".join(record + "\n" for record in records))
            done = subprocess.run([f"{self.arguments.bin}/heddle-run", "train", model.artifact, "--weights", base, "--data", folder / "records.jsonl",
                                   "--checkpoint", folder / "tuned", "--steps", "40"], capture_output=True, text=True, check=True)
            said = self.predict(model, folder / "tuned", ["a b x", "a b y", "a b z"])
            lacking = subprocess.run([f"{self.arguments.bin}/heddle-run", "predict", model.artifact, "--checkpoint", base], input="a\n",
                                     capture_output=True, text=True)
        self.report.check("line of what starts fresh", int("these start fresh: label.bias, label.weight, pooler.bias, pooler.weight" not in done.stderr), 0)
        self.report.check("labels not learnt", sum(line.split("\t")[0] != label for line, label in zip(said, ("ham", "spam", "eggs"))), 0)
        self.report.check("predictions without a head", int(lacking.returncode != 1 or "has no tensor for the weight" not in lacking.stderr), 0)

    def check_grades(self):
        """A model with one label grades its texts by the logit."""
        whole = Path(self.folder, "single")
        whole.mkdir()
        config = json.loads((self.family / "config.json").read_text())
        (whole / "config.json").write_text(json.dumps({**config, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}))
        (whole / "tokenizer.json").write_text((self.family / "tokenizer.json").read_text())
        tensors = load_safetensors(self.family / "model.safetensors")
        save_safetensors(whole / "model.safetensors", {
            name: value[:1] if name.startswith("classifier.") else value for name, value in tensors.items()})
        lines = ["a b c\tx y", "a b c\tz"]
        with self.compile("grades", whole, TEXT) as model:
            model.call("logits", self.texts(), ["logits"], variables="weights")
            expected = [float(self.logits_of(model, line.split("\t"))[0, 0]) for line in lines]
            said = [float(line) for line in self.predict(model, whole, lines)]
        self.report.check("grades of pairs", np.abs(np.subtract(said, expected)).max(), 1e-5)

    def batch(self):
        inputs = self.texts()
        if isinstance(self.labels[0], list):  # each token has a label
            inputs["source_labelled"] = np.arange(len(inputs["source"]), dtype=np.int32)
        labels = np.concatenate([np.atleast_1d(label) for label in self.labels]).astype(np.int32)
        return {**inputs, "source_label": labels, "token_scale": np.asarray([1 / len(labels)], np.float32)}


class Translator(Case):
    """An encoder with a decoder: sequences are pairs, whose target begins with the start mark in the decoder's input."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        config = json.loads((self.family / "config.json").read_text())
        self.start = config["decoder_start_token_id"]
        self.triples = [(source, [self.start, *target[:-1]], target) for source, target in self.ids]

    def texts(self):
        return without_labels(pack(self.triples, token_scale=False))

    def batch(self):
        return pack(self.triples)

    def check_beams(self, model):
        """transformers' hypotheses and scores, by `heddle-run translate`."""
        beams, wrong, error = self.read("beams.json"), 0, 0
        for penalty, expected in beams["by_length_penalty"].items():
            said = self.translate(model, [" ".join(map(str, beams["source"]))], "--ids", f"--length-penalty={penalty}")
            for (_, score, ids), sequence, theirs in zip(said, expected["sequences"], expected["scores"], strict=True):
                padding = json.loads((self.family / "config.json").read_text())["pad_token_id"]
                tokens = sequence[1:]
                while tokens[-1] == padding and tokens[-1] != self.ids[0][1][-1]:
                    tokens.pop()
                wrong += [int(token) for token in ids.split()] != tokens
                error = max(error, abs(float(score) - theirs))
        self.report.check("hypotheses that differ", wrong, 0)
        self.report.check("scores", error, 1e-4)

    def translate(self, model, lines, *flags, folder=None, check=True):
        done = subprocess.run([f"{self.arguments.bin}/heddle-run", "translate", model.artifact, "--checkpoint", folder or self.family, "--beam=4", "--n-best=4",
                               "--max-length=12", "--beam-rule=hugging-face", *flags], input="".join(line + "\n" for line in lines),
                              capture_output=True, text=True, errors="replace", check=check)
        return [line.split("\t") for line in done.stdout.splitlines()] if check else done

    def check_begin(self, model):
        """A text's source begins with the tokenizer's begin mark; ids are taken as they are."""
        end = json.loads((self.family / "config.json").read_text())["eos_token_id"]
        pieces = json.loads((self.family / "tokenizer.json").read_text())["model"]["vocab"]
        folder = self.with_tokenizer("begin", post_processor=roberta_marks(pieces["<s>"], end))
        ids = self.translate(model, [f"{pieces['<s>']} {pieces['a']}"], "--ids")
        said = self.translate(model, ["a"], folder=folder)
        self.report.check("scores without the begin mark", sum(a[1] != b[1] for a, b in zip(said, ids, strict=True)), 0)

    def check_languages(self, model):
        """The tokens of two codes begin source and translation. Only added tokens serve as codes."""
        pieces = [piece for piece, _ in json.loads((self.family / "tokenizer.json").read_text())["model"]["vocab"]]
        code, other, source = pieces.index("A"), pieces.index("B"), self.read("beams.json")["source"]
        ids = " ".join(map(str, source))
        added = [{"id": pieces.index(code), "content": code, "special": True} for code in "AB"]
        folder = self.with_tokenizer("languages", added_tokens=added)
        translate = lambda lines, *flags: self.translate(model, lines, *flags, folder=folder)
        said = translate([ids], "--ids", "--from=A", "--to=B")
        self.report.check("first tokens that are no language", sum(int(line[2].split()[0]) != other for line in said), 0)
        self.report.check("rows that differ from ids with the language",
                          int(said != translate([f"{code} {ids}"], "--ids", "--to=B")), 0)
        self.report.check("rows that differ from columns", int(said != translate([f"A\tB\t{ids}"], "--ids", "--language-columns")), 0)
        tokens = [int(token) for token in said[0][2].split()]
        ends = tokens[-1] == source[-1]
        start = np.asarray([self.start, *tokens[:-1]], np.int32)
        inputs = pack([([code, *source], start.tolist(), tokens)], token_scale=False)
        (logits,) = model.call("logits", without_labels(inputs), ["logits"])
        rows = logits - logits.max(1, keepdims=True)
        chosen = (rows - np.log(np.exp(rows).sum(1, keepdims=True)))[np.arange(len(tokens)), tokens]
        free = chosen[1:-1] if ends and len(tokens) == 12 else chosen[1:]  # the forced end costs nothing
        self.report.check("score of what is not forced", abs(free.sum() / len(tokens) - float(said[0][1])), 1e-4)
        texts = translate(["abc"], "--from=A", "--to=B")
        self.report.check("texts that begin with the language", sum(line[2].startswith("B") for line in texts), 0)
        piece = self.translate(model, ["abc"], "--to=C", folder=folder, check=False)
        self.report.check("pieces that serve as codes", int(piece.returncode != 1 or "has no token 'C'" not in piece.stderr), 0)
        prefix = Path(self.folder, "prefix")
        prefix.write_text("a b c d e f g h i j k l m n o\n")
        cut = self.translate(model, ["abc"], "--to=B", f"--prefix={prefix}", folder=folder, check=False)
        self.report.check("prefixes with a language that are not cut", int(cut.returncode != 0 or "a prefix of" not in cut.stderr), 0)

    def check_generation_config(self, model):
        """A translation begins with the folder's forced token, and scores have its length penalty, unless flags say otherwise."""
        source = self.read("beams.json")["source"]
        other = source[0]
        ids = [" ".join(map(str, source))]
        def translate(name, *flags, check=True, **keys):
            folder = Path(self.folder, name)
            folder.mkdir()
            for file in self.family.iterdir():
                if file.is_file() and file.name != "generation_config.json":
                    (folder / file.name).symlink_to(file)
            config = json.loads((self.family / "generation_config.json").read_text())
            (folder / "generation_config.json").write_text(json.dumps({**config, **keys}))
            return self.translate(model, ids, "--ids", *flags, folder=folder, check=check)
        forced = translate("forced", forced_bos_token_id=other)
        self.report.check("translations without the forced token", sum(int(line[2].split()[0]) != other for line in forced), 0)
        for name, flags, keys, same in (("default", [], {}, ["--length-penalty=1"]), ("folder", [], {"length_penalty": 0.6}, ["--length-penalty=0.6"]),
                                        ("flag", ["--length-penalty=0.6"], {"length_penalty": 2}, ["--length-penalty=0.6"])):
            self.report.check(f"scores that lack the penalty: {name}", int(translate(name, *flags, **keys) != self.translate(model, ids, "--ids", *same)), 0)
        for key, value in (("forced_bos_token_id", 1 << 40), ("forced_bos_token_id", "a"), ("length_penalty", -1), ("length_penalty", []), ("min_length", -1),
                           ("no_repeat_ngram_size", 1.5)):
            done = translate(f"wrong-{key}-{value}", check=False, **{key: value})
            self.report.check(f"{key} {value} accepted", int(done.returncode not in (1, 2) or key not in done.stderr), 0)
        warned = translate("others", check=False, repetition_penalty=1.5, no_repeat_ngram_size=3, suppress_tokens=[])
        self.report.check("keys that are not named", int("sets repetition_penalty, which" not in warned.stderr), 0)
        for name, flags, keys, same in (("repeats", [], {"no_repeat_ngram_size": 2}, ["--no-repeat-ngram=2"]), ("length", [], {"min_length": 7}, ["--min-length=6"]),
                                        ("new", [], {"min_new_tokens": 6}, ["--min-length=6"]), ("unlike", ["--min-length=0"], {"min_length": 7}, [])):
            self.report.check(f"rules that are not the folder's: {name}", int(translate(name, *flags, **keys) != self.translate(model, ids, "--ids", *same)), 0)

    def check_caches(self, model):
        steps = 21
        cached = decode_with_cache(model, self.triples, steps)
        expected = np.concatenate([self.logits[str(i)][:steps] for i in range(len(self.ids))])
        self.report.check("logits with caches", relative(cached, expected), BOUND)


def check(arguments):
    """Returns the number of comparisons that failed."""
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(arguments.references, arguments.family, "reference")
        kind = Encoder if (reference / "labels.json").exists() else Translator if (reference / "beams.json").exists() else Case
        case = kind(arguments, folder)
        with case.compile("sums", case.family, {**TRAINING, "accumulate": True}) as model:
            case.check_logits("logits", model)
            if kind is Case:
                case.check_hidden(model)
            case.check_gradients(model)
            if (case.family / "adapter").exists():
                case.check_adapter(model)
            if kind is Translator:
                case.check_caches(model)
                case.check_beams(model)
            if arguments.family == "bart":
                case.check_begin(model)
            if arguments.family == "mbart":
                case.check_languages(model)
                case.check_generation_config(model)
            if arguments.family in ("bert-sequence", "bert-tokens"):
                case.check_predictions(model)
        if arguments.family == "roberta-mlm":
            case.check_filling()
        if arguments.family == "bert-sequence":
            case.check_grades()
            case.check_fresh_head()
        with case.compile("steps", case.family, TRAINING) as model:
            if (case.family / "reference" / "greedy.json").exists():
                case.check_greedy(model)
            elif kind is Case:  # sequences choose the frequencies by their length; a sequence that is decoded has those of long ones
                case.report.check("logits with caches", relative(case.decode(model, case.ids[-1]), case.logits[str(len(case.ids) - 1)]), BOUND)
            case.check_steps(model)
        if arguments.family.startswith("gpt-oss"):
            case.check_gpt_oss_file()
        if arguments.family == "gemma3":
            for prefix in ("language_model.model.", "model.language_model."):
                case.check_within(prefix)
        if (file := case.family / "model.gguf").exists() and not arguments.folder_only:
            with case.compile("file", file, TEXT) as model:
                case.check_logits("logits of the GGUF file", model)
        print(f"{arguments.family}: {case.report.failed} failed")
        return case.report.failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--flag", action="append", help="of heddle-compile")
    parser.add_argument("--folder-only", action="store_true")
    parser.add_argument("--target", default=default_target())
    arguments = parser.parse_args()
    sys.exit(check(arguments) != 0)


if __name__ == "__main__":
    main()
