"""The tools that the servers register, without a server."""

import inspect
from pathlib import Path
from typing import Any, get_type_hints
from unittest.mock import MagicMock

import pytest

import quartet_moveit
import quartet_nav2
from quartet_perception.tools import add_detect_tools, add_grasp_tool, add_look_tool, add_placing_tool
from quartet_site import load_robot

ROBOT = Path(__file__).parents[3] / "deploy" / "sites" / "home" / "robot.yaml"


class Listing:
    """Stands in the place of a tool server while its tools are registered, and notes their functions."""

    def __init__(self, name: str, found: dict[str, Any]) -> None:
        self._name = name
        self._found = found
        self.robot = MagicMock(file=load_robot(ROBOT))
        """Some defaults of arguments come from its file."""

    def tool(self, function: Any = None, result: Any = None, **_: Any) -> Any:
        def note(function: Any) -> Any:
            function.result = result or get_type_hints(function)["return"]
            self._found[f"{self._name}__{function.__name__}"] = function
            return function

        return note if function is None else note(function)

    def __getattr__(self, _: str) -> Any:
        return MagicMock()


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    """The functions behind the tools, by name."""
    found: dict[str, Any] = {}
    quartet_moveit.SERVER.register(Listing("moveit", found))
    quartet_nav2.SERVER.register(Listing("nav2", found))
    for add in (add_detect_tools, add_grasp_tool, add_look_tool, add_placing_tool):
        add(Listing("perception", found), *[MagicMock()] * (len(inspect.signature(add).parameters) - 1))
    return found
