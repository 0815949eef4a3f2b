"""Pictures for the gallery of what models of two texts and of graphs attend to, computed from the formulas of their
texts in models/ and the weights of a checkpoint. Graphs are computed to the end, and fail if the labels are not those
of `heddle-run predict`."""

import json
import struct

import experiment
import numpy as np
from experiment import Picture


def read_weights(trained):
    path = max(trained.checkpoint.glob("step-*/weights.safetensors"))  # the newest
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"]).astype(np.float64)
            for name, entry in header.items() if name != "__metadata__"}


def first_record(trained):
    return json.loads((trained.folder / "test.jsonl").read_text().splitlines()[0])


def tokens(trained, text):
    said = experiment.run(trained.tools / "heddle-run", "tokenize", trained.checkpoint, input=text + "\n")
    return [int(number) for number in said.split("\t")[0].split()]


def predicted(trained, record):
    return experiment.run(trained.tools / "heddle-run", "predict", trained.model, "--checkpoint", trained.checkpoint, "--records",
                          input=json.dumps(record) + "\n").split()


def is_variant(trained, variant):
    return trained.checkpoint.name.startswith(variant + "-")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def both(trained, record):
    """Returns the words of both texts, and their rows of the embedding table."""
    table = read_weights(trained)["table"]
    words = [record[side].split() for side in ("left", "right")]
    return words, [table[tokens(trained, record[side])] for side in ("left", "right")]


def match_scores(trained):
    """Returns the match matrix A of the first block of ABCNN-1 and ABCNN-3: 1 / (1 + |x - y|)."""
    if not (is_variant(trained, "attention=inputs") or is_variant(trained, "attention=both")):
        return []
    record = first_record(trained)
    words, (x, y) = both(trained, record)
    distances = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1) + 1e-6)
    return [Picture(f"match-scores of a text's words and the word that asks: {record['label']}", words[1], words[0], (1 / (1 + distances)).T.tolist())]


def word_weights(trained):
    """Returns the weights of MPCNN's attention input layer: a softmax over a text of the sums of cosines."""
    if not is_variant(trained, "attention=inputs"):
        return []
    record = first_record(trained)
    words, rows = both(trained, record)
    x, y = (row / np.sqrt((row ** 2).sum(-1, keepdims=True) + 1e-6) for row in rows)
    cosines = x @ y.T
    return [Picture(f"words of both texts, {record['grade']} of which they share", [" ".join(side) for side in words],
                    [str(i + 1) for i in range(len(words[0]))],
                    [softmax(cosines.sum(1)).tolist(), softmax(cosines.sum(0)).tolist()])]


def neighbours(trained):
    """Returns for each layer the weights of asking nodes over their neighbours, summed over heads."""
    if not is_variant(trained, 'score="dynamic"'):
        return []
    record, weights, heads = first_record(trained), read_weights(trained), 4
    names = record["tokens"]
    h = weights["table"][tokens(trained, " ".join(names))]
    seen_by = [[a for a, b in record["edges"] if b == node] for node in range(len(names))]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * weights[name + ".gamma"] + weights[name + ".beta"]

    layers = []
    for layer in range(2):
        place = f"nodes.{layer}."
        query = h @ weights[place + "seen.query.weight"] + weights[place + "seen.query.bias"]
        key, value = (h @ weights[place + f"seen.{name}.weight"] for name in ("key", "value"))
        found, looks = np.zeros_like(h), {}
        for node, among in enumerate(seen_by):
            if not among:
                continue
            pair = query[node] + key[among]
            scores = (weights[place + "seen.scores.a"] * np.maximum(pair, 0.2 * pair)).reshape(len(among), heads, -1).sum(-1)
            attention = softmax(scores.T)  # heads x neighbours
            found[node] = np.concatenate([attention[i] @ value[among].reshape(len(among), heads, -1)[:, i] for i in range(heads)])
            looks[node] = attention.mean(0)
        layers.append(looks)
        seen = norm(h + found, place + "seen")
        inner = np.maximum(seen @ weights[place + "norm.inner.weight"] + weights[place + "norm.inner.bias"], 0)
        h = norm(seen + inner @ weights[place + "norm.outer.weight"] + weights[place + "norm.outer.bias"], place + "norm")
    choices = (h @ weights["output.weight"] + weights["output.bias"]).argmax(-1)
    said = predicted(trained, record)
    if not len({(int(choice), word) for choice, word in zip(choices, said, strict=True)}) == len(set(said)) == len(set(choices.tolist())):
        raise SystemExit("the weights of neighbours are computed otherwise than by the model, which gives other labels")
    pictures = []
    for layer, looks in enumerate(layers):
        asking = sorted(looks)[:4]
        for node in asking:
            pictures.append(Picture(f"layer {layer + 1}: {names[node]} looks at its neighbours, and answers {said[node]}", [names[node]],
                                    [names[a] for a in seen_by[node]], [looks[node].tolist()]))
    return pictures


def co_attention(trained):
    """Returns the weights of both texts' words, by equations 4 and 5 of Lu et al."""
    if not is_variant(trained, "attention=parallel"):
        return []
    record, weights = first_record(trained), read_weights(trained)
    words, rows = both(trained, record)

    def phrases(x):
        wide = np.concatenate([np.zeros_like(x[:1]), x, np.zeros_like(x[:1])])
        return np.tanh(np.concatenate([wide[:-2], wide[1:-1], wide[2:]], -1) @ weights["phrase"])

    q, v = (phrases(x) for x in rows)
    affinities = np.tanh(q @ weights["affine.weight"] @ v.T)
    a, b = q @ weights["a.weight"], v @ weights["b.weight"]
    of_left = softmax(np.tanh(a + affinities @ b) @ weights["q.whole.w"])
    of_right = softmax(np.tanh(b + affinities.T @ a) @ weights["v.whole.w"])
    return [Picture(f"words of both texts: {record['label']}", [" ".join(side) for side in words], [str(i + 1) for i in range(len(words[0]))],
                    [of_left.tolist(), of_right.tolist()])]
