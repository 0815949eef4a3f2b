#!/usr/bin/python3
"""Trains systems of the attention literature on tasks for which their ideas matter, and writes one page:

    gallery.py --bin build/bin --out gallery.html [--system NAME]... [--seed N]...

Each system has its task, its figure for three seeds beside the figure without its idea, and pictures of what it attends
to. The exit code is 1 if a figure is not as expected; the page is written all the same."""

import argparse
import html
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import captions
import experiment
import graph_lookup
import images
import pairs
import recurrent_translation
import sentences
from experiment import Figure, Picture
from recurrent_translation import swapped_halves


class Translation:
    """A translator of sentences whose halves swap. Its figure is the share of words in place, over all lengths."""

    def __init__(self, text, settings, steps):
        self.text, self.settings, self.steps = text, settings, steps
        self.task = "translations whose two halves swap, sentences of 5 to 30 words"

    def figures(self, tools, seeds):
        for seed in seeds:
            with tempfile.TemporaryDirectory() as name:
                folder, begin = Path(name), time.time()
                model, checkpoint = recurrent_translation.learn(tools, self.text, self.settings, "swapped", self.steps, seed, folder)
                seconds = time.time() - begin
                shares = [recurrent_translation.words_in_place(tools, model, checkpoint, folder, length) for length in swapped_halves.RANGES]
                pictures = self.pictures(tools, model, checkpoint, folder) if seed == seeds[0] else []
                yield Figure(self.text, "words in place", seed, sum(shares) / len(shares), (0.95, 1), self.steps, seconds, "right", pictures)

    @staticmethod
    def pictures(tools, model, checkpoint, folder):
        source = (folder / "short.src").read_text().splitlines()[0]
        weights = recurrent_translation.weights_of(tools, model, checkpoint, folder, source, "swapped")
        words = swapped_halves.translate(source.split(), "swapped")
        return [Picture("each word of a translation", words, source.split(), weights[:len(words)])] if weights else []


class Captions:
    """Soft and hard attention with all seeds, and the mean of all regions with the first seed."""

    text, task = "show-attend-tell.weft", captions.TASK

    def figures(self, tools, seeds):
        for attention in captions.EXPECTED:
            for seed in seeds if attention != "mean" else seeds[:1]:
                yield from captions.figures(tools, attention, seed, looked_at=40 if seed == seeds[0] else 10)


class Ablation:
    """The model with its idea for all seeds, and the variants without it for the first seed."""

    def __init__(self, described):
        self.described, self.text, self.task = described, described.text, described.task

    def figures(self, tools, seeds):
        variants = dict(self.described.variants)
        for variant, expected in variants.items():
            self.described.variants = {variant: expected}
            is_idea = expected[1] >= 1
            yield from experiment.measure(self.text, self.described, tools, seeds if is_idea else seeds[:1], with_pictures=is_idea)
        self.described.variants = variants


SYSTEMS = {  # with their names in the literature
    "memory network": (Ablation(sentences.EXPERIMENTS["memory"]), "Sukhbaatar et al. 2015"),
    "hierarchical attention": (Ablation(sentences.EXPERIMENTS["hierarchical"]), "Yang et al. 2016"),
    "graph attention": (Ablation(graph_lookup.EXPERIMENTS["dynamic"]), "Veličković et al. 2018, Brody et al. 2022"),
    "ABCNN": (Ablation(pairs.EXPERIMENTS["abcnn"]), "Yin et al. 2016"),
    "feed-forward network": (Ablation(images.EXPERIMENTS["bits"]), "Rumelhart, Hinton, Williams 1986"),
    "convolutional network": (Ablation(images.EXPERIMENTS["shapes"]), "LeCun et al. 1998"),
    "a feed-forward network in its place": (Ablation(images.EXPERIMENTS["shapes-mlp"]), "with as many weights"),
    "captions with soft and hard attention": (Captions(), "Xu et al. 2015"),
    "MPCNN": (Ablation(pairs.EXPERIMENTS["mpcnn"]), "He et al. 2015, 2016"),
    "co-attention": (Ablation(pairs.EXPERIMENTS["coattention"]), "Lu et al. 2016"),
    "convolutional translation": (Translation("convs2s.weft", {"words": 64}, 2000), "Gehring et al. 2017"),
}
LONGEST = "convolutional translation"

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --ground: #fff; --faint: #6b7280; --line: #e5e7eb; --accent: 37, 99, 235; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e5e7eb; --ground: #14171c; --faint: #9ca3af; --line: #2c323b; --accent: 96, 165, 250; }
}
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: left; font-weight: normal; }
thead th { color: var(--faint); }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption, .faint { color: var(--faint); }
.map td { border: 0; padding: .1rem .35rem; white-space: nowrap; }
.map th { border: 0; color: var(--faint); white-space: nowrap; }
.missed { color: #dc2626; }
"""


def cell(weight, text=""):
    return f'<td style="background: rgba(var(--accent), {weight:.3f})" title="{weight:.3f}">{html.escape(text)}</td>'


def figure_of(picture):
    """If a row attends to its own words, shows these words shaded by the weights; otherwise a table with a column for
    each thing attended to."""
    rows = []
    for name, weights in zip(picture.rows, picture.weights):
        words = name.split()
        own = len(words) == len(weights) and len(picture.columns) != len(picture.rows) + 1 and picture.columns[0] == "1"
        texts = words if own else picture.columns
        heading = "" if own else f"<th>{html.escape(name)}</th>"
        rows.append(f"<tr>{heading}{''.join(cell(weight, text) for weight, text in zip(weights, texts))}</tr>")
    return f"<figure><figcaption>{html.escape(picture.title)}</figcaption><table class=map>{''.join(rows)}</table></figure>"


def section(name, paper, text, task, figures):
    rows = "".join(
        f"<tr><td>{html.escape(figure.variant)}</td><td>{figure.seed}</td>"
        f"<td class={'met' if figure.is_expected() else 'missed'}>{figure.figure:.3f}</td>"
        f"<td>{figure.expected[0]:g} to {figure.expected[1]:g}</td><td>{figure.steps}</td><td>{figure.seconds:.0f} s</td></tr>"
        for figure in figures)
    pictures = "".join(figure_of(picture) for figure in figures for picture in figure.pictures)
    return (f"<section><h2>{html.escape(name)}</h2><p>{html.escape(task)} <span class=faint>{html.escape(paper)}; "
            f"<code>models/{html.escape(text)}</code></span></p><table><thead><tr><th>variant<th>seed<th>{html.escape(figures[0].what)}"
            f"<th>expected<th>steps<th>training</tr></thead>{rows}</table>{pictures}</section>")


def page(sections, seconds):
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Heddle\'s gallery of attention</title><style>{STYLE}</style>'
            f"<h1>A gallery of attention</h1><p>Systems of the attention literature, trained by Heddle on tasks where their ideas make the "
            f"difference: each beside itself without the idea. Colours are weights of attention. {seconds / 60:.0f} minutes in all.</p>"
            f"{''.join(sections)}</html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=experiment.ROOT / "build/bin", type=Path)
    parser.add_argument("--out", default=Path("gallery.html"), type=Path)
    parser.add_argument("--system", action="append", choices=sorted(SYSTEMS))
    parser.add_argument("--seed", type=int, action="append")
    arguments = parser.parse_args()
    names, begin = list(arguments.system or SYSTEMS), time.time()

    def measured(name):
        figures = []
        for figure in SYSTEMS[name][0].figures(arguments.bin, arguments.seed or [1, 2, 3]):
            print(figure, flush=True)
            figures.append(figure)
        return figures

    # Two at a time: a small model leaves a core idle now and then. The longest begins first.
    with ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(measured, name) for name in sorted(names, key=lambda name: name != LONGEST)}
        figures_of = {name: running[name].result() for name in names}
    missed = sum(not figure.is_expected() for figures in figures_of.values() for figure in figures)
    sections = [section(name, SYSTEMS[name][1], SYSTEMS[name][0].text, SYSTEMS[name][0].task, figures_of[name]) for name in names]
    arguments.out.write_text(page(sections, time.time() - begin))
    print(f"{arguments.out}: {missed} figures are not as expected" if missed else arguments.out)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
