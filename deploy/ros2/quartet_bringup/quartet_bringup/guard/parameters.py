"""The guard's ROS parameters, checked, and the names that it takes from robot.yaml."""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from quartet_bringup.errors import ParameterError
from quartet_bringup.robot_file import RobotNames
from quartet_safety.guard import Tokens, require_token

OTHER_MOTIONS = ("navigate_through_poses", "follow_path", "assisted_teleop")
"""Actions of Nav2 that move the base and that Quartet itself does not use; beside its navigate_to_pose."""


class ParameterNode(Protocol):
    """The part of rclpy's Node that declares and reads parameters."""

    def has_parameter(self, name: str) -> bool:
        """Return whether a parameter is declared."""
        ...

    def declare_parameter(self, name: str, value: Any) -> Any:
        """Declare a parameter with its default."""
        ...

    def get_parameter(self, name: str) -> Any:
        """Return a parameter, whose `value` is its value."""
        ...

    def list_parameters(self, prefixes: list[str], depth: int) -> Any:
        """Return what is declared, under `names`."""
        ...


class Parameters:
    """Reads parameters of a node; each method raises ParameterError for a value that cannot be used."""

    def __init__(self, node: ParameterNode) -> None:
        self._node = node
        self._known: set[str] = {"use_sim_time", "start_type_description_service"}

    def value(self, name: str, default: Any) -> Any:
        """Return a parameter of any type."""
        self._known.add(name)
        if not self._node.has_parameter(name):
            self._node.declare_parameter(name, default)
        return self._node.get_parameter(name).value

    def text(self, name: str, default: str, *, empty: bool = False) -> str:
        """Return a text; with `empty` it may be empty."""
        value = self.value(name, default)
        if not isinstance(value, str) or not (value or empty):
            raise ParameterError(f"{name}: '{value}' cannot be used; give a text, such as {name}:=...")
        return value

    def seconds(self, name: str, default: float) -> float:
        """Return a duration [s]."""
        value = self.value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.05 <= value <= 60:
            raise ParameterError(f"{name}: {value} cannot be used; 0.05 to 60 [s] are valid")
        return float(value)

    def port(self, name: str, default: int) -> int:
        """Return a TCP port; 0 stands for any free one."""
        value = self.value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
            raise ParameterError(f"{name}: {value} cannot be used; 0 (any free port) to 65535 are valid")
        return value

    def one_of(self, name: str, default: str, valid: tuple[str, ...]) -> str:
        """Return one of the valid texts."""
        value = self.text(name, default)
        if value not in valid:
            raise ParameterError(f"{name}: '{value}' cannot be used; {' or '.join(valid)} are valid")
        return value

    def latch_path(self, robot: str) -> Path:
        """Return where a robot's stop is kept."""
        chosen = self.text("latch_file", "", empty=True)
        home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros")
        return Path(chosen) if chosen else home / f"quartet_robot_guard_{robot}.json"

    def refuse_unknown(self) -> None:
        """Raise ParameterError for a parameter that nothing has read: a misspelt one would change nothing."""
        given = self._node.list_parameters([], 0).names
        unknown = sorted(name for name in given if name not in self._known and not name.startswith("qos_overrides."))
        if unknown:
            raise ParameterError(
                f"there is no parameter {', '.join(unknown)}; there are {', '.join(sorted(self._known))}"
            )


def stopped_actions(names: RobotNames, more: Iterable[str]) -> list[str]:
    """Return every action that moves base or arm, each once.

    Raises:
        ParameterError: `more` names the gripper's action.
    """
    namespace = names.motions["navigate_to_pose"].rpartition("/")[0]
    also = [f"{namespace}/{name}" for name in OTHER_MOTIONS]
    chosen = list(dict.fromkeys([*names.motions.values(), *also, *filter(None, more)]))
    if names.gripper in chosen:
        raise ParameterError(
            f"more_actions: '{names.gripper}' is the gripper's action; the guard leaves the gripper alone, since a "
            "cancelled grip may let go. Take it out"
        )
    return chosen


def listen(host: str, port: int, tokens: Tokens) -> socket.socket:
    """Return the socket of the guard's HTTP port.

    Raises:
        GuardPortError: other machines reach the address and no token is asked for.
        ParameterError: the address cannot be listened on.
    """
    require_token(host, tokens)
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ParameterError(
            f"http_host, http_port: {host}:{port} cannot be listened on ({error}); end who does, or name another"
        ) from error
