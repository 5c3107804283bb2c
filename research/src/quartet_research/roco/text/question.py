"""A question: its text in two wordings, the form of its answer, and the right answers."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import numpy as np

from quartet_simulation.table_tasks import TableTask

MOST_READ = 20_000
"""Characters at the end of a reply that are read."""
LETTERS = "ABCD"
NONE = "none"
_TEXTS = tomllib.loads((files(__package__) / "wordings.toml").read_text("utf-8"))
_ANSWER = re.compile(r"\banswer(?:\s+is)?[^\w\n]{0,9}[:=]\s*(.*)", re.IGNORECASE)
_NOTE = re.compile(r"\(.*|\.\s.*|\bbecause\b.*")
_LETTER = re.compile(r"\W*(?:option\s+)?([A-Za-z])\b(?!\W*(?:,|/|or\b|and\b))", re.IGNORECASE)
_MOVE = re.compile(r"PICK\W+(\w+)\W+(?:and\W+)?PLACE\W+(?:(?:it|on|onto|in)\W+)*(\w+)", re.IGNORECASE)


class Form(StrEnum):
    """What is answered."""

    NAMES = "Name all that apply, separated by commas, or none. Valid names: {choices}."
    LETTER = "Choose one of the answers. Valid letters: {choices}."
    ACTION = "Answer NO, or YES with your action. Valid actions: {choices}."


@dataclass(frozen=True)
class Question:
    """A question to one robot about a task at one moment."""

    robot: str
    texts: tuple[str, str]
    """Whole prompt in each of the wordings."""
    form: Form
    choices: tuple[str, ...]
    """Names, letters or actions from which an answer is made."""
    right: frozenset[str]
    """Right answers as `read_answer` returns them; several if several actions are right."""
    task: TableTask
    """The task at that moment."""
    about: Mapping[str, Any]
    """Facts from which the key was computed, for proofs of it."""


def make_question(
    task: TableTask,
    robot: str,
    form: Form,
    choices: Sequence[str],
    right: Collection[str],
    wordings: Sequence[str],
    parts: Mapping[str, str],
    **about: Any,
) -> Question:
    """Return a question.

    Args:
        task: at the moment of the question.
        robot: who is asked.
        form: of the answer.
        choices: from which an answer is made.
        right: right answers.
        wordings: the question itself in each of the wordings.
        parts: further parts of the prompt by their headings; empty ones are left out.
        about: facts for proofs.
    """
    yourself = f"You are {robot}, one of the robots {', '.join(task.robots)}.\n{task.capability(robot)}"
    answer = f"{form.format(choices=', '.join(choices))} You may give reasons first. The last line has this form:"
    shared = {"Task": task.rules, "Yourself": yourself} | {name: text for name, text in parts.items() if text}
    texts = [
        "\n\n".join(f"# {name}\n{text}" for name, text in (shared | {"Question": one, "Answer": answer}).items())
        + "\nANSWER: <your answer>"
        for one in wordings
    ]
    return Question(robot, (texts[0], texts[1]), form, tuple(choices), frozenset(right), task, about)


def say(category: str, kind: str, **values: str) -> list[str]:
    """Return both wordings of a sentence."""
    return [text.format(**values) for text in _TEXTS[category][kind]]


def lettered(wordings: Sequence[str], options: Sequence[Sequence[str]]) -> list[str]:
    """Return both wordings of a question with its options, each of which has two wordings."""
    return [
        "\n".join([text, *(f"{letter}) {option[number]}" for letter, option in zip(LETTERS, options, strict=False))])
        for number, text in enumerate(wordings)
    ]


def names_text(names: Collection[str]) -> str:
    """Return an answer of names."""
    return ", ".join(sorted(names)) or NONE


def balanced(number: int, count: int, what: int = 0) -> int:
    """Return a number below `count` for each of several properties; `count` questions in a row have all of them."""
    return int(np.random.default_rng([what, number // count]).permutation(count)[number % count])


def placed_at(items: Sequence[Any], at: int, rng: np.random.Generator) -> list[Any]:
    """Return the first item at a position, and the others shuffled around it."""
    others = [items[1:][one] for one in rng.permutation(len(items) - 1)]
    return [*others[:at], items[0], *others[at:]]


def read_answer(reply: str, form: Form, choices: Sequence[str]) -> str:
    """Return the answer after the last "ANSWER:", whatever its case and spacing; "" if it is not a valid one."""
    found = _ANSWER.findall(reply[-MOST_READ:])
    if not found:
        return ""
    text, valid = _NOTE.sub("", found[-1]), {_plain(one): one for one in choices}
    if form is Form.LETTER:
        letter = _LETTER.match(text)
        return letter[1].upper() if letter and letter[1].upper() in choices else ""
    if form is Form.NAMES:
        names = [_plain(part) for part in re.split(r"[,;\n]|\band\b", text) if _plain(part)]
        if names == [NONE]:
            return NONE
        return names_text({valid[name] for name in names}) if names and valid.keys() >= set(names) else ""
    word = _plain(text[:6])
    if not word.startswith("yes"):
        return "NO" if re.match(r"\W*no\b", text, re.IGNORECASE) else ""
    moves = _MOVE.findall(text) or _MOVE.findall(reply[-MOST_READ:])
    action = valid.get(_plain(f"PICK {moves[-1][0]} PLACE {moves[-1][1]}")) if moves else None
    return f"YES {action}" if action else ""


def guess(form: Form, choices: Sequence[str], rng: np.random.Generator) -> str:
    """Return a random answer: each name or not, any letter, NO or YES with any action."""
    if form is Form.NAMES:
        return names_text([name for name in choices if rng.random() < 0.5])
    if form is Form.ACTION and rng.random() < 0.5:
        return "NO"
    return f"{'YES ' if form is Form.ACTION else ''}{rng.choice(choices)}"


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
