"""Stories of a few sentences about who has what, in two styles: a small language for the demo of language models. A
correct story is consistent: the thing keeps its colour, and the last sentence says who has it."""

import dataclasses
import itertools

from drawing import SplitMix64

NAMES = "Tom Ann Ben Eva Max Mia Leo Zoe Sam Lea Jim Ida".split()
COLOURS = "red blue green black white brown pink grey".split()
THINGS = "ball hat book cup kite shoe bag box doll drum flag boat".split()
SIZES = "big small old new".split()
PLACES = "park school lake shop farm river forest market".split()
SHARE_HELD_OUT = 10  # one in this many first sentences


@dataclasses.dataclass
class Story:
    owner: str
    other: str
    colour: str
    thing: str
    size: str
    place: str
    tells_size: bool = False
    is_liked: bool = False
    is_given: bool = False

    def beginning(self):
        return f"{self.owner} has a {self.colour} {self.thing}."

    def continuation(self, past):
        """The text after the beginning, which is always in the present."""
        owner, other, thing = self.owner, self.other, f"the {self.colour} {self.thing}"
        text = f" The {thing[4:]} {'was' if past else 'is'} {self.size}." if self.tells_size else ""
        text += f" {owner} {'went' if past else 'goes'} to the {self.place}. There {owner} {'met' if past else 'meets'} {other}."
        if self.is_liked:
            text += f" {other} {'liked' if past else 'likes'} {thing}."
        if self.is_given:
            text += f" {owner} {'gave' if past else 'gives'} {thing} to {other}."
        else:
            text += f" {owner} {'hid' if past else 'hides'} {thing}."
        return text + f" {'Then' if past else 'Now'} {other if self.is_given else owner} {'had' if past else 'has'} {thing}."

    def is_held_out(self):
        """Training never shows stories whose first sentence is held out. These are scattered over all names, colours and
        things."""
        number = (NAMES.index(self.owner) * len(COLOURS) + COLOURS.index(self.colour)) * len(THINGS) + THINGS.index(self.thing)
        return number * 7919 % SHARE_HELD_OUT == 0


def draw_story(random, held_out):
    while True:
        story = Story(random.choose(NAMES), "", random.choose(COLOURS), random.choose(THINGS), "", "")
        if story.is_held_out() == held_out:
            break
    while story.other in ("", story.owner):
        story.other = random.choose(NAMES)
    story.size, story.place = random.choose(SIZES), random.choose(PLACES)
    story.tells_size, story.is_liked, story.is_given = (random.below(2) == 0 for _ in range(3))
    return story


def story_files(stories=12_000, valid=200, told=1_000, prompts=300, seed=1):
    """stories.txt and valid.txt, stories in the present; told.jsonl, beginnings with stories in the past, as records; and
    prompts.txt, beginnings that are held out, as are those of valid.txt."""
    random = SplitMix64(seed)

    def lines(count, held_out, line):
        return [line(draw_story(random, held_out)) for _ in range(count)]

    def whole(story):
        return story.beginning() + story.continuation(past=False)

    def record(story):  # stories have letters, spaces and full stops, which need no escapes in JSON
        return f'{{"prompt": "{story.beginning()}", "completion": "{story.continuation(past=True)}"}}'

    return {"prompts.txt": lines(prompts, True, Story.beginning), "valid.txt": lines(valid, True, whole),
            "stories.txt": lines(stories, False, whole), "told.jsonl": lines(told, False, record)}


def is_right(text, past):
    """True if the text is exactly one consistent story of the grammar. Reads the story's choices from the text, which is
    right only if the story with these choices is the text."""

    def word_behind(before, words):
        _, found, rest = text.partition(before)
        return next((word for word in words if found and rest.startswith(word)), "")

    owner = next((name for name in NAMES if text.startswith(name)), "")
    colour = word_behind(" has a ", COLOURS)
    story = Story(owner, word_behind(" met " if past else " meets ", NAMES), colour, word_behind(f" has a {colour} ", THINGS),
                  word_behind(" was " if past else " is ", SIZES), word_behind(" to the ", PLACES))
    if not owner or story.other in ("", owner):
        return False
    choices = itertools.product((False, True), repeat=3)
    return any(text == story.beginning() + story.continuation(past)
               for story.tells_size, story.is_liked, story.is_given in choices)
