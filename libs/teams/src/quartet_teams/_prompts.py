"""Puts the prompts together from the scene, the past and what was said."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from quartet_teams._discussion import Scene
from quartet_teams._history import PastStep, Window


@dataclass(frozen=True)
class Prompts:
    """Prompts of one decision, during which the scene stays as it is."""

    scene: Scene
    past: Sequence[PastStep]
    window: Window

    def planner(self, **talk: str) -> str:
        """Return the prompt of the central planner; `talk` are further parts by their heading."""
        return self._render("planner", talk)

    def robot(self, robot: str, **talk: str) -> str:
        """Return the prompt of a robot in a discussion."""
        return self._render("robot", talk, **self._own(robot))

    def critic(self, robot: str, **talk: str) -> str:
        """Return the prompt of a robot that looks at the planner's plan."""
        return self._render("critic", talk, **self._own(robot))

    def _own(self, robot: str) -> dict[str, str]:
        return {
            "robot": robot,
            "own_state": self.scene.describe_robot(robot),
            "actions": self._actions[robot],
        }

    @functools.cached_property
    def _actions(self) -> dict[str, str]:
        return {robot: "; ".join(self.scene.actions(robot)) for robot in self.scene.robots}

    @functools.cached_property
    def _shared(self) -> dict[str, str]:
        """What every prompt of the decision tells."""
        capabilities = "\n".join(f"{robot}: {actions}" for robot, actions in self._actions.items())
        return {"rules": self.scene.rules, "state": self.scene.describe(), "capabilities": capabilities}

    def _render(self, name: str, talk: dict[str, str], **own: str) -> str:
        template = _template(name)
        parts = {heading.replace("_", " ").capitalize(): text for heading, text in talk.items() if text}
        told = "".join(f"\n# {heading}\n{text}\n" for heading, text in parts.items())
        values = self._shared | own | {"talk": told}
        rest = template.substitute(values, history="")
        return template.substitute(values, history=self.window.tell(self.past, rest))


@functools.cache
def _template(name: str) -> Template:
    return Template((files("quartet_teams") / "prompts" / f"{name}.md").read_text("utf-8"))
