#!/usr/bin/python3
"""Shows what models that know sentences learn, beside what they learn without the idea of their papers:

    sentences.py --bin build/bin [--task memory|hierarchical]... [--seed N]...

memory: a memory network with two hops, beside one with a single hop, reads who took what and who went where, and is
asked where a thing is. hierarchical: in each sentence a word follows "mark", and one sentence contains "here".
Hierarchical attention, beside attention to all words alike, names the marked word of that sentence. Trains on 4,000
texts and prints the share of right answers in 400 unseen texts. Fails if a share is not as expected."""

import json

import numpy as np

import experiment
from experiment import Experiment, Picture

SETTINGS = {"vocab_size": 60, "max_tokens": 2048, "max_length": 80, "max_sequences": 32, "warmup": 100, "schedule": '"cosine"',
            "clip_norm": 1, "width": 32}
NAMES, THINGS, PLACES = ([f"{kind}{i}" for i in range(8)] for kind in ("name", "thing", "place"))


def who_has_what(draw):
    people, things, places = (draw.sample(words, 5) for words in (NAMES, THINGS, PLACES))
    told = [f"{name} took {thing}" for name, thing in zip(people, things)] + [f"{name} went {place}" for name, place in zip(people, places)]
    draw.shuffle(told)
    asked = draw.randrange(5)
    return {"text": told + [f"where is {things[asked]}"], "label": places[asked]}


def marked_word(draw):
    words = [f"w{i}" for i in range(12)]
    lines, chosen = [], draw.randrange(6)
    for i in range(6):
        line = draw.choices(words, k=6)
        line[draw.randrange(6)] = marked = f"mark-{draw.choice(words)}"
        if i == chosen:
            line.insert(draw.randrange(7), "here")
            label = marked
        lines.append(" ".join(line))
    return {"text": lines, "label": label}


def weights_of_record(trained):
    """Returns the sentences of the first test record, as lists of words, and the outputs of `explain`."""
    record = json.loads((trained.folder / "test.jsonl").read_text().splitlines()[0])
    lines = [line.split() for line in record["text"]]
    said = experiment.run(trained.tools / "heddle-run", "tokenize", trained.checkpoint, input=" ".join(sum(lines, [])) + "\n")
    lines[0].insert(0, "<begin>")
    lines[-1].append("<end>")
    lengths = np.asarray([len(line) for line in lines], np.int32)
    i32 = lambda *values: np.asarray(values, np.int32)
    tokens, count = int(lengths.sum()), len(lines)
    places = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    inputs = {"source": i32(1, *(int(number) for number in said.split("\t")[0].split()), 2), "source_starts": i32(0),
              "source_lengths": i32(tokens), "source_positions": np.arange(tokens, dtype=np.int32),
              "source_sentences": np.arange(count, dtype=np.int32), "source_sentences_starts": i32(0), "source_sentences_lengths": i32(count),
              "source_words_starts": np.cumsum(lengths, dtype=np.int32) - lengths, "source_words_lengths": lengths, "source_slots": places}
    return record, lines, experiment.attended(trained, inputs, {"source_sentences_slots": count})


def hops(trained):
    record, lines, outputs = weights_of_record(trained)
    names = [" ".join(line) for line in lines]
    rows = [output[0, :len(lines)].tolist() for name, output in sorted(outputs.items())]
    return [Picture(f"{names[-1]}: {record['label']}", [f"hop {i + 1}" for i in range(len(rows))], names, rows)]


def levels(trained):
    record, lines, outputs = weights_of_record(trained)
    words = [name for name in outputs if name.startswith("weights.source.")]
    texts = [name for name in outputs if name.startswith("weights.source_sentences.")]
    if not words:  # one level: a text attends to its words
        return []
    rows = [outputs[words[0]][i, :len(line)].tolist() for i, line in enumerate(lines)]
    of_text = outputs[texts[0]][0, :len(lines)].tolist()
    longest = max(len(line) for line in lines)
    return [Picture(f"words of each sentence: {record['label']}", [" ".join(line) for line in lines], [str(i + 1) for i in range(longest)], rows),
            Picture("sentences of the text", ["text"], [" ".join(line) for line in lines], [of_text])]


EXPERIMENTS = {
    "memory": Experiment("memory-network.weft", who_has_what, SETTINGS | {"classes": 8, "learning_rate": 0.01, "sentences": 16}, 1000,
                         {"hops=2": (0.98, 1), "hops=1": (0, 0.5)}, "who took what and who went where: where is the thing?", pictures=hops),
    "hierarchical": Experiment("hierarchical-attention.weft", marked_word,
                               SETTINGS | {"classes": 12, "learning_rate": 0.005, "sentences": 16}, 1000,
                               {"levels=2": (0.95, 1), "levels=1": (0, 0.5)}, "the marked word of the marked sentence", pictures=levels),
}

if __name__ == "__main__":
    experiment.main(__doc__, EXPERIMENTS)
