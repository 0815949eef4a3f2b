"""Compares recurrent models with PyTorch's modules, from the same weights: logits of whole sequences and token by
token, every gradient, two weights by finite differences, and 20 losses of Adam.

    recurrence.py --bin build/bin --models models --case NAME

Lengths include 1, 7 and 33, and no tile divides the widths."""

import argparse
import pathlib
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import torch

import tensor_files
from compiled import LENGTHS, Model, Report, decode_with_cache, relative

HERE = pathlib.Path(__file__).parent
BOUND = 1e-5
DIFFERENCES = 1e-2  # for f32 losses, whose last bits are noise
STEPS, WARMUP, RATE = 20, 10, 0.003
COMMON = {"max_tokens": 64, "max_sequences": 8, "max_length": 33, "warmup": WARMUP, "learning_rate": RATE, "adam_beta1": 0.9,
          "adam_beta2": 0.98, "adam_epsilon": 1e-9, "clip_norm": 0.0, "accumulate": True, "logits_entry": True, "vocab_size": 41}


class Cell:
    """A layer of PyTorch's with our weights. `input` and `state` are the library cell's two linear transformations, x W
    + b and h U (+ b)."""

    GATES = {"rnn": 1, "gru": 3, "lstm": 4}
    FUNCTIONS = {"rnn": torch._VF.rnn_tanh, "gru": torch._VF.gru, "lstm": torch._VF.lstm}

    def __init__(self, kind, weights, path):
        self.kind, self.weights, self.path = kind, weights, path
        self.width = weights[path + "state.weight"].shape[0]

    def __call__(self, rows, begin=None):
        """Returns the states after each row, and the last one."""
        w = self.weights
        bias = w[self.path + "input.bias"]
        # Calls the function as torch.nn.LSTM does; it takes the transposed weights.
        flat = [w[self.path + "input.weight"].T.contiguous(), w[self.path + "state.weight"].T.contiguous(), bias,
                w.get(self.path + "state.bias", torch.zeros_like(bias))]
        begin = begin or [torch.zeros(self.width)] * (2 if self.kind == "lstm" else 1)
        begin = tuple(state.view(1, 1, -1) for state in begin)
        states, *last = self.FUNCTIONS[self.kind](rows.unsqueeze(1), begin if self.kind == "lstm" else begin[0], flat, True, 1,
                                                  0.0, True, False, False)
        return states.squeeze(1), tuple(value.view(-1) for value in last)


class Oracle:
    pairs = True  # of a source and a target
    differs_in_eval = False  # `eval` computes something else than training

    def __init__(self, sizes, start):
        self.weights = {name: torch.tensor(value.astype(np.float64), requires_grad=True) for name, value in start.items()
                        if tensor_files.is_weight(name) and name not in self.averages()}

    def averages(self):
        """Returns the moving averages of the training, by name."""
        return {}

    def draw_for(self, step, stream):
        """The next losses draw their samples at this step, from this stream; most models draw none."""

    def project(self, rows, path=""):
        return rows @ self.weights[path + "weight"] + self.weights[path + "bias"]

    def batch_logits(self, batch):
        return torch.cat([self.logits(torch.tensor(source), torch.tensor(target)) for source, target, _ in batch])

    def loss(self, batch):
        labels = torch.tensor([label for _, _, labels in batch for label in labels])
        return torch.nn.functional.cross_entropy(self.batch_logits(batch), labels)


class Language(Oracle):
    """PyTorch version of texts/recurrent.weft."""

    pairs = False

    def __init__(self, sizes, start):
        super().__init__(sizes, start)
        self.layers = [Cell(sizes["cell"], self.weights, f"stack.{i}.") for i in range(sizes["layers"])]

    def logits(self, source, target):
        rows = self.weights["table"][target]
        for layer in self.layers:
            rows, _ = layer(rows)
        return self.project(rows)


class Seq2seq(Oracle):
    """PyTorch version of models/seq2seq.weft."""

    def logits(self, source, target):
        _, begin = Cell("lstm", self.weights, "encoder.")(self.weights["source_table"][source].flip(0))
        states, _ = Cell("lstm", self.weights, "decoder.")(self.weights["target_table"][target], begin)
        return self.project(states, "output.")


class EncoderDecoder(Oracle):
    """PyTorch version of models/encoder-decoder-gru.weft."""

    def logits(self, source, target):
        _, (state,) = Cell("gru", self.weights, "left.")(self.weights["source_table"][source].flip(0))
        summary = torch.tanh(self.project(state, "summary."))
        rows = self.weights["target_table"][target]
        states, _ = Cell("gru", self.weights, "decoder.")(torch.cat([rows, summary.expand(len(rows), -1)], 1), (summary,))
        return self.project(states, "output.")


class Luong(Oracle):
    """PyTorch version of models/luong.weft."""

    def __init__(self, sizes, start):
        super().__init__(sizes, start)
        self.sizes = sizes
        self.path = "attention.result." if sizes["feed"] else "attention."

    def attend(self, states, notes, places):
        """Returns the weights for several states at these places, or for one state."""
        sizes, w = self.sizes, {name.removeprefix(self.path): value for name, value in self.weights.items()}
        query = states if sizes["score"] == "dot" else states @ w["query.weight"]
        if sizes["score"] == "concat":
            scores = torch.tanh(query[:, None] + notes @ w["scores.keys.weight"]) @ w["scores.v"]
        else:
            scores = query @ notes.T
        keys = torch.arange(len(notes))
        if sizes["align"] == "monotonic":
            scores = scores.masked_fill((places[:, None] - keys).abs() > sizes["window"], -torch.inf)
        weights = torch.softmax(scores, 1).nan_to_num()  # if no note is near enough, nothing is read
        if sizes["align"] == "predictive":
            predicted = len(notes) * torch.sigmoid(torch.tanh(states @ w["weights.place.weight"]) @ w["weights.direction"])
            weights = weights * torch.exp(-((keys - predicted[:, None]) ** 2) / (2 * (sizes["window"] / 2) ** 2))
        self.attended = {"attention": weights[None]}
        return torch.tanh(self.project(torch.cat([weights @ notes, states], 1), self.path + "attended."))

    def logits(self, source, target):
        rows = self.weights["source_table"][source]
        right, _ = Cell("gru", self.weights, "right.")(rows)
        left, _ = Cell("gru", self.weights, "left.")(rows.flip(0))
        left = left.flip(0)
        notes = self.project(torch.cat([right, left], 1), "notes.")
        begin, words = torch.tanh(self.project(left[0], "begin.")), self.weights["target_table"][target]
        if not self.sizes["feed"]:
            states, _ = Cell("gru", self.weights, "attention.states.")(words, (begin,))
            return self.project(self.attend(states, notes, torch.arange(len(target))), "output.")
        state, attended, results = begin, torch.zeros(self.sizes["width"]), []
        for place, word in enumerate(words):
            _, (state,) = Cell("gru", self.weights, "attention.cell.")(torch.cat([word, attended])[None], (state,))
            attended = self.attend(state[None], notes, torch.tensor([place]))[0]
            results.append(attended)
        return self.project(torch.stack(results), "output.")


class Bahdanau(Oracle):
    """PyTorch version of models/bahdanau.weft."""

    def logits(self, source, target):
        rows = self.weights["source_table"][source]
        right, _ = Cell("gru", self.weights, "right.")(rows)
        left, _ = Cell("gru", self.weights, "left.")(rows.flip(0))
        left = left.flip(0)
        notes = torch.cat([right, left], 1)
        keys = self.project(notes, "keys.")
        state = torch.tanh(self.project(left[0], "begin."))
        words = self.weights["target_table"][target]
        output, attended = [], []
        for word in words:
            query = state @ self.weights["query.weight"]
            attended.append(torch.softmax(torch.tanh(query + keys) @ self.weights["v"], 0))
            context = attended[-1] @ notes
            _, (state,) = Cell("gru", self.weights, "cell.")(torch.cat([word, context])[None], (state,))
            output.append(torch.cat([state, word, context]))
        self.attended = {"context": torch.stack(attended)[None]}
        return self.project(torch.tanh(self.project(torch.stack(output), "deep.")), "output.")


class Distances(Oracle):
    """PyTorch version of texts/distances.weft."""

    def logits(self, source, target):
        notes = self.project(self.weights["source_table"][source], "notes.")
        words = self.weights["target_table"][target]

        def attend(name, heads, power):
            query = self.project(words, name + ".").unflatten(1, (heads, -1))
            parts = (query[:, None] - notes.unflatten(1, (heads, -1))[None]).abs() ** power
            weights = torch.softmax(-parts.sum(3), 1)  # query, key, head
            return torch.einsum("qkh,khw->qhw", weights, notes.unflatten(1, (heads, -1))).flatten(1)

        return self.project(torch.cat([attend("squares", 2, 2), attend("sizes", 3, 1), words], 1), "output.")


def luong(**own):
    return {"score": "general", "align": "global", "window": 4, "feed": False, **own}


TEXT = HERE / "texts/recurrent.weft"
CASES = {
    "rnn": (TEXT, Language, {"cell": "rnn", "width": 33, "layers": 1}),
    "gru": (TEXT, Language, {"cell": "gru", "width": 24, "layers": 1}),
    "lstm": (TEXT, Language, {"cell": "lstm", "width": 33, "layers": 1}),
    "deep": (TEXT, Language, {"cell": "lstm", "width": 20, "layers": 3}),
    "seq2seq": ("seq2seq.weft", Seq2seq, {"width": 25}),
    "luong-general": ("luong.weft", Luong, luong(width=33)),
    "luong-local": ("luong.weft", Luong, luong(width=24, score="dot", align="monotonic")),
    "luong-concat": ("luong.weft", Luong, luong(width=20, score="concat")),
    "luong-predictive": ("luong.weft", Luong, luong(width=24, align="predictive")),
    "luong-feed": ("luong.weft", Luong, luong(width=33, feed=True)),
    "luong-feed-local": ("luong.weft", Luong, luong(width=24, score="dot", align="monotonic", feed=True)),
    "luong-feed-predictive": ("luong.weft", Luong, luong(width=20, score="concat", align="predictive", feed=True)),
    "distances": (HERE / "texts/distances.weft", Distances, {"width": 24}),
    "bahdanau": ("bahdanau.weft", Bahdanau, {"width": 33, "align": 20}),
    "encoder-decoder": ("encoder-decoder-gru.weft", EncoderDecoder, {"width": 36}),
}


def draw_batch(random, vocabulary, pairs):
    batch = []
    for source, target in LENGTHS:
        words = random.integers(3, vocabulary, target - 1).tolist()
        batch.append((random.integers(3, vocabulary, source).tolist() if pairs else [], [1] + words, words + [2]))
    return batch


def pack(batch, pairs, token_scale=True):
    if pairs:
        return tensor_files.pack(batch, token_scale=token_scale)
    packed = tensor_files.pack_targets(batch)
    if not token_scale:
        packed.pop("token_scale")
    return packed


def decode(model, batch, pairs, steps):
    if pairs:
        return decode_with_cache(model, batch, steps)
    i32 = lambda values: np.asarray(list(values), np.int32)
    logits = [[] for _ in batch]
    for step in range(steps):
        going = [s for s, (_, target, _) in enumerate(batch) if step < len(target)]
        rows = [s * steps for s in going]
        (answers,) = model.call("decode_step", {
            "token": i32(batch[s][1][step] for s in going), "position": i32(step for _ in going),
            "query_starts": i32(range(len(going))), "query_lengths": i32(1 for _ in going),
            "cache_rows": i32(row + step for row in rows), "cache_starts": i32(rows),
            "cache_lengths": i32(step + 1 for _ in going)}, ["logits"])
        for s, row in zip(going, answers):
            logits[s].append(row)
    return np.concatenate([np.stack(rows) for rows in logits])


def check_differences(report, model, batch, pairs, start, gradients, random, folder):
    """Checks two weights by the loss slightly to either side of them."""
    def loss_with(name, place, by):
        moved = {**start, name: start[name].copy()}
        moved[name][place] += by
        tensor_files.save_safetensors(f"{folder}/moved.safetensors", moved)
        (losses,) = model.call("eval", pack(batch, pairs, token_scale=False), ["token_loss"], variables="moved.safetensors")
        return float(np.mean(losses, dtype=np.float64))

    names = [name for name in gradients if ".weight" in name]
    for name in random.choice(names, 2, replace=False):
        place = np.unravel_index(np.abs(gradients[name]).argmax(), gradients[name].shape)
        # A step so wide that the losses differ by more than rounding, with a fourth-order difference formula.
        width = min(max(0.02, 5e-5 / abs(float(gradients[name][place]))), 0.1)
        near, far = (loss_with(name, place, by * width) - loss_with(name, place, -by * width) for by in (1, 2))
        slope = (8 * near - far) / (12 * width)
        report.check(f"slope at {name}{list(map(int, place))}", relative([gradients[name][place]], [slope]), DIFFERENCES)


def main(cases=CASES):
    """Runs the case that the command line names. A case has a text of models/, its oracle, and settings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--case", choices=cases, required=True)
    parser.add_argument("--target", default="vulkan:software")
    parser.add_argument("--steps", type=int, default=STEPS, help="of Adam")
    parser.add_argument("--lanes", type=int, help="compile a Vulkan target for so narrow subgroups")
    arguments = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    text, oracle, own = cases[arguments.case]
    sizes = {**COMMON, **own}
    pairs = oracle.pairs
    random, report = np.random.default_rng(5), Report()
    with (tempfile.TemporaryDirectory() as folder,
          Model(SimpleNamespace(bin=arguments.bin, model=str(pathlib.Path(arguments.models) / text)), sizes, folder,
                arguments.target, flags=[f"--lanes={arguments.lanes}"] if arguments.lanes else []) as model):
        model.call("init", save="start.safetensors", extra=["--seed", "1"])
        start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
        for name, value in start.items():
            if tensor_files.is_weight(name) and name.endswith("bias"):
                start[name] = (value + 0.1 * random.standard_normal(value.shape)).astype(np.float32)
        # A shift of all scores of a query has no gradient: without much curvature, only rounding errors.
        for name in start:
            if tensor_files.is_weight(name) and (name.endswith("keys.weight") or name.split(".")[-1] in ("v", "direction")):
                start[name] *= 10
        tensor_files.save_safetensors(f"{folder}/start.safetensors", start)
        torch_model = oracle(sizes, start)
        batch = draw_batch(random, sizes["vocab_size"], pairs)
        (logits,) = model.call("logits", tensor_files.without_labels(pack(batch, pairs, token_scale=False)), ["logits"],
                               variables="start.safetensors")
        expected = torch_model.batch_logits(batch).detach()
        report.check("logits", relative(logits, expected), BOUND)
        report.check("logits a token at a time", relative(decode(model, batch, pairs, 12), np.concatenate(
            [rows[:12] for rows in expected.split([len(target) for _, target, _ in batch])])), BOUND)

        (loss,) = model.call("accumulate_step", pack(batch, pairs), ["loss"], save="gradients.safetensors")
        torch_model.draw_for(step=0, stream=1)  # the second of two entries that draw
        expected = torch_model.loss(batch)
        expected.backward()
        report.check("loss", relative(loss, [expected.item()]), BOUND)
        saved = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
        gradients = {name: saved["grad." + name] for name in torch_model.weights}
        for name, weight in torch_model.weights.items():
            report.check(f"gradient of {name}", relative(gradients[name], weight.grad), BOUND)
        for name, average in torch_model.averages().items():
            report.check(f"moving average {name}", relative(saved[name], [average]), BOUND)
        if not torch_model.differs_in_eval:
            check_differences(report, model, batch, pairs, start, gradients, random, folder)

        torch_model = oracle(sizes, start)
        optimizer = torch.optim.Adam(torch_model.weights.values(), lr=1, betas=(0.9, 0.98), eps=1e-9)
        for step in range(1, arguments.steps + 1):
            batch = draw_batch(random, sizes["vocab_size"], pairs)
            (loss,) = model.call("train_step", pack(batch, pairs), ["loss"],
                                 variables="start.safetensors" if step == 1 else None)
            optimizer.zero_grad()
            torch_model.draw_for(step=step - 1, stream=0)
            expected = torch_model.loss(batch)
            expected.backward()
            optimizer.param_groups[0]["lr"] = RATE * min(step / WARMUP, (WARMUP / step) ** 0.5)
            optimizer.step()
            report.check(f"loss of step {step}", relative(loss, [expected.item()]), BOUND)
    print(f"{arguments.case}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
