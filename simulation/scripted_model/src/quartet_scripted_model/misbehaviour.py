"""Faults and habits of real models that the scripted model can show, by rate and seed.

The kind is a function of the seed, the content of the request and how often it came, so that a run can be repeated
exactly. A habit or misreading is a function of the first two messages alone: it lasts for the whole conversation.
"""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from quartet_scripted_model.turn import Call, Text, Turn


class Kind(StrEnum):
    """The ways in which an answer can go wrong."""

    MALFORMED_JSON = "malformed_json"
    """A tool call whose arguments are cut off."""
    UNKNOWN_TOOL = "unknown_tool"
    HALLUCINATED_OBJECT = "hallucinated_object"
    """A call about an object that is nowhere in the request."""
    REFUSAL = "refusal"
    REPETITION = "repetition"
    """The previous call again, with the same arguments."""
    EMPTY = "empty"
    SLOW = "slow"
    RATE_LIMIT = "rate_limit"
    """HTTP 429."""
    HANG = "hang"
    """No answer at all."""
    DRIP = "drip"
    """The answer, byte by byte."""
    CUT_BODY = "cut_body"
    """Half of the answer's JSON."""
    RESET = "reset"
    """The connection is lost in the middle of the answer."""
    HTML = "html"
    """A proxy's page with status 200."""
    NO_CHOICES = "no_choices"
    CUT_OFF = "cut_off"
    """The token limit was reached after the name of the tool."""
    CONTENT_FILTER = "content_filter"
    """A call that the provider's filter stopped."""
    OTHER_TOOL = "other_tool"
    """A call of another agent's tool."""
    BAD_ARGUMENTS = "bad_arguments"
    """Arguments that are JSON and do not fit the tool."""
    HUGE = "huge"
    """A tool call with QUARTET_MISBEHAVE_HUGE_BYTES of words."""
    SAME_ID = "same_id"
    """The same call twice, under one id."""
    FORGOTTEN_OBJECT = "forgotten_object"
    """An orchestrator that neither plans nor carries nor reports the last of the objects."""
    DROPPED_OBJECT = "dropped_object"
    """An orchestrator that plans the last of the objects, and neither carries nor reports it."""
    SWAPPED_TARGETS = "swapped_targets"
    """An orchestrator that carries the first object to the target of the last, and reports what it planned."""
    RENAMED_OBJECT = "renamed_object"
    """An orchestrator that carries another object and reports it under the name of the first."""
    LOOKS_FIRST = "looks_first"
    OWN_WORDS = "own_words"
    """An orchestrator with other words for an object in its plan, its calls and its report."""
    EMPTY_ARGUMENTS = "empty_arguments"
    """"" or null for every optional argument."""
    SEVERAL_CALLS = "several_calls"
    """Approach and pick in one turn; reads after the calls of every other turn."""
    REPORTS_BESIDE = "reports_beside"
    """A report of success in the first turn, together with other calls."""
    CLAIMS_EARLY = "claims_early"
    """A report of success before anything else."""
    PLANS_TWICE = "plans_twice"
    """An orchestrator that writes its plan again in other words, before the first pick and after it."""
    PROSE_FIRST = "prose_first"
    """Words in place of the first call."""
    PROSE_ONLY = "prose_only"


MISREADINGS = frozenset({Kind.FORGOTTEN_OBJECT, Kind.DROPPED_OBJECT, Kind.SWAPPED_TARGETS, Kind.RENAMED_OBJECT})
"""Kinds of an orchestrator whose every answer is sound and whose job is another one than it was asked for."""
HABITS = frozenset(
    {Kind.LOOKS_FIRST, Kind.OWN_WORDS, Kind.EMPTY_ARGUMENTS, Kind.SEVERAL_CALLS, Kind.REPORTS_BESIDE, Kind.PLANS_TWICE}
    | {Kind.CLAIMS_EARLY, Kind.PROSE_FIRST, Kind.PROSE_ONLY}
)
"""Kinds that do not change the job; see policies/habits.py."""
WHOLE = frozenset({Kind.REFUSAL, Kind.EMPTY, Kind.REPETITION, Kind.OTHER_TOOL})
"""Kinds that replace a turn of several calls as a whole."""
TRANSPORT = frozenset({Kind.HANG, Kind.DRIP, Kind.CUT_BODY, Kind.RESET, Kind.HTML})
"""Kinds that change the transport of a correct answer."""

REQUESTS_KEPT = 1000
_OBJECT_ID = re.compile(r"obj_[0-9a-f]{12}")
FOREIGN = Call("ros__call_service", {"service_name": "/robot_guard/reset", "service_type": "std_srvs/srv/Trigger"})
"""A tool that no agent has."""
HALLUCINATION = "glowing purple teapot"
REFUSAL = "I'm sorry, but I can't help with operating machinery."


def check_rates(rates: Mapping[Kind, float]) -> None:
    """Raise ValueError when a rate is not in 0..1, or when their sum exceeds 1."""
    for kind, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ValueError(f"QUARTET_MISBEHAVE: rate {rate} of '{kind}' is not between 0 and 1")
    if sum(rates.values()) > 1 + 1e-9:
        raise ValueError(f"QUARTET_MISBEHAVE: the rates add up to {sum(rates.values()):g}; at most 1 is possible")


class Draws:
    """Draws the fault of a request from its content and from how often it came: a retry is a new draw."""

    def __init__(self, rates: Mapping[Kind, float], seed: int) -> None:
        check_rates(rates)
        self._rates = rates
        self._seed = seed
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """Return what goes wrong with the request `body`; None: nothing."""
        if not any(self._rates.values()):
            return None
        lasting = {kind: rate for kind, rate in self._rates.items() if kind in HABITS | MISREADINGS}
        if (kind := _kind_at(lasting, _share(self._content(body["messages"][:2])))) is not None:
            return kind
        content = self._content(body["messages"], body.get("tools"))
        before = self._seen.pop(content, 0)
        self._seen[content] = before + 1
        if len(self._seen) > REQUESTS_KEPT:
            self._seen.popitem(last=False)
        passing = {kind: rate for kind, rate in self._rates.items() if kind not in lasting}
        return _kind_at(passing, _share(content + before.to_bytes(4)))

    def _content(self, *parts: Any) -> bytes:
        text = json.dumps([self._seed, *parts], sort_keys=True, default=str)
        # Ids of objects are random and differ between equal runs.
        return hashlib.blake2b(_OBJECT_ID.sub("obj", text).encode(), digest_size=16).digest()


def _share(content: bytes) -> float:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest()) / 2**64


def _kind_at(rates: Mapping[Kind, float], draw: float) -> Kind | None:
    for kind in Kind:
        draw -= rates.get(kind, 0.0)
        if draw < 0:
            return kind
    return None


def spoil(kind: Kind, turn: Turn, last_call: Call | None) -> Turn:
    """Return `turn` with the fault `kind`; transport kinds leave it unchanged."""
    if isinstance(turn, tuple) and kind not in WHOLE:
        return tuple(call for one in turn if isinstance(call := spoil(kind, one, last_call), Call))
    match kind:
        case Kind.REFUSAL:
            return Text(REFUSAL)
        case Kind.EMPTY:
            return Text("")
        case Kind.REPETITION:
            return last_call or turn
        case Kind.UNKNOWN_TOOL if isinstance(turn, Call):
            return Call(f"{turn.name}_v2", turn.arguments, turn.say)
        case Kind.OTHER_TOOL:
            return FOREIGN
        case Kind.BAD_ARGUMENTS if isinstance(turn, Call):
            return Call(turn.name, {"target": None, "speed": "very fast", "anything": [turn.arguments]}, turn.say)
        case Kind.HALLUCINATED_OBJECT if isinstance(turn, Call):
            return Call(turn.name, _with_hallucination(turn.arguments), turn.say)
        case _:
            return turn


def _with_hallucination(arguments: dict[str, Any]) -> dict[str, Any]:
    named = {"object_name": HALLUCINATION, "prompt": HALLUCINATION, "names": [HALLUCINATION]}
    return {k: named.get(k, v) for k, v in arguments.items()}


def cut_json(arguments: str) -> str:
    """Return `arguments` cut in the middle, as by a model that ran out of tokens."""
    return arguments[: max(1, len(arguments) * 2 // 3)]
