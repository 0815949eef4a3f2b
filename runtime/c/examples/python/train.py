"""A training loop in Python: train.py MODEL.heddle [STEPS]

Trains a translator on random pairs: a sentence and the same words in reverse. The compiled entry `train_step` computes the loss and the
gradients and runs the optimizer."""

import sys

import numpy as np

import heddle

BEGIN, END, FIRST = 1, 2, 3


def draw_batch(random, count, words):
    """Draws sentences and concatenates them without padding, as every entry expects them."""
    lengths = random.integers(2, 6, count)
    sources = [random.integers(FIRST, words, length) for length in lengths]
    side = lambda sentences: {"": np.concatenate(sentences), "_positions": np.concatenate([np.arange(len(s)) for s in sentences]),
                              "_starts": np.cumsum([0] + [len(s) for s in sentences[:-1]]), "_lengths": [len(s) for s in sentences]}
    source = side([np.append(s, END) for s in sources])
    target = side([np.insert(s[::-1], 0, BEGIN) for s in sources])
    inputs = {f"source{name}": value for name, value in source.items()}
    inputs |= {f"target{name or '_in'}": value for name, value in target.items()}
    inputs["target_out"] = np.concatenate([np.append(s[::-1], END) for s in sources])
    inputs["token_scale"] = np.float32([1 / len(inputs["target_out"])])
    return inputs


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    random = np.random.default_rng(1)
    with heddle.open(sys.argv[1]) as model:
        print(f"Heddle {heddle.version()}, {model.target} on {model.device}")
        model.init(seed=1)
        words = model.description["vocab_size"]
        for step in range(1, steps + 1):
            loss = model.call("train_step", **draw_batch(random, 32, words))["loss"]
            if step % (steps // 5 or 1) == 0:
                print(f"step {step}: loss {loss.item():.3f}")
        model.save("weights.safetensors", heddle.WEIGHTS)


if __name__ == "__main__":
    main()
