#!/usr/bin/python3
"""Shows what feed-forward and convolutional networks learn of images:

    images.py --bin build/bin [--task bits|shapes|shapes-mlp]... [--seed N]...

bits: an image has twelve bits, each a 1 in one of four channels; two are marked, and the label says whether these
differ. Compares a feed-forward network with a linear model. shapes: one of four shapes of 3 x 3 pixels stands anywhere
in a noisy image of 12 x 12. Compares a convolutional network with pooling and a feed-forward network with as many
weights (shapes-mlp). Trains on 4,000 images and prints the share of right answers in 400 unseen images. Fails if a
share is not as expected."""

import experiment
from experiment import Experiment

SETTINGS = {"max_tokens": 32 * 144, "max_sequences": 32, "warmup": 100, "schedule": '"cosine"', "clip_norm": 1, "learning_rate": 0.005}
SHAPES = {"plus": (".#.", "###", ".#."), "cross": ("#.#", ".#.", "#.#"), "ring": ("###", "#.#", "###"), "bars": ("#.#", "#.#", "#.#")}
SIDE, NOISE = 12, 0.2


def marked_bits(draw):
    bits, marked = [draw.randrange(2) for _ in range(SIDE)], draw.sample(range(SIDE), 2)
    kinds = [bit + 2 * (place in marked) for place, bit in enumerate(bits)]
    pixels = [[int(kind == i) for i in range(4)] for kind in kinds]
    return {"image": [pixels], "label": "differ" if bits[marked[0]] != bits[marked[1]] else "same"}


def shape_anywhere(draw):
    image = [[draw.gauss(0, NOISE) for _ in range(SIDE)] for _ in range(SIDE)]
    name = draw.choice(sorted(SHAPES))
    top, left = (draw.randrange(SIDE - 2) for _ in range(2))
    for y, row in enumerate(SHAPES[name]):
        for x, pixel in enumerate(row):
            image[top + y][left + x] += pixel == "#"
    return {"image": [[round(pixel, 3) for pixel in row] for row in image], "label": name}


EXPERIMENTS = {
    "bits": Experiment("feed-forward.weft", marked_bits, SETTINGS | {"channels": 4, "classes": 2, "hidden": 64, "max_sequences": 64}, 1000,
                       {"layers=2": (0.99, 1), "layers=0": (0, 0.6)}, "two bits of twelve are marked: do they differ?", train=20000),
    "shapes": Experiment("cnn.weft", shape_anywhere, SETTINGS | {"classes": 4}, 450, {"layers=3": (0.97, 1), "pools=1": (0.97, 1)},
                         "one of four shapes anywhere in a noisy image"),
    "shapes-mlp": Experiment("feed-forward.weft", shape_anywhere, SETTINGS | {"classes": 4, "image_height": SIDE, "hidden": 32}, 600,
                             {"layers=1": (0, 0.9)}, "the same, by a feed-forward network with as many weights"),
}

if __name__ == "__main__":
    experiment.main(__doc__, EXPERIMENTS)
