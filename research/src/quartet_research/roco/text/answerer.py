"""Reference answerer: answers each question by rules, from its text alone, with faults at a given rate."""

import re
from collections.abc import Mapping, Sequence

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.speakers.sorting import REACH
from quartet_research.roco.speakers.stacking import HOLDS, LIES, RECIPE, SIDE, STACKED
from quartet_research.roco.text.question import guess, names_text

_GOAL = re.compile(r"([a-z]+_[a-z]+) on (panel\d)")
_DONE = re.compile(r"^NAME (\w+) ACTION (PICK|PUT) (\w+)", re.MULTILINE)
_SAID = re.compile(r"^(\w+): (I will)?", re.MULTILINE)
_OPTION = re.compile(r"^([A-D])\) (.+)$", re.MULTILINE)
_ACT = re.compile(r"(\w+) (?:does|acts)\b.* (?:PICK|PUT) (\w+)")
_VALID = re.compile(r"Valid answers: ([\w, ]+)\.")


class Answerer(RuleSpeakers[float]):
    """Answers the question in a prompt; a fault, drawn at a rate, is another valid answer."""

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        valid = _VALID.search(parts["Answer"])
        assert valid is not None, "every prompt names the valid answers"
        choices, many = valid[1].split(", "), parts["Answer"].startswith("Name all")
        answer = right = _Facts(participant, parts).answer(choices, many)
        faulty = self._chance(self._rates)
        while faulty and answer == right:
            answer = guess(choices, many, self._rng)
        return f"ANSWER: {answer}"


class _Facts:
    """Facts in a prompt."""

    def __init__(self, robot: str, parts: Mapping[str, str]) -> None:
        text = "\n".join(parts.values())
        self.robot, self.parts, self.asked = robot, parts, parts["Question"]
        self.words = re.findall(r"\w+", self.asked.partition("\nA) ")[0])
        self.reach = {one: panels.split(", ") for one, panels in REACH.findall(text)}
        self.side, self.lies, self.on, self.holds = (dict(one.findall(text)) for one in (SIDE, LIES, STACKED, HOLDS))
        self.goals, recipe = dict(_GOAL.findall(parts["Task"])), RECIPE.search(text)
        self.recipe = recipe[1].split(", ") if recipe else []

    def answer(self, choices: Sequence[str], many: bool) -> str:
        if many:
            return names_text(self._remembered() if self.recipe else self._reached(choices))
        options = dict(_OPTION.findall(self.asked))
        if "Talk now" in self.parts:
            best = self._reply()
            return next(letter for letter, text in options.items() if _kind(text) == best)
        if self.recipe:
            acts = {letter: found.groups() for letter, text in options.items() if (found := _ACT.search(text))}
            good = (letter for letter, act in acts.items() if not {*act} & {*self.words} and self._possible(*act))
            return next(good, next(letter for letter in options if letter not in acts))
        good = (one for one in choices[1:] if one.split()[-1] in self.words and self._movable(*one.split()[2::2]))
        return next(good, choices[0])

    def _near(self, name: str) -> bool:
        return self.on.get(name, name) in self.reach[self.robot]

    def _movable(self, block: str, panel: str) -> bool:
        free = panel not in self.goals.values() or self.goals[block] == panel
        return free and self._near(block) and self._near(panel)

    def _possible(self, robot: str, food: str) -> bool:
        following = next((one for one in self.recipe if one not in self.on), "")
        return food == following if self.holds[robot] == food else self.lies.get(food) == self.side[robot]

    def _reached(self, names: Sequence[str]) -> list[str]:
        far = bool(re.search(r"out of|cannot", self.asked))
        return [name for name in names if self._near(name) != far]

    def _remembered(self) -> set[str]:
        done = _DONE.findall(self.parts["Rounds so far"])
        if "recipe" in self.words:
            return {*self.recipe} - {food for _, verb, food in done if verb == "PUT"}
        wanted = "PICK" if {"taken", "picked"} & {*self.words} else "PUT"
        return {food for robot, verb, food in done if robot in self.words and verb == wanted}

    def _reply(self) -> str:
        said = dict(_SAID.findall(self.parts["Talk now"]))
        reached, busy = self._near(next(word for word in self.words if word in self.goals)), said.pop(self.robot)
        if reached and not busy:
            return "announce"
        return "wait" if all(said.values()) else "ask_help" if reached else "ask_who"


def _kind(text: str) -> str:
    if "?" in text:
        return "ask_help" if re.search(r"busy|already", text) else "ask_who"
    return "wait" if "later" in text else "announce"
