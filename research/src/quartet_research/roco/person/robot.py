"""The reference speaker of the robot in the block task. It knows its own prompt: camera, talk, and refused plans."""

import re
from collections.abc import Iterator, Mapping, Sequence

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.speakers.prompt import WAIT, read_prompt
from quartet_simulation.table_tasks.blocks import BIN, BLOCKS, PERSON, ROBOT, TABLE, where

_ORDER, _PLACE = re.compile(r"in this order: ([\w, ]+)\."), re.compile(r"\b(\w+) is (?:in|on)(?: the)? (\w+)")
_BY_PERSON = re.compile(rf"^{PERSON}: (.*(?:\n  .*)*)", re.MULTILINE)


class RobotSpeaker(RuleSpeakers[float]):
    """Says what the camera describes, listens, and proposes the next move.

    Args:
        rates: rate of each fault, a random move and a missing keyword, from 0 to 1.
        seed: seed of the faults.
    """

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        camera = _PLACE.findall(parts["Yourself"].rpartition("You observe:")[2])
        if not _BY_PERSON.search(parts.get("Talk now", "")):
            return "\n".join(["My camera describes:", *(where(*seen) for seen in camera), "PROCEED"])
        heard = _BY_PERSON.findall(f"{parts.get('Earlier talk', '')}\n{parts['Talk now']}")
        corrected = dict(_PLACE.findall("\n".join(heard)))
        names = order[1].split(", ") if (order := _ORDER.search(parts["Task"])) else BLOCKS
        places = {
            name: [corrected[name]] if name in corrected else [at for seen, at in camera if seen == name]
            for name in names
        }
        plans = list(_plans(places, ordered=bool(order)))
        refused = read_prompt(parts).refused
        plan = next((one for one in plans if one not in refused), plans[0])
        if self._chance(self._rates):
            plan = _plan(str(self._rng.choice([ROBOT, PERSON])), str(self._rng.choice(BLOCKS)))
        keyword = [] if self._chance(self._rates) else ["EXECUTE"]
        return "\n".join([*keyword, *(f"NAME {robot} ACTION {action}" for robot, action in plan.items())])


def _plans(places: Mapping[str, Sequence[str]], *, ordered: bool) -> Iterator[Mapping[str, str]]:
    """Yield the plans that fit what the robot believes, and then those that do not."""
    left = [name for name, found in places.items() if BIN not in found] or list(places)
    for fits in (True, False):
        for name in left[:1] if ordered else left:
            yield _plan(ROBOT if (TABLE in places[name]) == fits else PERSON, name)


def _plan(who: str, name: str) -> dict[str, str]:
    """Return the actions of a plan, in the form in which prompts show them."""
    acts = f"PICK {name} PLACE {BIN if who == ROBOT else TABLE}"
    return {robot: acts if robot == who else WAIT for robot in (ROBOT, PERSON)}
