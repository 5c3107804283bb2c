"""A question: its text in both wordings, the right answers, and how answers are read."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from quartet_simulation.table_tasks import TableTask

MOST_READ = 20_000
"""Characters at the end of a reply that are read."""
_TEXTS = tomllib.loads((files("quartet_research.roco.text") / "wordings.toml").read_text("utf-8"))
_ANSWER = re.compile(r"\banswer(?: is)?[^\w\n]{0,9}[:=]\s*(.*)", re.IGNORECASE)
_FILLERS = {"and", "it", "on", "onto", "option", "the"}


@dataclass(frozen=True)
class Question:
    """A question to one robot about a task at one moment."""

    robot: str
    texts: tuple[str, ...]
    """The whole prompt in each wording."""
    choices: tuple[str, ...]
    many: bool
    """Whether an answer may name any number of the choices instead of exactly one."""
    right: str
    task: TableTask
    """The task at that moment."""
    about: Mapping[str, Any]
    """Facts for proofs of the key."""


def make_question(
    task: TableTask,
    robot: str,
    wordings: Sequence[str],
    choices: Sequence[str],
    right: str | Collection[str],
    parts: Mapping[str, str],
    **about: Any,
) -> Question:
    """Return a question; `right` is one choice or a collection of them, `parts` are parts of the prompt by heading."""
    many = not isinstance(right, str)
    form = "Name all that apply, separated by commas, or none" if many else "Choose one"
    yourself = f"You are {robot}, one of the robots {', '.join(task.robots)}.\n{task.capability(robot)}"
    context = {"Task": task.rules, "Yourself": yourself, **parts}
    form = f"{form}. Valid answers: {', '.join(choices)}. You may give reasons first. The last line has this form:"
    asked = ({"Question": wording, "Answer": f"{form}\nANSWER: <your answer>"} for wording in wordings)
    texts = ["\n\n".join(f"# {name}\n{text}" for name, text in (context | own).items()) for own in asked]
    return Question(robot, tuple(texts), tuple(choices), many, names_text(right) if many else right, task, about)


def say(kind: str, **values: str) -> list[str]:
    """Return both wordings of a sentence with its values."""
    return [text.format(**values) for text in _TEXTS[kind]]


def with_options(
    wordings: Sequence[str], best: Sequence[str], others: Sequence[Sequence[str]], at: int, rng: np.random.Generator
) -> list[str]:
    """Return both wordings of a question with lettered options, the best at a position and the others shuffled."""
    options = [others[index] for index in rng.permutation(len(others))]
    options.insert(at, best)
    both = [
        [f"{letter}) {one}" for letter, one in zip("ABCD", own, strict=False)] for own in zip(*options, strict=True)
    ]
    return ["\n".join([text, *lines]) for text, lines in zip(wordings, both, strict=True)]


def balanced(number: int, count: int, what: int = 0) -> int:
    """Return a number below `count` for a property of a question; each batch of `count` questions has all numbers."""
    return int(np.random.default_rng([what, number // count]).permutation(count)[number % count])


def names_text(names: Collection[str]) -> str:
    """Return the answer that names these choices, "none" for no names."""
    return ", ".join(sorted(names)) or "none"


def guess(choices: Sequence[str], many: bool, rng: np.random.Generator) -> str:
    """Return a random answer: each choice or not, or any one of them."""
    return names_text([one for one in choices if rng.random() < 0.5]) if many else str(rng.choice(choices))


def read_answer(reply: str, choices: Sequence[str], many: bool) -> str:
    """Return what follows the last "ANSWER:", whatever its case, spacing and remarks; "" if it is not valid."""
    found = _ANSWER.findall(reply[-MOST_READ:])
    text = re.sub(r"\(.*|\.\s.*|\bbecause\b.*", "", found[-1]) if found else ""
    if many:
        valid = {_words(one): one for one in [*choices, "none"]}
        named = {valid.get(words, "") for part in re.split(r"[,;]|\band\b", text) if (words := _words(part))}
        return "" if not named or "" in named or ("none" in named and len(named) > 1) else names_text(named)
    words, others = _words(text), {"or", *(_words(one)[0] for one in choices)}
    for one, own in ((one, _words(one)) for one in choices):
        if words[: len(own)] == own and not others & {*words[len(own) : len(own) + 1]}:
            return one
    return ""


def _words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text without fillers; an underscore separates words."""
    return tuple(word for word in re.findall(r"[^\W\d_]+|\d+", text.casefold()) if word not in _FILLERS)
