"""Errors of the simulation.

SimulationError
├── UnknownNameError       a world, camera, object, joint or planner that is not there; the text lists the valid ones
├── WorldFileError         a world file that cannot be used, with all of its faults
├── BuildingFileError      a building file that cannot be used, with all of its faults
├── ModelFileError         a model file of an arm or of furniture that cannot be read, or names what it may not
├── InvalidCommandError    a command whose values make no sense (wrong length, not finite, times that go back)
├── SceneObjectError       an object of the planning scene that cannot be added, attached or taken away
├── RequestError           a MoveIt request that cannot be planned, with its code
├── TableError             a table with several arms that cannot be built, or a goal that it has no meaning for
├── UnknownFrameError      a frame that is not in the transform tree
├── StoppedError           a motion that does not start, since the robot guard holds the robot
├── GoalRejectedError      a goal that its action server does not accept
├── GoalFailedError        a goal of rosbridge that never ran
├── ServiceFailedError     a service call that ended without the service's answer
├── IgnoredRequestError    a request that the real rosbridge does not answer
├── QosError               a quality of service that rosbridge does not accept
└── TypeSupportError       types and names of the ROS graph
    ├── UnknownTypeError   a type that is not defined
    ├── FieldError         a value that does not fit its message type
    ├── GraphError         a name or type that does not fit what is in the graph
    └── NameTakenError     a name that a node of the robot, or another client, has
"""

from __future__ import annotations

from collections.abc import Iterable

from quartet_simulation.codes import MoveItCode


class SimulationError(Exception):
    """Root of the errors of this distribution."""


class UnknownNameError(SimulationError):
    """A world, camera, object, joint or planner that is not there."""

    def __init__(self, what: str, name: object, valid: Iterable[str]) -> None:
        super().__init__(f"unknown {what} {name!r}; valid: {', '.join(sorted(valid))}")


class WorldFileError(SimulationError):
    """A world file that cannot be used; the message has every fault with file, line and field, `count` in all."""

    def __init__(self, text: str, count: int = 1) -> None:
        super().__init__(text)
        self.count = count


class BuildingFileError(SimulationError):
    """A building file that cannot be used; the message has every fault with file, line and field."""


class ModelFileError(SimulationError):
    """A model file of an arm or of furniture, or a file that it names, that cannot be read or used."""


class InvalidCommandError(SimulationError):
    """A command that cannot be carried out because its values make no sense."""


class SceneObjectError(SimulationError):
    """An object of the planning scene that cannot be added, attached or taken away."""


class RequestError(SimulationError):
    """A MoveIt request that cannot be planned, with its code."""

    def __init__(self, code: MoveItCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class TableError(SimulationError, ValueError):
    """A table with several arms that cannot be built, or a goal, pose or state that does not fit it."""


class UnknownFrameError(SimulationError):
    """A frame that is not in the transform tree."""


class StoppedError(SimulationError):
    """A motion that does not start, since the robot guard holds the robot."""


class GoalRejectedError(SimulationError):
    """A goal that its action server does not accept."""


class GoalFailedError(SimulationError):
    """A goal that never ran; the text goes to the client of rosbridge."""


class ServiceFailedError(SimulationError):
    """A service call that ended without the service's answer; the text goes to the client of rosbridge."""


class IgnoredRequestError(SimulationError):
    """A request that the real rosbridge does not answer."""


class QosError(SimulationError):
    """A quality of service that rosbridge does not accept."""


class TypeSupportError(SimulationError):
    """A type or a name that cannot be used on the ROS graph."""


class UnknownTypeError(TypeSupportError):
    """A type that is not defined."""


class FieldError(TypeSupportError):
    """A value that does not fit its message type."""


class GraphError(TypeSupportError):
    """A name or type that does not fit what is in the graph."""


class NameTakenError(TypeSupportError):
    """A name that a node of the robot, or another client, has."""
