"""Compares Show, Attend and Tell with PyTorch, with soft, hard and no attention. For hard attention PyTorch draws the
same samples: a sample is the largest of log p + noise, and the noise is a function of seed, step and position.

    captions.py --bin build/bin --models models --case hard [--target=NAME] [--steps=N] [--lanes=N]"""

import numpy as np
import torch

import recurrence
from draw import philox_words

LEAST = 2.0 ** -25  # of a uniform random number
KEEPS = 0.9


def gumbel(seed, step, stream, row, columns):
    """Returns the noise of a query whose row in the batch is `row`."""
    groups = (columns + 3) // 4
    words = philox_words([int(word) & 0xFFFFFFFF for word in seed], np.arange(groups), [np.full(groups, n) for n in (row, stream, step)])
    uniform = np.maximum((words.reshape(-1)[:columns] >> np.uint64(8)).astype(np.float64) * 2.0 ** -24, LEAST)
    return torch.tensor(-np.log(-np.log(uniform)))


class ShowAttendTell(recurrence.Oracle):
    """PyTorch version of models/show-attend-tell.weft."""

    def __init__(self, sizes, start):
        self.sizes, self.seed, self.baseline, self.draws = sizes, start["seed"], 0.0, None
        super().__init__(sizes, start)
        self.differs_in_eval = sizes["attention"] == "hard"  # `eval` takes the most probable region

    def averages(self):
        return {"baseline": self.baseline} if self.sizes["attention"] == "hard" else {}

    def draw_for(self, step, stream):
        self.draws = (step, stream)

    def attend(self, scores, row):
        """Returns the attention weights of a query, and the weights that the model continues with."""
        kind = self.sizes["attention"]
        weights = torch.softmax(scores if kind != "mean" else 0 * scores, 0)
        if kind != "hard":
            return weights, weights
        noise = gumbel(self.seed, *self.draws, row, len(scores)) if self.draws else 0
        chosen = torch.nn.functional.one_hot((weights.log() + noise).argmax(), len(scores)).to(weights.dtype)
        return weights, chosen

    def logits(self, source, target):
        w = self.weights
        notes = w["source_table"][source] + w["places"][:len(source)]
        overview = notes.mean(0)
        state, cell = (torch.tanh(self.project(overview, name)) for name in ("begin_h.", "begin_c."))
        keys, words = self.project(notes, "keys."), w["target_table"][target]
        states, contexts, self.weighed, self.taken = [], [], [], []
        for place, word in enumerate(words):
            weights, chosen = self.attend(torch.tanh(state @ w["query.weight"] + keys) @ w["v"], self.first + place)
            context = chosen @ notes
            if self.sizes["attention"] == "soft":
                context = context * torch.sigmoid(self.project(state, "seen."))
            _, (state, cell) = recurrence.Cell("lstm", w, "")(torch.cat([word, context])[None], (state, cell))
            for rows, row in ((states, state), (contexts, context), (self.weighed, weights), (self.taken, chosen)):
                rows.append(row)
        self.first += len(target)
        return self.project(words + self.project(torch.stack(states), "of_state.") + self.project(torch.stack(contexts), "of_context."),
                            "output.")

    def batch_logits(self, batch):
        self.first = 0
        return super().batch_logits(batch)

    def loss(self, batch):
        self.first, losses, terms, rewards = 0, [], [], []
        for source, target, labels in batch:
            logits = self.logits(torch.tensor(source), torch.tensor(target))
            words = torch.nn.functional.cross_entropy(logits, torch.tensor(labels), reduction="sum")
            weights, chosen = torch.stack(self.weighed), torch.stack(self.taken)
            losses.append(words)
            if self.sizes["attention"] == "hard":
                rewards.append(-words.item())
                advantage = rewards[-1] - self.baseline
                likelihood, entropy = (chosen * weights.log()).sum(), -(weights * weights.log()).sum()
                terms.append(self.sizes["reward_weight"] * advantage * likelihood + self.sizes["entropy_weight"] * entropy)
            else:
                losses.append(self.sizes["doubly_stochastic"] * ((1 - weights.sum(0)) ** 2).sum())
        if rewards:
            self.baseline = KEEPS * self.baseline + (1 - KEEPS) * np.mean(rewards)
        count = sum(len(labels) for _, _, labels in batch)
        # The terms' values do not count in the reported loss; their gradients do.
        return (sum(losses) - sum(term - term.detach() for term in terms)) / count


def sizes(attention, **own):
    return {"image_height": 0, "image_width": 0, "width": 33, "align": 20, "attention": attention, "doubly_stochastic": 0.0, "reward_weight": 1.0, "entropy_weight": 0.01, **own}


TEXT = "show-attend-tell.weft"
CASES = {
    "soft": (TEXT, ShowAttendTell, sizes("soft", doubly_stochastic=0.3)),
    "hard": (TEXT, ShowAttendTell, sizes("hard", entropy_weight=0.1)),
    "hard-narrow": (TEXT, ShowAttendTell, sizes("hard", width=20, align=7, reward_weight=0.5)),
    "mean": (TEXT, ShowAttendTell, sizes("mean", width=24)),
}


def main():
    recurrence.main(CASES)


if __name__ == "__main__":
    main()
