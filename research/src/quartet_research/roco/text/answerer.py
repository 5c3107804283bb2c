"""Reference answerer: answers each question by rules, from its text alone, with faults at a given rate."""

import re
from collections.abc import Mapping, Sequence

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.text.question import Form, guess, names_text

_REACH = re.compile(r"(\w+) reaches (panel[\w, ]+?) and")
_SIDE = re.compile(r"(\w+) reaches the foods on the (\w+) side")
_GOAL = re.compile(r"([a-z]+_[a-z]+) on (panel\d)")
_RECIPE = re.compile(r"From the bottom to the top it has: ([\w, ]+)\.")
_ON = re.compile(r"^(\w+) is on (\w+)\.", re.MULTILINE)
_LIES = re.compile(r"^(\w+) is on the (\w+) side", re.MULTILINE)
_HOLDS = re.compile(r"^(\w+) holds (\w+)\.", re.MULTILINE)
_DONE = re.compile(r"^NAME (\w+) ACTION (PICK|PUT) (\w+)(?: PLACE (\w+))?", re.MULTILINE)
_SAID = re.compile(r"^(\w+): (I will)?", re.MULTILINE)
_OPTION = re.compile(r"^([A-D])\) (.+)$", re.MULTILINE)
_ACT = re.compile(r"(\w+) (?:does|acts)\b.* (?:PICK|PUT) (\w+)(?: PLACE (\w+))?")
_VALID = re.compile(r"Valid (\w+): ([\w, ]+)\.")
_FORMS = {"names": Form.NAMES, "letters": Form.LETTER, "actions": Form.ACTION}


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
        answer = right = _Prompt(participant, parts).answer(form, choices)
        if self._chance(self._rate):
            while answer == right:
                answer = guess(form, choices, self._rng)
        return f"ANSWER: {answer}"


class _Prompt:
    """Facts in a prompt."""

    def __init__(self, robot: str, parts: Mapping[str, str]) -> None:
        text = "\n".join(parts.values())
        self.robot, self.parts, self.asked = robot, parts, parts["Question"]
        self.words = set(re.findall(r"\w+", self.asked.partition("\nA) ")[0]))
        self.reach = {one: panels.split(", ") for one, panels in _REACH.findall(text)}
        self.side, self.lies, self.on = (dict(form.findall(text)) for form in (_SIDE, _LIES, _ON))
        self.holds, self.goals = dict(_HOLDS.findall(text)), dict(_GOAL.findall(parts["Task"]))
        recipe = _RECIPE.search(text)
        self.recipe = recipe[1].split(", ") if recipe else []

    def answer(self, form: Form, choices: Sequence[str]) -> str:
        if form is Form.ACTION:
            moves = [(one, *one.split()[1::2]) for one in choices]
            able = [one for one, block, to in moves if to in self.words and self.allows(self.robot, block, to)]
            return f"YES {able[0]}" if able else "NO"
        if form is Form.NAMES:
            return names_text(self.remembered() if "Rounds so far" in self.parts else self.reached(choices))
        options = dict(_OPTION.findall(self.asked))
        if "Talk now" in self.parts:
            best = self.reply()
            return next(letter for letter, text in options.items() if _kind(text) == best)
        acts = {letter: found.groups("") for letter, text in options.items() if (found := _ACT.search(text))}
        possible = (letter for letter, act in acts.items() if not self.words & {*act[:2]} and self.allows(*act))
        return next(possible, next(letter for letter in options if letter not in acts))

    def near(self, robot: str, name: str) -> bool:
        if robot in self.side:
            return self.lies.get(name) == self.side[robot]
        return self.on.get(name, name) in self.reach[robot]

    def allows(self, robot: str, name: str, target: str) -> bool:
        """Return whether a robot can do an action with an object now; only moves of blocks have a target."""
        if target:
            free = target not in self.goals.values() or self.goals[name] == target
            return free and self.near(robot, name) and self.near(robot, target)
        following = next((food for food in self.recipe if food not in self.on), "")
        return name == following if self.holds[robot] == name else self.near(robot, name)

    def reached(self, names: Sequence[str]) -> list[str]:
        far = bool(re.search(r"out of|cannot", self.asked))
        return [name for name in names if self.near(self.robot, name) != far]

    def remembered(self) -> set[str]:
        done = _DONE.findall(self.parts["Rounds so far"])
        if not self.recipe:
            if "panel" in self.asked:
                return {panel for _, _, block, panel in done if block in self.words}
            return {block for _, _, block, panel in done if panel}
        if "recipe" in self.words:
            return set(self.recipe) - {food for _, verb, food, _ in done if verb == "PUT"}
        wanted = "PICK" if self.words & {"taken", "picked"} else "PUT"
        return {food for robot, verb, food, _ in done if robot in self.words and verb == wanted}

    def reply(self) -> str:
        said = {robot: bool(busy) for robot, busy in _SAID.findall(self.parts["Talk now"])}
        block = next(name for name in self.goals if name in self.words)
        if (reached := self.near(self.robot, block)) and not said[self.robot]:
            return "announce"
        if all(busy for robot, busy in said.items() if robot != self.robot):
            return "wait"
        return "ask_help" if reached else "ask_who"


def _kind(text: str) -> str:
    if "?" in text:
        return "ask_help" if re.search(r"busy|already", text) else "ask_who"
    return "wait" if "later" in text else "announce"
