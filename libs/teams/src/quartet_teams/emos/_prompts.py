"""Puts the prompts of a group together."""

import functools
import re
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from quartet_teams._chat import Chat
from quartet_teams.emos._problem import Method, Problem

_EMPTY_PART = re.compile(r"^# .+\n\s*(?=# )", re.MULTILINE)


@dataclass(frozen=True)
class Prompts:
    """Prompts about one problem. They have no empty parts."""

    problem: Problem
    method: Method
    happened: str = ""
    """What the robots have done until now."""

    def leader(self, chat: Chat) -> str:
        """Return the prompt of the leader."""
        return self._render("leader", chat, example=self.problem.robots[0])

    def robot(self, robot: str, chat: Chat) -> str:
        """Return the prompt of a robot that checks its subtask."""
        check = _template("check" if self.method.programs else "judge").substitute(self._shared).strip()
        return self._render("robot", chat, robot=robot, own=self._own(robot), check=check)

    def actor(self, robot: str, subtask: str, functions: str, chat: Chat, *, listed: bool) -> str:
        """Return the prompt of a robot that acts; `listed`: it has written its list of actions."""
        closing = _template("next" if listed else "list").template.strip()
        parts = {"subtask": subtask, "functions": functions, "closing": closing}
        return self._render("act", chat, robot=robot, own=self._own(robot), **parts)

    def _own(self, robot: str) -> str:
        return self.method.describe(next(one for one in self.problem.profiles if one.name == robot))

    @property
    def _rules(self) -> str:
        """How numbers decide; empty if resumes have no numbers."""
        rules = self.problem.rules or _template("rules").template
        return rules.strip() if self.method.programs else ""

    @functools.cached_property
    def _shared(self) -> dict[str, str]:
        robots = "\n".join(f"## {one.name}\n{self.method.describe(one)}" for one in self.problem.profiles)
        return {
            "task": self.problem.task,
            "scene": self.problem.scene,
            "robots": robots,
            "names": ", ".join(self.problem.robots),
            "happened": self.happened,
            "rules": self._rules,
        }

    def _render(self, name: str, chat: Chat, **own: str) -> str:
        text = _template(name).substitute(self._shared | own, talk="\0")
        # The conversation comes last, so that no model can remove a part.
        return _EMPTY_PART.sub("", text).replace("\0", chat.tell())


@functools.cache
def _template(name: str) -> Template:
    return Template((files("quartet_teams.emos") / "prompts" / f"{name}.md").read_text("utf-8"))
