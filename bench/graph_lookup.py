#!/usr/bin/python3
"""Shows what a graph attention network learns of a look-up in random graphs, beside a network that takes the mean of
its neighbours:

    graph_lookup.py --bin build/bin [--task dynamic|additive]... [--steps N] [--seed N]...

Some nodes have a key and a value. The others ask for a key, and have edges from 12 nodes with different keys. The label
of an asking node is the value of the neighbour with its key; the other nodes' label is "-". Trains on 2,000 graphs of
32 nodes with keys and 16 asking nodes, and prints the share of right answers in 200 unseen graphs. Fails if dynamic
scores answer less than 0.95 of them, or the mean more than 0.5. Additive scores rank the neighbours in the same order
for all nodes."""

import experiment
import maps
from experiment import Experiment

KEYS = VALUES = 16
KNOWING, ASKING, NEIGHBOURS, MOST = 32, 16, 12, 16
SETTINGS = {"classes": VALUES + 1, "vocab_size": 300, "max_tokens": 800, "max_length": 50, "max_sequences": 16, "neighbours": MOST,
            "learning_rate": 0.003, "warmup": 100, "schedule": '"cosine"', "clip_norm": 1}


def make_graph(draw):
    pairs = [(draw.randrange(KEYS), draw.randrange(VALUES)) for _ in range(KNOWING)]
    words, labels, edges = [f"k{key}v{value}" for key, value in pairs], ["-"] * KNOWING, []
    uses = [0] * KNOWING
    for _ in range(ASKING):
        known = {}  # a node for each key
        for node in draw.sample(range(KNOWING), KNOWING):
            if uses[node] < MOST:
                known.setdefault(pairs[node][0], node)
        seen = draw.sample(sorted(known.values()), min(NEIGHBOURS, len(known)))
        answer = draw.choice(seen)
        edges += [[node, len(words)] for node in seen]
        for node in seen:
            uses[node] += 1
        words.append(f"k{pairs[answer][0]}")
        labels.append(str(pairs[answer][1]))
    return {"tokens": words, "edges": edges, "labels": labels}


def answers(said, records):
    expected = [label for record in records for label in record["labels"]]
    return [said == right for said, right in zip(said.split(), expected, strict=True) if right != "-"]


def look_up(variants):
    return Experiment("graph-attention.weft", make_graph, SETTINGS, 1200, variants, "the value of the neighbour that has the node's key",
                      train=2000, test=200, answers=answers, pictures=maps.neighbours, explains=False)


EXPERIMENTS = {"dynamic": look_up({'score="dynamic"': (0.95, 1), 'score="mean"': (0, 0.5)}),
               "additive": look_up({'score="additive"': (0, 0.95)})}

if __name__ == "__main__":
    experiment.main(__doc__, EXPERIMENTS)
