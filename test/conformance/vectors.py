"""Compares training vectors of texts with sentence-transformers' losses in PyTorch: the loss, every gradient, and 20 steps of Adam.

    vectors.py --bin build/bin --similarity ranking [--symmetric] [--pairs 9] [--target=NAME]
    vectors.py --bin build/bin --similarity cosine --published FOLDER

The model is a text of one layer, so that PyTorch has it in a few lines. With `--published` it is a published encoder, such as
all-MiniLM-L6-v2, and the other side is the package sentence-transformers itself, which has to be installed."""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import compiled
import tensor_files

VOCABULARY, WIDTH, STEPS, SCALE = 23, 12, 20, 20
ADAM = {"adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "schedule": "constant", "warmup": 1, "accumulate": True}
SIZES = {"max_tokens": 512, "max_sequences": 40, "max_length": 32}
LOGITS = {"ranking": f"{SCALE} * pairs(left, right)", "cosine": "sum(left * right)"}
LOSS = {"ranking": "cross_entropy(logits, pair.label)", "cosine": "(logits - pair.grade) ^ 2"}
BOTH_WAYS = f"cross_entropy(logits, pair.label) + cross_entropy({SCALE} * pairs(right, left), pair.label)"


def text_of(arguments):
    return f"""task embed
param vocab_size = {VOCABULARY}, width = {WIDTH}
weight table[vocab_size, width] ~ normal(0.4)
weight mixed[width, width] ~ normal(0.4)
hidden(source) {{ tanh(table[source] @ mixed) }}
pooled(source) {{ unit(average(hidden)) }}
logits(source) {{
  left, right = pooled[pair.left], pooled[pair.right]
  {LOGITS[arguments.similarity]}
}}
loss(source) {{ {BOTH_WAYS if arguments.symmetric else LOSS[arguments.similarity]} }}
"""


def draw_pairs(random, count):
    """Returns (left, right, grade) for each pair. A word of the left text is in the right one, too."""
    pairs = []
    for _ in range(count):
        left, right = ([int(word) for word in random.integers(3, VOCABULARY, random.integers(1, 9))] for _ in range(2))
        pairs.append(([1, *left, 2], [1, *right, left[0], 2], float(np.float32(random.uniform(-0.2, 1)))))
    return pairs


def pack(pairs, similarity):
    """Returns the inputs of a training entry: the texts of each pair one behind the other."""
    texts = [text for left, right, _ in pairs for text in (left, right)]
    lengths = [len(text) for text in texts]
    whole = lambda values: np.asarray(list(values), np.int32)
    places = whole(range(len(pairs)))
    labels = {"pair_label": places} if similarity == "ranking" else {"pair_grade": np.asarray([pair[2] for pair in pairs], np.float32)}
    return {"source": whole(token for text in texts for token in text),
            "source_positions": whole(i for length in lengths for i in range(length)),
            "source_starts": whole(np.cumsum([0] + lengths[:-1])), "source_lengths": whole(lengths),
            "pair_left": 2 * places, "pair_right": 2 * places + 1, "pair_starts": whole([0]), "pair_lengths": whole([len(pairs)]),
            "token_scale": np.asarray([1 / len(pairs)], np.float32), **labels}


def vectors(weights, texts):
    average = lambda text: torch.tanh(weights["table"][torch.tensor(text)] @ weights["mixed"]).mean(0)
    return torch.stack([average(text) for text in texts])


def loss_of(arguments, weights, pairs):
    """The losses as sentence-transformers has them: MultipleNegativesRankingLoss and CosineSimilarityLoss."""
    left, right = vectors(weights, [pair[0] for pair in pairs]), vectors(weights, [pair[1] for pair in pairs])
    if arguments.similarity == "cosine":
        grades = torch.tensor([pair[2] for pair in pairs], dtype=torch.float64)
        return torch.nn.functional.mse_loss(torch.cosine_similarity(left, right), grades)
    scores = SCALE * torch.nn.functional.normalize(left) @ torch.nn.functional.normalize(right).T
    own = torch.arange(len(pairs))
    loss = torch.nn.functional.cross_entropy(scores, own)
    return loss + torch.nn.functional.cross_entropy(scores.T, own) if arguments.symmetric else loss


def check_differences(report, model, folder, inputs, gradients, random):
    """Compares the gradient along a random direction with differences of the compiled loss."""
    start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
    names = [name[len("grad."):] for name in gradients if name.startswith("grad.")]
    along = {name: random.normal(0, 1, start[name].shape) for name in names}
    slope = sum(float((gradients["grad." + name] * along[name]).sum()) for name in names)
    losses = []
    for step in (-1e-2, -5e-3, 5e-3, 1e-2):
        moved = {name: (start[name] + step * along[name]).astype(np.float32) for name in names}
        tensor_files.save_safetensors(f"{folder}/moved.safetensors", moved)
        (tokens,) = model.call("eval", {name: value for name, value in inputs.items() if name != "token_scale"}, ["token_loss"],
                               variables="moved.safetensors")
        losses.append(float(np.mean(tokens, dtype=np.float64)))
    differences = (losses[0] - 8 * losses[1] + 8 * losses[2] - losses[3]) / (12 * 5e-3)
    report.check("the gradient beside differences of the loss", abs(differences - slope) / max(abs(slope), 1e-3), 2e-3)


def compare(arguments, report):
    rate, random = 1e-2, np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = f"{folder}/model.weft"
        Path(arguments.model).write_text(text_of(arguments))
        with compiled.Model(arguments, {**ADAM, **SIZES, "learning_rate": rate}, folder, arguments.target) as model:
            model.call("init", save="start.safetensors", extra=["--seed", "1"])
            start = tensor_files.load_safetensors(f"{folder}/start.safetensors")
            weights = {name: torch.tensor(start[name], dtype=torch.float64, requires_grad=True) for name in ("table", "mixed")}
            optimizer = torch.optim.Adam(weights.values(), lr=rate)
            for step in range(STEPS):
                pairs = draw_pairs(random, 1 if step == 3 else arguments.pairs)
                inputs = pack(pairs, arguments.similarity)
                loss = loss_of(arguments, weights, pairs)
                optimizer.zero_grad()
                loss.backward()
                if step in (0, 5):
                    (made,) = model.call("accumulate_step", inputs, ["loss"], save="gradients.safetensors")
                    gradients = tensor_files.load_safetensors(f"{folder}/gradients.safetensors")
                    for name, weight in weights.items():
                        report.check(f"gradient of {name} before step {step + 1}",
                                     compiled.relative(gradients["grad." + name], weight.grad), 1e-5)
                    model.call("apply_step")
                else:
                    (made,) = model.call("train_step", inputs, ["loss"])
                # A batch of one pair has no negatives: its ranking loss is 0.
                report.check(f"loss of step {step + 1}", abs(float(made[0]) - loss.item()) / max(abs(loss.item()), 0.1), 1e-5)
                if step == 0:
                    first = inputs, gradients
                optimizer.step()
            model.call("eval", {name: value for name, value in inputs.items() if name != "token_scale"}, ["token_loss"],
                       save="end.safetensors")
            end = tensor_files.load_safetensors(f"{folder}/end.safetensors")
            for name, weight in weights.items():
                report.check(f"{name} after {STEPS} steps", compiled.relative(end[name], weight.detach()), 1e-5)
            check_differences(report, model, folder, *first, random)


def compare_published(arguments, report):
    """Trains the published encoder by 20 steps beside the package."""
    import sentence_transformers
    from sentence_transformers import SentenceTransformer, losses
    model_of = SentenceTransformer(arguments.published, device="cpu").float()
    for module in model_of.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0
    loss_module = losses.CosineSimilarityLoss(model_of) if arguments.similarity == "cosine" else losses.MultipleNegativesRankingLoss(model_of)
    rate, random, subjects = 2e-5, np.random.default_rng(4), "the dog,a cat,my sister,that old loom,the whole village".split(",")
    verbs, objects = "sees,likes,sells,weaves,forgets".split(","), "a red house,blue cloth,the sea,seven threads,cold soup".split(",")
    draw = lambda: [random.choice(words) for words in (subjects, verbs, objects)]
    optimizer = torch.optim.Adam(model_of.parameters(), lr=rate)
    print(f"sentence-transformers {sentence_transformers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        arguments.model = arguments.published
        flags = ["--architecture", "BertForTextEncoding"]
        with compiled.Model(arguments, {**ADAM, **SIZES, "learning_rate": rate, "similarity": arguments.similarity, "dropout": 0,
                                        "attention_dropout": 0}, folder, arguments.target, flags=flags) as model:
            model.call("init", extra=["--seed", "1"])
            for step in range(STEPS):
                texts = [(" ".join(draw()), " ".join(draw())) for _ in range(arguments.pairs)]
                features = [model_of.tokenize([pair[side] for pair in texts]) for side in (0, 1)]
                ids = [[row[mask.bool()].tolist() for row, mask in zip(side["input_ids"], side["attention_mask"])] for side in features]
                grades = random.uniform(-0.2, 1, len(texts)).astype(np.float32)
                inputs = pack(list(zip(ids[0], ids[1], grades)), arguments.similarity)
                inputs["source_types"] = np.zeros_like(inputs["source"])
                loss = loss_module(features, torch.tensor(grades))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                (made,) = model.call("train_step", inputs, ["loss"], extra=["--variables", arguments.published] if step == 0 else [])
                report.check(f"loss of step {step + 1}", abs(float(made[0]) - loss.item()) / max(abs(loss.item()), 0.1), 1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--similarity", choices=["ranking", "cosine"], required=True)
    parser.add_argument("--symmetric", action="store_true", help="each right text has to find its left one, too")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--published", help="the folder of an encoder")
    parser.add_argument("--target")
    arguments = parser.parse_args()
    report = compiled.Report()
    (compare_published if arguments.published else compare)(arguments, report)
    print(f"{arguments.similarity}: {report.failed} failed")
    sys.exit(report.failed != 0)


if __name__ == "__main__":
    main()
