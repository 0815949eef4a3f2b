"""Compares low-rank adapters of a published LLaMA with PyTorch: 20 losses of Adam and the resulting adapter, PEFT's
files, several adapters with one artifact, and the merged model.

    lora.py --bin build/bin [--case NAME]"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import draw
import gguf_files
import published
import subwords
import tensor_files
from language_model import BOUND, RATE, STEPS, WARMUP, compare, pieces, torch_losses, train
from compiled import Model, Report, relative, run
from tokenize_lines import CORPUS

RANK, ALPHA, TARGETS = 4, 6, {"query": "q_proj", "value": "v_proj", "gate": "gate_proj", "outer": "down_proj"}
LENGTH = 20


class Adapted(published.Llama):
    """A LLaMA with an adapter: per module A (rank x inputs) and B (outputs x rank); `scale` is alpha divided by the
    rank."""

    def __init__(self, config, tensors, adapter, scale):
        super().__init__(config, tensors)
        self.scale = scale
        self.adapter = {name: torch.tensor(value, requires_grad=True) for name, value in adapter.items()}

    def linear(self, x, name):
        y = super().linear(x, name)
        if name + ".lora_A.weight" in self.adapter:
            y = y + self.scale * (x @ self.adapter[name + ".lora_A.weight"].t()) @ self.adapter[name + ".lora_B.weight"].t()
        return y


class Dropped(Adapted):
    """Adds dropout on A's input, with the masks of Heddle's generator. Rows count within the batch; each adapter has
    its stream, in order."""

    def __init__(self, config, tensors, adapter, scale, rate, seed, step=0):
        super().__init__(config, tensors, adapter, scale)
        self.rate, self.seed, self.step, self.first = rate, seed, step, 0  # `first`: the row of a sequence's first token

    def linear(self, x, name):
        y = published.Llama.linear(self, x, name)
        if name + ".lora_A.weight" not in self.adapter:
            return y
        layer, module = int(name.split(".")[2]), name.split(".")[-1]
        # Train_step has the first streams.
        stream = len(self.adapter) // 2 + len(TARGETS) * layer + list(TARGETS.values()).index(module)
        rows, columns = np.indices(x.shape)
        words = draw.philox_words(self.seed, (columns // 4).reshape(-1),
                                  [(self.first + rows).reshape(-1), np.full(x.numel(), stream), np.full(x.numel(), self.step)])
        drawn = np.take_along_axis(words, (columns % 4).reshape(-1, 1), 1) >> np.uint64(8)
        kept = torch.tensor((drawn.astype(np.float64) * 2.0 ** -24 >= self.rate).reshape(x.shape))
        dropped = torch.where(kept, x / (1 - self.rate), 0)
        return y + self.scale * (dropped @ self.adapter[name + ".lora_A.weight"].t()) @ self.adapter[name + ".lora_B.weight"].t()


def draw_adapter(tensors, rank, seed, targets=TARGETS.values()):
    random = np.random.default_rng(seed)
    return {f"{name[:-len('.weight')]}.lora_{half}.weight": (0.2 * random.standard_normal(shape)).astype(np.float32)
            for name, tensor in tensors.items() if name.split(".")[-2] in targets
            for half, shape in (("A", (rank, tensor.shape[1])), ("B", (tensor.shape[0], rank)))}


def write_adapter(folder, adapter, rank, alpha, **changes):
    Path(folder).mkdir()
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "bias": "none", "target_modules": ["q_proj"],
              "modules_to_save": None, "rank_pattern": {}, "use_rslora": False, **changes}
    Path(folder, "adapter_config.json").write_text(json.dumps(config))
    published.write_safetensors(f"{folder}/adapter_model.safetensors",
                                {"base_model.model." + name: value for name, value in adapter.items()})


def read_adapter(folder):
    tensors = tensor_files.load_safetensors(f"{folder}/adapter_model.safetensors")
    return {name.removeprefix("base_model.model."): value for name, value in tensors.items()}


class Case:
    """A published model, its text as a batch, and an artifact with adapters."""

    def __init__(self, arguments, folder):
        self.tool, self.folder, self.report = f"{arguments.bin}/heddle-run", folder, Report()
        self.is_gguf = arguments.kind == "GGUF"  # 16-bit weights
        self.ending = ".gguf" if self.is_gguf else ""
        self.arguments, self.base = arguments, f"{folder}/published{self.ending}"
        self.vocabulary = subwords.BytePairs.learn(CORPUS, 90)
        self.end = self.vocabulary.vocabulary[subwords.END]
        self.config = {**published.LLAMA, "vocab_size": self.end + 1, "max_position_embeddings": LENGTH,
                       "bos_token_id": self.end, "eos_token_id": self.end}
        drawn = published.draw_llama(self.config)
        if self.is_gguf:
            self.vocabulary.write_json(Path(folder), "gpt2", [])
            self.tensors = gguf_files.write(self.base, self.config, drawn, "F16",
                                            keys=gguf_files.byte_pair_keys(self.vocabulary, "gpt-2"))
        else:
            self.tensors = published.write_folder(self.base, self.config, drawn, kind=arguments.kind)
            self.vocabulary.write_json(Path(self.base), "gpt2", [])
        weights = [f"--weights={arguments.weights}"] if arguments.weights else []
        if weights:
            self.tensors = published.quantised(self.tensors, self.config, arguments.weights)
        self.artifact = self.compile("model", self.base, f"--lora=rank={RANK},alpha={ALPHA},targets={','.join(TARGETS)}", *weights)
        self.text = CORPUS[:400].rstrip() + "\n"
        self.batch = pieces([[*self.vocabulary.encode(self.text), self.end]], LENGTH)

    def compile(self, name, model, *flags):
        sizes = {"max_tokens": 512, "max_sequences": 64, "warmup": WARMUP, "learning_rate": RATE}
        sets = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
        run([f"{self.arguments.bin}/heddle-compile", model, "-o", f"{self.folder}/{name}.heddle", *sets, *flags])
        return f"{self.folder}/{name}.heddle"

    def oracle(self, adapter, scale):
        return Adapted(self.config, self.tensors, adapter, scale)

    def loss(self, oracle):
        labels = torch.tensor([label for _, _, labels in self.batch for label in labels])
        return torch.nn.functional.cross_entropy(
            torch.cat([oracle.logits(torch.tensor(read)) for _, read, _ in self.batch]), labels)

    def score(self, artifact, *flags):
        Path(self.folder, "scored").write_text(self.text)
        said = subprocess.run([self.tool, "score", artifact, "--text", f"{self.folder}/scored", "--documents", "file", *flags],
                              capture_output=True, text=True, check=True).stdout
        return float(said.split()[1])

    def expect_score(self, what, oracle, artifact, *flags):
        # Printed with four decimals.
        self.report.check(what, relative([self.score(artifact, *flags)], [self.loss(oracle).item()]), 1e-4)

    def refuse(self, *command, words, lines=3):
        done = subprocess.run([self.tool, *command], capture_output=True, text=True, input="The\n")
        good = done.returncode == 1 and all(word in done.stderr for word in words) and done.stderr.count("\n") <= lines
        if not good:
            print(done.returncode, done.stderr)
        self.report.check(f"a mistake that is not refused: {words[0]}"[:42], int(not good), 0)


def check_training(case):
    start = draw_adapter(case.tensors, RANK, seed=5)
    write_adapter(f"{case.folder}/start", start, RANK, ALPHA)
    oracle = case.oracle(start, ALPHA / RANK)
    flags = ["--documents", "file", "--base", case.base]
    actual = train(case.arguments, case.folder, case.artifact, case.text, *flags, "--weights", f"{case.folder}/start")
    compare(case.report, actual, torch_losses(oracle.adapter.values(), lambda step: case.loss(oracle)))
    checkpoint = next(Path(case.folder, "ck").glob(f"step-*{STEPS}"))
    trained = read_adapter(checkpoint)
    case.report.check("tensors of the adapter that are missing", len(set(oracle.adapter) ^ set(trained)), 0)
    case.report.check("the adapter after the steps", max(
        relative(value, oracle.adapter[name].detach().numpy()) for name, value in trained.items()), 1e-4)
    case.report.check("the adapter has moved", float(
        min(relative(value, start[name]) for name, value in trained.items()) < 1e-3), 0)
    case.expect_score("its loss", oracle, case.artifact, "--base", case.base, "--checkpoint", f"{case.folder}/ck")

    # PEFT's files by themselves, and the merged model compiled without adapters.
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        Path(case.folder, "peft").mkdir(exist_ok=True)
        shutil.copy(checkpoint / file, f"{case.folder}/peft")
    case.expect_score("its loss from PEFT's files", oracle, case.artifact, "--base", case.base, "--checkpoint", f"{case.folder}/peft")
    for name in () if case.arguments.weights else ("ck", "peft"):  # merging uses the published weights
        run([case.tool, "merge", case.artifact, "--base", case.base, "--checkpoint", f"{case.folder}/{name}", "--output",
             f"{case.folder}/merged-{name}{case.ending}"])
        plain = case.compile(f"merged-{name}", f"{case.folder}/merged-{name}{case.ending}")
        case.expect_score(f"its loss merged from {name}", oracle, plain, "--checkpoint", f"{case.folder}/merged-{name}{case.ending}")
    run([case.tool, "train", case.artifact, "--text", f"{case.folder}/text", *flags, "--checkpoint", f"{case.folder}/ck",
         "--resume", "--steps", "22"])
    if Path(case.base).is_dir():  # with other weights of the same model
        shutil.copytree(case.base, f"{case.folder}/other-base")
        file = Path(case.folder, "other-base", "model.safetensors")
        file.write_bytes(file.read_bytes()[:-4] + b"\0\x3c\0\x3c")
        other = ["train", case.artifact, "--text", f"{case.folder}/text", "--documents", "file", "--base", f"{case.folder}/other-base",
                 "--checkpoint", f"{case.folder}/ck", "--resume", "--steps", "23"]
        case.refuse(*other, words=[f"to the weights of '{case.base}'", f"--base={case.folder}/other-base are others", "--force"], lines=5)
        run([case.tool, *other, "--force"])
    run([case.tool, "train", case.artifact, "--text", f"{case.folder}/text", *flags, "--checkpoint", f"{case.folder}/proof",
         "--verify-resume", "--steps", "6"])
    # A new adapter changes nothing.
    run([case.tool, "train", case.artifact, "--text", f"{case.folder}/text", *flags, "--checkpoint", f"{case.folder}/new",
         "--steps", "1", "--log", f"{case.folder}/new.log"])
    first = json.loads(Path(case.folder, "new.log").read_text().splitlines()[0])["loss"]
    case.report.check("the loss before the first step", relative([first], [case.loss(case.oracle({}, 1)).item()]), BOUND)


def check_dropout(case):
    """Compares loss and gradients of a batch with dropout with PyTorch's, with the same masks. Evaluation has no
    dropout."""
    rate, seed = 0.375, (7, 0)
    adapter = draw_adapter(case.tensors, RANK, seed=6)
    folder = f"{case.folder}/dropped"
    Path(folder).mkdir()
    shutil.copytree(case.base, f"{folder}/published")
    sizes = {"max_tokens": 512, "max_sequences": 64, "accumulate": True, "token_weights": False}
    flag = f"--lora=rank={RANK},alpha={ALPHA},dropout={rate},targets={','.join(TARGETS)}"
    ours = {}
    for name, value in adapter.items():
        layer, module, half = name.split(".")[2], name.split(".")[4], name.split(".")[-2]
        target = next(key for key, theirs in TARGETS.items() if theirs == module)
        path = f"decoder.{layer}.{'self' if module in ('q_proj', 'v_proj') else 'feed_forward'}.{target}"
        ours[f"{path}.{half.lower()}"] = (name, np.ascontiguousarray(value.T))
    tensor_files.save_safetensors(f"{folder}/adapter.safetensors", {
        **{name: value for name, (_, value) in ours.items()}, "seed": np.array(seed, np.int32)})
    oracle = Dropped(case.config, case.tensors, adapter, ALPHA / RANK, rate, seed)
    inputs, plain = (tensor_files.pack_targets(case.batch, token_scale=scaled) for scaled in (True, False))
    with Model(SimpleNamespace(bin=case.arguments.bin, model=f"{folder}/published"), sizes, folder, flags=[flag]) as model:
        model.call("eval", plain, variables="published")
        (losses,) = model.call("eval", plain, ["token_loss"], variables="adapter.safetensors")
        (loss,) = model.call("accumulate_step", inputs, ["loss"], save="gradients.safetensors")
    case.report.check("its loss without dropout", relative([losses.mean()], [case.loss(case.oracle(adapter, ALPHA / RANK)).item()]), BOUND)
    expected = []
    for _, read, labels in case.batch:
        expected.append(torch.nn.functional.cross_entropy(oracle.logits(torch.tensor(read)), torch.tensor(labels), reduction="none"))
        oracle.first += len(read)
    expected = torch.cat(expected).mean()
    expected.backward()
    case.report.check("the loss with dropout", relative([loss.item()], [expected.item()]), BOUND)
    case.report.check("dropout changes the loss", int(abs(loss.item() - losses.mean()) < 1e-3), 0)
    gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
    case.report.check("gradients with dropout", max(
        relative(gradients["grad." + name], oracle.adapter[theirs].grad.numpy().T) for name, (theirs, _) in ours.items()), 1e-4)

    write_adapter(f"{case.folder}/other-rate", adapter, RANK, ALPHA, lora_dropout=0.05)
    said = subprocess.run([case.tool, "train", case.artifact, "--text", f"{case.folder}/text", "--documents", "file", "--base", case.base,
                           "--weights", f"{case.folder}/other-rate", "--checkpoint", f"{case.folder}/other-ck", "--steps", "1"],
                          capture_output=True, text=True, check=True).stderr
    case.report.check("another dropout is named", int("lora_dropout = 0.05" not in said or "--lora dropout=0.05" not in said), 0)
    config = json.loads(next(Path(case.folder, "ck").glob("step-*/adapter_config.json")).read_text())
    case.report.check("PEFT's file without dropout", config["lora_dropout"], 0)


def check_switching(case):
    """Tests adapters with other ranks, scales and modules, one after another."""
    case.expect_score("the loss without an adapter", case.oracle({}, 1), case.artifact, "--checkpoint", case.base)
    for name, rank, alpha, scale, targets, changes in (
            ("narrow", 2, 8, 4.0, TARGETS.values(), {}), ("some", RANK, 2, 0.5, ["v_proj"], {}),
            ("stable", RANK, 8, 4.0, TARGETS.values(), {"use_rslora": True})):
        adapter = draw_adapter(case.tensors, rank, seed=len(name), targets=targets)
        write_adapter(f"{case.folder}/{name}", adapter, rank, alpha, **changes)
        case.expect_score(f"the loss of the adapter '{name}'", case.oracle(adapter, scale), case.artifact, "--base", case.base,
                          "--checkpoint", f"{case.folder}/{name}")


def check_quantized(case):
    """The output of `quantize` can be used as a model and as a base."""
    plain = case.compile("packed", case.base, f"--weights={case.arguments.weights}")
    flags = ["--checkpoint", case.base, "--output", f"{case.folder}/quantized"]
    run([case.tool, "quantize", plain, *flags])
    case.expect_score("the loss of the quantized checkpoint", case.oracle({}, 1), plain, "--checkpoint", f"{case.folder}/quantized")
    case.expect_score("the adapter's loss on it", case.oracle(read_adapter(f"{case.folder}/peft"), ALPHA / RANK), case.artifact,
                      "--base", f"{case.folder}/quantized", "--checkpoint", f"{case.folder}/peft")
    sizes = [Path(case.folder, file).stat().st_size for file in ("quantized/weights.safetensors", "published/model.safetensors")]
    case.report.check("bytes of the published", sizes[0] / sizes[1], 0.5)
    full = case.compile("full", case.base)
    case.refuse("quantize", plain, *flags, words=["exists"])
    case.refuse("quantize", full, *flags, words=["--weights=int8"])
    case.refuse("quantize", case.artifact, *flags, words=["--lora"])
    case.refuse("generate", full, "--checkpoint", f"{case.folder}/quantized", words=["i32", "another model"])


def check_mistakes(case):
    flags = ["generate", case.artifact, "--base", case.base, "--checkpoint"]
    wide = draw_adapter(case.tensors, RANK + 1, seed=1)
    write_adapter(f"{case.folder}/wide", wide, RANK + 1, 1)
    case.refuse(*flags, f"{case.folder}/wide", words=["rank 5", "--lora rank=5"])
    other = draw_adapter(case.tensors, 2, seed=1, targets=["k_proj"])
    write_adapter(f"{case.folder}/other", other, 2, 1)
    case.refuse(*flags, f"{case.folder}/other", words=["k_proj", "targets="])
    adapter = draw_adapter(case.tensors, 2, seed=1)
    for key, value in (("peft_type", "IA3"), ("bias", "all"), ("lora_bias", True), ("modules_to_save", ["norm"]), ("lora_dropout", 1.5),
                       ("rank_pattern", {"q_(proj|x)": 3}), ("r", 0), ("lora_alpha", "x")):
        write_adapter(f"{case.folder}/{key}", adapter, 2, 1, **{key: value})
        case.refuse(*flags, f"{case.folder}/{key}", words=[key])
    half = {name: value for name, value in adapter.items() if not name.endswith("0.self_attn.q_proj.lora_B.weight")}
    write_adapter(f"{case.folder}/half", half, 2, 1)
    case.refuse(*flags, f"{case.folder}/half", words=["a part", "lora_B"])
    turned = {name: value.T.copy() if "v_proj.lora_A" in name else value for name, value in adapter.items()}
    write_adapter(f"{case.folder}/turned", turned, 2, 1)
    case.refuse(*flags, f"{case.folder}/turned", words=["v_proj.lora_A", "another model"])
    case.refuse("generate", case.artifact, "--checkpoint", f"{case.folder}/wide", words=["--base=FOLDER"])
    plain = case.compile("plain", case.base)
    case.refuse("generate", plain, "--checkpoint", f"{case.folder}/wide", words=["--lora"])
    case.refuse("generate", plain, "--base", case.base, "--checkpoint", case.base, words=["--base is for artifacts"])
    case.refuse("merge", plain, "--base", case.base, "--checkpoint", f"{case.folder}/wide", "--output", f"{case.folder}/no",
                words=["--lora"])
    case.refuse("merge", case.artifact, "--base", case.base, "--checkpoint", f"{case.folder}/wide", "--output", case.base,
                words=["exists"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--kind", choices=("F32", "BF16", "GGUF"), default="F32", help="of the published weights")
    parser.add_argument("--weights", help="what the artifact keeps them as")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = Case(arguments, folder)
        check_training(case)
        check_switching(case)
        if arguments.kind == "F32" and not arguments.weights:
            check_dropout(case)
        if arguments.weights:
            check_quantized(case)
        check_mistakes(case)
    print(f"{case.report.failed} failed")
    sys.exit(case.report.failed != 0)


if __name__ == "__main__":
    main()
