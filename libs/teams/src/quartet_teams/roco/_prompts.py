"""Puts the prompts of a RoCo team together, their parts in the published order."""

import functools
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from quartet_teams._discussion import Refusal, Turn
from quartet_teams._history import Window
from quartet_teams._talk import EXECUTE, MOST_SAID, Dialogue, indented, transcript
from quartet_teams.roco._actions import Form, Verb
from quartet_teams.roco._grammar import plan_start
from quartet_teams.roco._past import Past
from quartet_teams.roco._scene import Scene

EXECUTED = "These rounds were executed. The present state is their result."
FAILED = "These plans passed the checks and failed in execution. The state is as before them; propose another plan."
_EMPTY_PART = re.compile(r"^# .+\n\s*(?=# )", re.MULTILINE)


class Prompts:
    """Prompts of one decision, during which scene and past stay as they are. They have no empty parts."""

    def __init__(self, scene: Scene, past: Past, window: Window, *, history: bool, rounds_left: int | None) -> None:
        self._scene = scene
        self._past = past
        self._window = window
        self._history = history
        self._rounds_left = rounds_left
        self._capabilities = {robot: scene.capability(robot) for robot in scene.robots}

    def robot(
        self,
        robot: str,
        dialogues: Sequence[Dialogue],
        refusals: Sequence[Refusal],
        said: Sequence[Turn],
        most_calls: int,
        *,
        last_call: bool,
    ) -> str:
        """Return the prompt of a robot in a dialogue.

        Args:
            robot: who is asked.
            dialogues: the dialogues of the earlier attempts of this round.
            refusals: their refused plans.
            said: the turns of the current dialogue.
            most_calls: calls after which the dialogue does not return to the first robot.
            last_call: whether the robot has to end it.
        """
        return self._render(
            "dialogue",
            dialogues,
            refusals,
            robot=robot,
            capability=self._capabilities[robot],
            observation=self._observations[robot],
            talk=transcript(said),
            ending=self._ending(refusals, said, most_calls),
            closing=f"{_template('last_call').template if last_call else ''}You are {robot}. Your reply is:",
        )

    def _ending(self, refusals: Sequence[Refusal], said: Sequence[Turn], most_calls: int) -> str:
        """Return how to end a reply: in the first dialogue of a round, EXECUTE counts once all have spoken."""
        robots = self._scene.robots
        silent = robots[len(said) + 1 :]
        if silent and not refusals:
            return (
                "End this reply with PROCEED; EXECUTE and a plan count only once all robots have spoken. "
                f"After you, {', then '.join(silent)} will speak."
            )
        complete = "End this reply with EXECUTE and the plan of all robots"
        left = math.ceil(most_calls / len(robots)) * len(robots) - len(said) - 1
        if not left:
            return f"{complete} now; PROCEED would end this talk without a plan."
        following = robots[(len(said) + 1) % len(robots)]
        return (
            f"{complete} if the plan is complete. If something is still open, end with PROCEED: "
            f"then {following} speaks. Replies left after yours: at most {left}."
        )

    def central(self, dialogues: Sequence[Dialogue], refusals: Sequence[Refusal]) -> str:
        """Return the prompt of the LLM that plans for all and sees the whole state."""
        capability = "\n".join(f"{robot}: {text}" for robot, text in self._capabilities.items())
        return self._render("central", dialogues, refusals, capability=capability, observation=self._scene.describe())

    def one_voice(self, dialogues: Sequence[Dialogue], refusals: Sequence[Refusal]) -> str:
        """Return the prompt of the LLM that writes what each robot says."""
        capability = "\n".join(f"{robot}: {text}" for robot, text in self._capabilities.items())
        observation = "\n".join(f"{robot} observes:\n{text}" for robot, text in self._observations.items())
        return self._render("one_voice", dialogues, refusals, capability=capability, observation=observation)

    def _render(self, name: str, dialogues: Sequence[Dialogue], refusals: Sequence[Refusal], **own: str) -> str:
        values = self._shared | own
        values["earlier"] = "\n".join(transcript(dialogue.said) for dialogue in dialogues)
        values["feedback"] = "\n".join(map(_feedback, refusals))
        template = Template(_template("shared").template + _template(name).template)
        limit = "" if self._rounds_left is None else f"Rounds left, with this one: {self._rounds_left}."
        rest = template.substitute(values, history=f"{limit}\n{EXECUTED}\n")
        rounds = self._window.newest(self._past.rounds, rest) if self._history else ""
        history = [limit, EXECUTED if rounds else "", rounds]
        return _EMPTY_PART.sub("", template.substitute(values, history="\n".join(filter(None, history))))

    @functools.cached_property
    def _observations(self) -> dict[str, str]:
        return {robot: self._scene.describe_robot(robot) for robot in self._scene.robots}

    @functools.cached_property
    def _shared(self) -> dict[str, str]:
        """What every prompt of the decision contains."""
        scene = self._scene
        return {
            "rules": scene.rules,
            "actions": "\n".join(_action(verb, form) for verb, form in scene.forms.items()),
            "lines": "\n".join(f"NAME {robot} ACTION <action of {robot}>" for robot in scene.robots),
            "paths": scene.path_rules,
            "failed": "\n".join([FAILED, *map(indented, self._past.failed)] if self._past.failed else []),
            "robots": ", ".join(scene.robots),
        }


def _feedback(refusal: Refusal) -> str:
    """Return speaker, quote of the plan, and what each check says about it."""
    answer = refusal.turn.answer.text.strip()
    start = plan_start(answer)
    quote = indented((answer if start is None else f"{EXECUTE}{answer[start:]}")[-MOST_SAID:])
    return "\n".join(
        [
            f"{refusal.turn.participant} said:\n  {quote}",
            *(f"This plan was refused ({stage}): {text}" for stage, text in refusal.complaints),
            "Correct the plan, or ask the others.",
        ]
    )


def _action(verb: Verb, form: Form) -> str:
    """Return how an action is written, and its valid arguments."""
    lines = [f"{form.written(verb)}: {form.meaning}" if form.meaning else form.written(verb)]
    lines += [f"  objects: {', '.join(form.objects)}"] if form.objects else []
    lines += [f"  targets: {', '.join(form.targets)}"] if form.targets else []
    return "\n".join(lines)


@functools.cache
def _template(name: str) -> Template:
    return Template((files("quartet_teams.roco") / "prompts" / f"{name}.md").read_text("utf-8"))
