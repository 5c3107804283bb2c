"""Puts the prompts together from the scene, the past and what was said."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from quartet_teams._discussion import Scene
from quartet_teams._history import PastStep, Window


@dataclass(frozen=True)
class Prompts:
    """Prompts of one decision."""

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
            "actions": "; ".join(self.scene.actions(robot)),
        }

    def _render(self, name: str, talk: dict[str, str], **own: str) -> str:
        template = Template((files("quartet_teams") / "prompts" / f"{name}.md").read_text("utf-8"))
        parts = {heading.replace("_", " ").capitalize(): text for heading, text in talk.items() if text}
        values = {
            "rules": self.scene.rules,
            "state": self.scene.describe(),
            "capabilities": "\n".join(
                f"{robot}: {'; '.join(self.scene.actions(robot))}" for robot in self.scene.robots
            ),
            "talk": "".join(f"\n# {heading}\n{text}\n" for heading, text in parts.items()),
            **own,
        }
        rest = template.substitute(values, history="")
        return template.substitute(values, history=self.window.tell(self.past, rest))
