"""What a team is given: the task, the scene, the robots, and the parts of the method that are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quartet_teams.errors import UnknownTeamError

Assignment = dict[str, str]
"""Subtask of each robot, in words."""


@dataclass(frozen=True)
class Profile:
    """What the group knows of a robot."""

    name: str
    resume: str
    """With numbers."""
    summary: str
    """The resume without numbers."""
    role: str
    """One line written by a person."""


@dataclass(frozen=True)
class Problem:
    """A task for a group of robots."""

    task: str
    scene: str
    profiles: Sequence[Profile]
    rules: str = ""
    """How the numbers of scene and resumes decide; empty: as in a building (prompts/rules.md)."""

    @property
    def robots(self) -> list[str]:
        """Names of the robots, in the order in which they speak."""
        return [profile.name for profile in self.profiles]


@dataclass(frozen=True)
class Method:
    """Parts of the method; the paper's ablations leave one out.

    Args:
        numbers: resumes have numbers, and robots may run programs.
        resume: robots are described by their resumes; without, by one line each, and they run no programs.
        discussion: the leader shares the task out; without, each robot is given the whole task.
        reflection: robots check their subtasks; without, the leader's first assignment is used.
        faithful: as the published code behaves: every call is answered "Success", nothing is planned again, and the
            leader's answer is not checked.
    """

    numbers: bool = True
    resume: bool = True
    discussion: bool = True
    reflection: bool = True
    faithful: bool = False

    def describe(self, profile: Profile) -> str:
        """Return what prompts say about a robot."""
        if not self.resume:
            return profile.role
        return profile.resume if self.numbers else profile.summary

    @property
    def programs(self) -> bool:
        """Whether robots may run programs."""
        return self.numbers and self.resume


METHODS: Mapping[str, Method] = {
    "emos": Method(),
    "no-numbers": Method(numbers=False),
    "no-resume": Method(resume=False),
    "no-discussion": Method(discussion=False),
    "no-reflection": Method(reflection=False),
    "faithful": Method(faithful=True),
}
"""The method, its ablations, and the method as published."""


def method_of(name: str) -> Method:
    """Return the method of a name. Raises UnknownTeamError."""
    if name not in METHODS:
        raise UnknownTeamError(f"there is no method '{name}'; valid: {', '.join(METHODS)}")
    return METHODS[name]
