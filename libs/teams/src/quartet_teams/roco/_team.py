"""How a RoCo team agrees on a joint plan.

Mandi et al., "RoCo: Dialectic Multi-Robot Collaboration with Large Language Models", ICRA 2024.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from quartet_teams._discussion import Answer, Discussion, Refusal, Turn
from quartet_teams._history import Window
from quartet_teams._talk import Dialogue, talk, transcript
from quartet_teams.errors import ReplyError, UnknownModeError
from quartet_teams.roco._actions import JointPlan
from quartet_teams.roco._grammar import parse_reply, plan_start
from quartet_teams.roco._past import Past
from quartet_teams.roco._prompts import Prompts
from quartet_teams.roco._scene import Scene

PLANNER = "planner"
"""Name of the only participant in the modes with one LLM."""
MOST_ATTEMPTS = 5
"""Plans that may be refused in one round; each follows a new dialogue."""
MOST_CALLS = 10
"""Calls after which a dialogue does not return to its first robot."""
MOST_TOKENS = 30_000
"""Tokens of a prompt; older rounds are left out. The paper states no limit."""


class Mode(StrEnum):
    """Which LLMs take part."""

    DIALOGUE = "dialogue"
    """One LLM per robot, which sees what its robot observes."""
    CENTRAL = "central"
    """One LLM, which sees the whole state."""
    ONE_VOICE = "one_voice"
    """One LLM, which writes what each of the robots says."""


@dataclass(frozen=True)
class Decision:
    """A plan that passed the checks."""

    plan: JointPlan
    chat: str
    """The dialogue that led to it, without the plan, for `Past.add_executed`."""
    attempts: int
    """Plans proposed, the last included."""


class Roco:
    """The team of one episode.

    Args:
        mode: a Mode or its value.
        history: whether prompts contain the executed rounds.
        feedback: whether a refused plan leads to another attempt; without, a round has one attempt.
        most_tokens: tokens of a prompt.
        most_calls: calls after which no new round of a dialogue begins.

    Raises:
        UnknownModeError: unknown mode.
    """

    def __init__(
        self,
        mode: str = Mode.DIALOGUE,
        *,
        history: bool = True,
        feedback: bool = True,
        most_tokens: int = MOST_TOKENS,
        most_calls: int = MOST_CALLS,
    ) -> None:
        if mode not in list(Mode):
            raise UnknownModeError(f"there is no mode '{mode}'; valid: {', '.join(Mode)}")
        self.mode = Mode(mode)
        self.most_calls = most_calls
        self.most_attempts = MOST_ATTEMPTS if feedback else 1
        self.history = history
        self.window = Window(most_tokens=most_tokens)

    async def decide(
        self, scene: Scene, past: Past, discussion: Discussion, *, rounds_left: int | None = None
    ) -> Decision:
        """Return a plan that passes the checks.

        Args:
            scene: the task at this moment.
            past: what the team remembers.
            discussion: asks the model, and keeps all turns and refusals, also without a plan.
            rounds_left: rounds that are left, with this one, for the prompts; None: prompts state no limit.

        Raises:
            NoPlanError: every attempt was refused. The round counts.
        """
        prompts = Prompts(scene, past, self.window, history=self.history, rounds_left=rounds_left)
        dialogues: list[Dialogue] = []

        async def attempt(refusals: Sequence[Refusal]) -> Turn:
            if self.mode is Mode.DIALOGUE:
                dialogue = await talk(
                    discussion,
                    scene.robots,
                    lambda robot, said, last_call: prompts.robot(
                        robot, dialogues, refusals, said, self.most_calls, last_call=last_call
                    ),
                    most_calls=self.most_calls,
                    all_speak_first=not refusals,
                )
            else:
                prompt = prompts.central if self.mode is Mode.CENTRAL else prompts.one_voice
                dialogue = Dialogue((await discussion.turn(PLANNER, prompt(dialogues, refusals)),), ended=True)
            dialogues.append(dialogue)
            return dialogue.last

        plan = await discussion.agree(attempt, lambda reply: parse_reply(reply, scene), scene, self.most_attempts)
        said = [_without(turn, plan, scene) for turn in dialogues[-1].said]
        return Decision(plan, transcript(said), len(dialogues))


def _without(turn: Turn, plan: JointPlan, scene: Scene) -> Turn:
    """Return a turn whose reply ends with EXECUTE if this plan followed it."""
    text = turn.answer.text
    try:
        repeated = parse_reply(text, scene) == plan
    except ReplyError:
        repeated = False
    return replace(turn, answer=Answer(text[: plan_start(text)])) if repeated else turn
