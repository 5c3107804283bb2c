"""Puts the prompts of a RoCo team together, their parts in the published order."""

import functools
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

NOTHING = "none"


class Prompts:
    """Prompts of one decision, during which scene and past stay as they are."""

    def __init__(self, scene: Scene, past: Past, window: Window) -> None:
        self._scene = scene
        self._past = past
        self._window = window
        self._capabilities = {robot: scene.capability(robot) for robot in scene.robots}

    def robot(
        self,
        robot: str,
        dialogues: Sequence[Dialogue],
        refusals: Sequence[Refusal],
        said: Sequence[Turn],
        *,
        last_call: bool,
    ) -> str:
        """Return the prompt of a robot in a dialogue.

        Args:
            robot: who is asked.
            dialogues: the dialogues of the earlier attempts of this step.
            refusals: their refused plans.
            said: the turns of the current dialogue.
            last_call: whether the robot has to end it.
        """
        return self._render(
            "dialogue",
            dialogues,
            refusals,
            robot=robot,
            capability=self._capabilities[robot],
            observation=self._observations[robot],
            talk=transcript(said) or NOTHING,
            ending=self._ending(refusals, said),
            closing=f"{_template('last_call').template if last_call else ''}You are {robot}. Your reply is:",
        )

    def _ending(self, refusals: Sequence[Refusal], said: Sequence[Turn]) -> str:
        """Return when EXECUTE counts: in the first dialogue of a round, once all have spoken."""
        silent = self._scene.robots[len(said) + 1 :]
        if refusals or not silent:
            return "EXECUTE counts now."
        return f"EXECUTE does not count yet. Still to speak: {', '.join(silent)}."

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
        values["earlier"] = "\n".join(transcript(dialogue.said) for dialogue in dialogues) or NOTHING
        values["feedback"] = "\n".join(map(_feedback, refusals)) or NOTHING
        template = Template(_template("shared").template + _template(name).template)
        history = self._window.tell(self._past.rounds, template.substitute(values, history=""))
        return template.substitute(values, history=history)

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
            "paths": scene.path_rules or "No action has a path.",
            "failed": "\n".join(map(indented, self._past.failed)) or NOTHING,
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
