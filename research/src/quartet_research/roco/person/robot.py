"""The reference speaker of the robot in the block task. It knows its own prompt: camera, talk, and refused plans."""

import re
from collections.abc import Iterator, Mapping, Sequence

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.speakers.prompt import WAIT, read_prompt
from quartet_simulation.table_tasks.blocks import BIN, PERSON, ROBOT, TABLE, where

_BLOCKS, _ORDER = re.compile(rf"into the {BIN}: ([\w, ]+)\."), re.compile(r"in this order: ([\w, ]+)\.")
_PLACE = re.compile(r"\b(\w+) is (?:in|on)(?: the)? (\w+)")
_BY_PERSON = re.compile(rf"^{PERSON}: (.*(?:\n  .*)*)", re.MULTILINE)
Move = tuple[str, str]
"""Who acts, and on which block."""


class RobotSpeaker(RuleSpeakers):
    """Says what the camera describes, listens, and proposes the next move.

    Args:
        rate: of each fault: a random move, and (at half the rate) a missing keyword.
        seed: of the faults.
    """

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__(seed)
        self._rate = rate

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        camera = _PLACE.findall(parts["Yourself"].rpartition("You observe:")[2])
        if not _BY_PERSON.search(parts.get("Talk now", "")):
            return "\n".join(["My camera describes:", *(where(*seen) for seen in camera), "PROCEED"])
        prompt = read_prompt(parts)
        talk = "\n".join(parts.get(part, "") for part in ("Earlier talk", "Talk now"))
        told = dict(_PLACE.findall("\n".join(_BY_PERSON.findall(talk))))
        blocks, order = _BLOCKS.search(prompt.task), _ORDER.search(prompt.task)
        assert blocks is not None, "the task names its blocks"
        names = (order or blocks)[1].split(", ")
        places = {
            name: [told[name]] if name in told else [place for seen, place in camera if seen == name] for name in names
        }
        moves = list(_moves(places, ordered=order is not None))
        if self._chance(self._rate):
            moves = [(str(self._rng.choice([ROBOT, PERSON])), str(self._rng.choice(names)))]
        plans = [_plan(move) for move in moves]
        plan = next((one for one in plans if one not in prompt.refused), plans[0])
        keyword = "" if self._chance(self._rate / 2) else "EXECUTE\n"
        return keyword + "\n".join(f"NAME {robot} ACTION {action}" for robot, action in plan.items())


def _moves(places: Mapping[str, Sequence[str]], *, ordered: bool) -> Iterator[Move]:
    """Yield the moves that fit what the robot believes, and then all others that the order permits."""
    left = [name for name, where in places.items() if BIN not in where] or list(places)
    mine = left[:1] if ordered else left
    for name in left:
        if TABLE in places[name] and name in mine:
            yield ROBOT, name
        if set(places[name]) != {TABLE}:
            yield PERSON, name
    yield from ((who, name) for name in mine for who in (ROBOT, PERSON))


def _plan(move: Move) -> dict[str, str]:
    """Return the actions of a plan, in the form in which prompts show them."""
    who, name = move
    acts = f"PICK {name} PLACE {BIN if who == ROBOT else TABLE}"
    return {robot: acts if robot == who else WAIT for robot in (ROBOT, PERSON)}
