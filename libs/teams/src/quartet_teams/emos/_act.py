"""Execution: each robot writes a list of actions, then makes one call after the other; all act at the same time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from quartet_teams._answers import parse_plan
from quartet_teams._discussion import Discussion
from quartet_teams.emos._agree import Agreement
from quartet_teams.emos._problem import Method, Problem
from quartet_teams.emos._prompts import Prompts
from quartet_teams.emos._replies import is_nothing
from quartet_teams.errors import AnswerError, MalformedPlanError, NoPlanFoundError, SilentError

MOST_TURNS = 40
"""Turns of one robot while it acts; then it waits."""
MOST_MALFORMED = 3
"""Answers of a robot in a row that are no call; then it waits."""
SUCCESS = "Success"
WAIT, SEND_REQUEST = "wait", "send_request"
WOKEN = "You waited. You are asked because of the following message; do what you can about it, then wait."
ROBOT_FUNCTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "nav_to_obj": (
        ("target_obj",),
        "go to the nearest point where you can stand at an object or place, over stairs as well, and face it",
    ),
    "pick": (("target_obj",), "pick an object up with an empty hand, after you have gone to it; you need not see it"),
    "place": (
        ("target_obj", "target_location"),
        "put the object that you hold at a place, after you have gone to the place",
    ),
    "reset_arm": ((), "fold the arm; no other function needs this"),
    WAIT: ((), "stay where you are for some time and keep what you hold; you are asked again unless all robots wait"),
    SEND_REQUEST: (
        ("request", "target_agent"),
        "send a message to another robot, which reads it after its current call, and wait",
    ),
}
"""Arguments and meaning of each function."""


class CallError(AnswerError):
    """A call that the stage cannot begin; its text is meant for the model, too."""


@dataclass(frozen=True)
class Call:
    """Call of a function by a robot."""

    function: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        """Return the call as text."""
        return f"{self.function}({', '.join(self.arguments.values())})"


@dataclass(frozen=True)
class Outcome:
    """End of a call."""

    robot: str
    call: Call
    reason: str = ""
    """Why it failed; empty if it succeeded."""

    def __str__(self) -> str:
        """Return the outcome as text."""
        return f"{self.robot}: {self.call}: {self.reason or SUCCESS}"


class Stage(Protocol):
    """What carries the calls out."""

    @property
    def over(self) -> bool:
        """Whether no further call can be made: the task is done, or the limit of steps is reached."""
        ...

    def functions(self, robot: str) -> Collection[str]:
        """Return the functions that the body of a robot has."""
        ...

    def observe(self, robot: str) -> str:
        """Return where a robot is, what it holds, and what it measures, as text."""
        ...

    def begin(self, robot: str, call: Call) -> None:
        """Begin a call of a robot that does nothing. Raises CallError."""
        ...

    async def advance(self) -> Sequence[Outcome]:
        """Let time pass until calls end; return their outcomes. Without calls in progress, return none."""
        ...


class Ending(StrEnum):
    """How the robots ended their work."""

    ALL_WAIT = "all wait"
    OVER = "over"
    """The stage is over."""


@dataclass
class Acted:
    """What the robots did."""

    ending: Ending
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    malformed: int = 0
    """Answers that were no call."""
    silent: Sequence[str] = ()
    """Robots that did not answer when they were to act."""

    @property
    def failures(self) -> list[Outcome]:
        """Last calls of the robots, apart from waiting, that failed."""
        last = {one.robot: one for one in self.outcomes if one.call.function not in (WAIT, SEND_REQUEST)}
        return [one for one in last.values() if one.reason]


async def act(
    problem: Problem,
    method: Method,
    agreement: Agreement,
    stage: Stage,
    discussion: Discussion,
    *,
    happened: str = "",
) -> Acted:
    """Let the robots do their subtasks until all wait or the stage is over.

    Args:
        problem: task, scene and robots.
        method: parts of the method.
        agreement: subtasks, and the conversation of each robot, which goes on.
        stage: carries the calls out.
        discussion: asks the model.
        happened: what the robots have done before, if the task was planned again.
    """
    actors = [_Actor(robot, Prompts(problem, method, happened), agreement, discussion) for robot in problem.robots]
    by_name = {actor.robot: actor for actor in actors}
    acted = Acted(Ending.ALL_WAIT)
    idle = list(actors)
    while True:
        for actor in idle:
            await actor.begin(stage, by_name)
        if all(actor.waits and not actor.inbox for actor in actors):
            break
        ended = await stage.advance()
        if not ended or stage.over:
            acted.outcomes += ended
            acted.ending = Ending.OVER
            break
        acted.outcomes += ended
        for outcome in ended:
            by_name[outcome.robot].hear(outcome)
        idle = [by_name[outcome.robot] for outcome in ended]
    acted.malformed = sum(actor.malformed for actor in actors)
    acted.silent = [actor.robot for actor in actors if actor.silent]
    return acted


def parse_call(answer: str, robots: Sequence[str], functions: Collection[str] = tuple(ROBOT_FUNCTIONS)) -> Call:
    """Return the call of the last JSON object in an answer. Raises AnswerError.

    Args:
        answer: reply of a robot.
        robots: names of the robots.
        functions: those that the robot has.
    """
    try:
        found = parse_plan(answer)
    except NoPlanFoundError:
        raise NoPlanFoundError(f'there is no JSON object such as {{"function": "{WAIT}"}} in the answer') from None
    function = found.pop("function", "")
    if function not in functions:
        raise MalformedPlanError(f"you have no function {function!r}; valid: {', '.join(functions)}")
    names = ROBOT_FUNCTIONS[function][0]
    if missing := [name for name in names if not found.get(name)]:
        raise MalformedPlanError(f"{function} needs {', '.join(names)}; {missing[0]} is missing")
    if unknown := [name for name in found if name not in names]:
        valid = ", ".join(names) or "none"
        raise MalformedPlanError(f"{function} has no argument {unknown[0]!r}; valid: {valid}")
    if function == SEND_REQUEST and found["target_agent"] not in robots:
        raise MalformedPlanError(f"there is no robot {found['target_agent']!r}; valid: {', '.join(robots)}")
    return Call(function, found)


class _Actor:
    """A robot that acts."""

    def __init__(self, robot: str, prompts: Prompts, agreement: Agreement, discussion: Discussion) -> None:
        self.robot = robot
        self.inbox: list[str] = []
        self.waits = False
        """Whether its last call is to wait."""
        self.malformed = 0
        self.silent = False
        self._prompts = prompts
        self._subtask = agreement.assignment[robot]
        self._has_work = not is_nothing(self._subtask)
        self._chat = agreement.chats[robot]
        self._discussion = discussion
        self._turns = 0
        self._listed = False

    def hear(self, outcome: Outcome) -> None:
        """Add the outcome of its call to its conversation."""
        told = SUCCESS if self._prompts.method.faithful else outcome.reason or SUCCESS
        self._chat.say("result", f"{outcome.call}: {told}")

    async def begin(self, stage: Stage, others: Mapping[str, "_Actor"]) -> None:
        """Choose the next call and begin it."""
        woken = [WOKEN] if self.inbox and (self.waits or not self._has_work) else []
        self._chat.say("observation", "\n".join([stage.observe(self.robot), *woken, *self.inbox]))
        self._has_work |= bool(self.inbox)
        self.inbox.clear()
        call = await self._choose(stage)
        self.waits = call.function == WAIT
        if call.function == SEND_REQUEST:
            others[call.arguments["target_agent"]].inbox.append(f"{self.robot} asks: {call.arguments['request']}")

    async def _choose(self, stage: Stage) -> Call:
        """Return the call that the robot has begun: the first valid one of its answers, or to wait."""
        for _ in range(MOST_MALFORMED):
            text = await self._ask(stage.functions(self.robot))
            if text is None:
                break
            try:
                call = parse_call(text, self._prompts.problem.robots, stage.functions(self.robot))
                # A sender waits, as published.
                stage.begin(self.robot, Call(WAIT) if call.function == SEND_REQUEST else call)
            except AnswerError as error:
                self.malformed += 1
                self._chat.say("rules", f"This is no valid call: {error}")
            else:
                return call
        stage.begin(self.robot, Call(WAIT))
        return Call(WAIT)

    async def _ask(self, functions: Collection[str]) -> str | None:
        """Return the robot's answer, None if it has no turn left, has nothing to do or does not answer."""
        if not self._has_work:
            return None
        try:
            if not self._listed:
                self._listed = True
                self._chat.say(self.robot, await self._say(functions, listed=False))
            if self._turns >= MOST_TURNS:
                return None
            self._turns += 1
            text = await self._say(functions, listed=True)
        except SilentError:
            self.silent = True
            return None
        self._chat.say(self.robot, text)
        return text

    async def _say(self, functions: Collection[str], *, listed: bool) -> str:
        known = {name: one for name, one in ROBOT_FUNCTIONS.items() if name in functions}
        text = "\n".join(f"{name}({', '.join(arguments)}): {meaning}" for name, (arguments, meaning) in known.items())
        prompt = self._prompts.actor(self.robot, self._subtask, text, self._chat, listed=listed)
        return await self._discussion.ask(self.robot, prompt)
