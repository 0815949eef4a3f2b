#!/usr/bin/python3
"""Shows what models of two texts learn, beside what they learn without attention between the two:

    pairs.py --bin build/bin [--task abcnn|coattention|mpcnn]... [--seed N]...

abcnn, coattention: the left text says which colour each of four people has, the right text names a person, and the
label is the person's colour. The words of a text do not give the label away, as all four colours occur; BCNN, which
compares texts as wholes, can only choose among four. mpcnn: the grade is the number of words that two texts share, from
0 to 5. Trains on 4,000 pairs (mpcnn: 20,000) and prints, for 400 unseen pairs, the share of right labels, or the
Pearson correlation of grades. Fails if a figure is not as expected, or if attention is not better than no attention."""

import experiment
import maps
from experiment import Experiment

SETTINGS = {"vocab_size": 60, "max_tokens": 1024, "max_length": 24, "max_sequences": 32, "warmup": 100, "schedule": '"cosine"',
            "clip_norm": 1}
PEOPLE, COLOURS = [f"person{i}" for i in range(8)], [f"colour{i}" for i in range(8)]
OVERLAP, WORDS = 10, 100  # words of a text, and words in all


def colour_of(draw):
    people, colours = draw.sample(PEOPLE, 4), draw.sample(COLOURS, 4)
    asked = draw.randrange(4)
    return {"left": " ".join(word for both in zip(people, colours) for word in both), "right": people[asked], "label": colours[asked]}


def overlap(draw):
    words = draw.sample([f"w{i}" for i in range(WORDS)], 2 * OVERLAP)
    shared = draw.randrange(6)
    left, right = words[:OVERLAP], words[:shared] + words[OVERLAP:2 * OVERLAP - shared]
    draw.shuffle(left)
    draw.shuffle(right)
    return {"left": " ".join(left), "right": " ".join(right), "grade": shared}


ASKED = "four people with a colour each, and a person: whose colour is it?"
LABELS = SETTINGS | {"classes": 8, "width": 32}
EXPERIMENTS = {
    "abcnn": Experiment("bcnn.weft", colour_of, LABELS | {"learning_rate": 0.01}, 900,
                        {"attention=none": (0, 0.4), "attention=inputs": (0.98, 1), "attention=pooling": (0.98, 1), "attention=both": (0.98, 1)},
                        ASKED, pictures=maps.match_scores, explains=False),
    "coattention": Experiment("coattention.weft", colour_of, LABELS | {"learning_rate": 0.005}, 800,
                              {"attention=none": (0, 0.4), "attention=parallel": (0.98, 1)}, ASKED,
                              pictures=maps.co_attention, explains=False),
    "mpcnn": Experiment("mpcnn.weft", overlap, SETTINGS | {"learning_rate": 0.005, "vocab_size": WORDS + 20, "width": 32, "filters": 16, "hidden": 32},
                        1000, {"attention=none": (0, 0.9), "attention=inputs": (0.9, 1)}, "how many words two texts share", above=True, train=20000,
                        pictures=maps.word_weights, explains=False),
}

if __name__ == "__main__":
    experiment.main(__doc__, EXPERIMENTS)
