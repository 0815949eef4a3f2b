#!/usr/bin/env python3
"""Writes the data of the demos and the tests, and scores parses and stories."""

import argparse
import inspect
import os
import pathlib
import re
import sys

from brackets import BracketScore, parse_tree
from drawing import write_files
from number_pairs import number_files
from number_words import MAXIMUM, english_writings, german
from parses import parse_files
from prose import prose_files
from stories import is_right, story_files

PROJECT = pathlib.Path(__file__).resolve().parents[2] / "CMakeLists.txt"
COUNT = 2**32 - 1  # the most that is asked for


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"{self.prog}: {message}. `{self.prog} --help` lists the flags.", file=sys.stderr)
        sys.exit(2)


def between(least, most):
    def number(text):
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} to {most}")
        return int(text)

    return number


def read_lines(path):
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror}.") from error
    return text.removesuffix("\n").split("\n") if text else []


def write_data(arguments, files_of, said):
    options = {name: getattr(arguments, name) for name in inspect.signature(files_of).parameters}
    write_files(arguments.out, files_of(**options))
    print(said.format(**options))


def spell(arguments):
    for number in arguments.numbers:
        for english in english_writings(number):
            print(number, english, german(number), sep="\t")


def score_parses(arguments):
    right, parsed = read_lines(arguments.reference), read_lines(arguments.hypothesis)
    if len(right) != len(parsed):
        raise ValueError(f"'{arguments.reference}' has {len(right)} trees and '{arguments.hypothesis}' has {len(parsed)} lines; "
                         "line n of the second must parse the sentence of tree n.")
    score = BracketScore()
    for i, (tree, hypothesis) in enumerate(zip(right, parsed)):
        reference = parse_tree(tree)
        if reference is None:
            raise ValueError(f"line {i + 1} of '{arguments.reference}' is not a tree")
        score.add(reference, parse_tree(hypothesis))
    if not right:
        raise ValueError(f"'{arguments.reference}' has no tree to score against")
    print(f"labelled precision {100 * score.precision():.2f}, recall {100 * score.recall():.2f}, F1 {100 * score.f1():.2f}; "
          f"{100 * score.complete():.1f}% of {score.sentences} sentences complete, {score.unusable} without a usable tree")


def score_stories(arguments):
    stories = read_lines(arguments.file)
    if not stories:
        raise ValueError(f"'{arguments.file}' has no story to score")
    right = sum(is_right(story, arguments.style == "past") for story in stories)
    print(f"{100 * right / len(stories):.1f}% of {len(stories)} stories right")


def parse_command_line():
    parser = Parser(prog="heddle-data", description=__doc__)
    version = re.search(r"project\(\S+ VERSION (\S+)", PROJECT.read_text())[1]
    parser.add_argument("--version", action="version", version=f"heddle-data {version}", help="Print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name, purpose, work):
        command = commands.add_parser(name, help=purpose, description=purpose)
        command.set_defaults(work=work)
        return command

    def add_files(name, purpose, files_of, names, said, **flags):
        """A command that writes files, whose flags are the parameters of `files_of`."""
        command = add(name, purpose, lambda arguments: write_data(arguments, files_of, said))
        command.add_argument("--out", required=True, help=f"Folder for {names}")
        for flag, parameter in inspect.signature(files_of).parameters.items():
            least, most, text = flags.get(flag) or (0, 2**64 - 1, "Seed of the draw")
            command.add_argument(f"--{flag}", type=between(least, most), default=parameter.default, metavar="N",
                                 help=f"{text} (default: %(default)s)")

    add_files("numbers", "Write numbers in English, in the ways in which people write them, and in German", number_files,
              "train.en, train.de, valid.en, valid.de, test.en and test.de",
              "{train} pairs to train on; {valid} numbers to validate and {test} to test, which no training pair has",
              train=(0, COUNT, "Pairs to train on"), valid=(0, COUNT, "Numbers to validate on"),
              test=(0, COUNT, "Numbers to test on"), maximum=(0, MAXIMUM, "The largest number that may occur"))
    add("spell", "Print each writing of numbers: number, English, German", spell).add_argument(
        "numbers", type=between(0, MAXIMUM), nargs="+", help="The numbers")
    add_files("parses", "Write sentences of a small English grammar and their trees", parse_files,
              "train.txt, train.tree, valid.txt, ... test.tree",
              "{train} sentences to train on, {valid} to validate, {test} to test; no two are the same",
              train=(0, COUNT, "Sentences to train on"), valid=(0, COUNT, "Sentences to validate on"),
              test=(0, COUNT, "Sentences to test on"), longest=(3, 1000, "Words of a sentence at most"))
    command = add("score-parses", "Labelled bracket F1 by EVALB's rules", score_parses)
    command.add_argument("reference", help="The right trees, a tree on each line")
    command.add_argument("hypothesis", help="The trees to score, a tree on each line")
    add_files("stories", "Write stories of a small grammar, in the present or in the past", story_files,
              "stories.txt, valid.txt, told.jsonl and prompts.txt",
              "{stories} stories to learn, {told} told in the past, {prompts} beginnings that none of them has",
              stories=(0, COUNT, "Stories in the present"), valid=(0, COUNT, "Stories to validate on"),
              told=(0, COUNT, "Beginnings with stories in the past"), prompts=(0, COUNT, "Beginnings to go on with"))
    add_files("prose", "Write the project's documentation as plain text, a paragraph behind an empty line", prose_files,
              "prose.txt and valid.txt", "the paragraphs of the documentation, of which one in twenty is held out")
    command = add("score-stories", "How many stories are of the grammar and agree with themselves", score_stories)
    command.add_argument("file", help="A story on each line")
    command.add_argument("--style", choices=("present", "past"), default="present",
                         help="How the sentences behind the first are told (default: %(default)s)")
    return parser.parse_args()


def main():
    try:
        arguments = parse_command_line()
        arguments.work(arguments)
        sys.stdout.flush()
    except ValueError as error:
        sys.exit(f"heddle-data: {error}")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python does not write the rest at its end
        if not isinstance(error, BrokenPipeError):  # it is no failure if the reader has closed the pipe
            sys.exit(f"heddle-data: cannot write to standard output: {error.strerror}.")


if __name__ == "__main__":
    main()
