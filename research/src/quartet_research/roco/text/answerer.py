"""Reference answerer: answers each question by rules, from its text alone, with faults at a given rate."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.text.question import Form, guess, names_text

_REACH = re.compile(r"(\w+) reaches (panel[\w, ]+?) and")
_SIDE = re.compile(r"(\w+) reaches the foods on the (\w+) side")
_ON = re.compile(r"^(\w+) is on (\w+)\.", re.MULTILINE)
_LIES = re.compile(r"^(\w+) is on the (\w+) side", re.MULTILINE)
_HOLDS = re.compile(r"^(\w+) holds (\w+)\.", re.MULTILINE)
_RECIPE = re.compile(r"From the bottom to the top it has: ([\w, ]+)\.")
_PICK = re.compile(r"^NAME (\w+) ACTION PICK (\w+)$", re.MULTILINE)
_PUT = re.compile(r"^NAME (\w+) ACTION PUT (\w+)", re.MULTILINE)
_MOVED = re.compile(r"^NAME \w+ ACTION PICK (\w+) PLACE (\w+)", re.MULTILINE)
_BUSY = re.compile(r"^(\w+): I will", re.MULTILINE)
_OPTION = re.compile(r"^([A-D])\) (.+)$", re.MULTILINE)
_ACTION = re.compile(r"(\w+) (?:does this|acts)\b.*(PICK|PUT) (\w+)(?: PLACE)?(?: (\w+))?")
_VALID = re.compile(r"Valid (\w+): ([\w, ]+)\.")
_FORMS = {"names": Form.NAMES, "letters": Form.LETTER, "actions": Form.ACTION}
_WORDS = re.compile(r"\w+")


class Answerer(RuleSpeakers):
    """Answers what a prompt asks; a fault is another answer, drawn at random.

    Args:
        rate: of faults.
        seed: of the faults.
    """

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__(seed)
        self._rate = rate

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        valid = _VALID.search(parts["Answer"])
        assert valid is not None, "every prompt names the valid answers"
        form, choices = _FORMS[valid[1]], valid[2].split(", ")
        answer = right = _find_answer(participant, parts, form, choices)
        if self._chance(self._rate):
            while answer == right:
                answer = guess(form, choices, self._rng)
        return f"ANSWER: {answer}"


def _find_answer(robot: str, parts: Mapping[str, str], form: Form, choices: Sequence[str]) -> str:
    asked, state = parts["Question"], _State(parts)
    if form is Form.ACTION:
        words = set(_WORDS.findall(asked))
        able = [one for one in choices if one.split()[-1] in words and state.allows(robot, *one.split()[::2][:0], one)]
        return f"YES {able[0]}" if able else "NO"
    if form is Form.NAMES:
        return names_text(_remember(asked, parts, choices) if "Rounds so far" in parts else state.near(robot, asked, choices))
    options = dict(_OPTION.findall(asked))
    if "Talk now" in parts:
        return next(letter for letter, text in options.items() if _reply(text) == state.best_reply(robot, asked, parts))
    actions = {letter: found for letter, text in options.items() if (found := _ACTION.search(text))}
    lost = set(_WORDS.findall(asked.partition("\n")[0]))
    for letter, found in actions.items():
        if not lost & set(found.groups()) and state.allows(found[1], found[0]):
            return letter
    return next(letter for letter in options if letter not in actions)
