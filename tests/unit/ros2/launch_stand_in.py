"""Just enough of launch, launch_ros, ament_index_python and moveit_configs_utils to run the launch files and see what
they would start. The real ones are no Python packages that can be installed without ROS. As strict as launch 3.7.1: an
argument without a default is required, also of a file that is included, to which it must be given by name."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


@dataclass
class LaunchDescription:
    entities: list[Any]


@dataclass
class DeclareLaunchArgument:
    name: str
    default_value: str | None = None
    description: str = ""


@dataclass
class OpaqueFunction:
    function: Callable[[Any], list[Any]]


@dataclass
class LaunchConfiguration:
    name: str

    def perform(self, context: dict[str, str]) -> str:
        return context[self.name]


@dataclass
class IfCondition:
    condition: LaunchConfiguration


@dataclass
class PythonLaunchDescriptionSource:
    path: str


@dataclass
class IncludeLaunchDescription:
    source: PythonLaunchDescriptionSource
    launch_arguments: Any = ()
    condition: IfCondition | None = None


@dataclass
class SetRemap:
    source: str
    target: str


@dataclass
class Node:
    package: str
    executable: str
    output: str
    respawn: bool
    respawn_delay: float
    name: str = ""
    parameters: list[Any] = field(default_factory=list)
    remappings: list[Any] = field(default_factory=list)


class MoveItConfigsBuilder:
    def __init__(self, robot: str, package_name: str) -> None:
        self.made = (robot, package_name)

    def to_moveit_configs(self) -> Any:
        return SimpleNamespace(
            to_dict=lambda: {"made": self.made},
            move_group_capabilities={"capabilities": "lab/One", "disable_capabilities": ""},
        )


@contextmanager
def ros(shares: dict[str, Path]) -> Iterator[None]:
    """The modules in place; `shares` are the share folders of packages."""
    parts: dict[str, dict[str, Any]] = {
        "launch": {"LaunchDescription": LaunchDescription},
        "launch.actions": {
            "DeclareLaunchArgument": DeclareLaunchArgument,
            "IncludeLaunchDescription": IncludeLaunchDescription,
            "OpaqueFunction": OpaqueFunction,
        },
        "launch.conditions": {"IfCondition": IfCondition},
        "launch.launch_context": {"LaunchContext": dict},
        "launch.launch_description_sources": {"PythonLaunchDescriptionSource": PythonLaunchDescriptionSource},
        "launch.substitutions": {"LaunchConfiguration": LaunchConfiguration},
        "launch_ros": {},
        "launch_ros.actions": {"Node": Node, "SetRemap": SetRemap},
        "ament_index_python": {},
        "ament_index_python.packages": {"get_package_share_directory": lambda name: str(shares[name])},
        "moveit_configs_utils": {"MoveItConfigsBuilder": MoveItConfigsBuilder},
    }
    assert not parts.keys() & sys.modules.keys(), "the real modules are here: use them"
    for name, content in parts.items():
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(content)
    try:
        yield
    finally:
        for name in [*parts, "quartet_bringup.launching"]:
            sys.modules.pop(name, None)


def described(path: Path) -> list[Any]:
    """What a launch file describes."""
    spec = importlib.util.spec_from_file_location(path.name.replace(".", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description().entities


def started(path: Path, **arguments: str) -> list[Any]:
    """What a launch file and those that it includes start with these arguments. Raises RuntimeError like launch."""
    results: list[Any] = []
    _execute(path, dict(arguments), results)
    return results


def _execute(path: Path, context: dict[str, str], results: list[Any]) -> None:
    for entity in described(path):
        if isinstance(entity, DeclareLaunchArgument):
            if entity.name not in context and entity.default_value is None:
                raise RuntimeError(f"Required launch argument '{entity.name}' was not provided")
            context.setdefault(entity.name, entity.default_value or "")
        elif isinstance(entity, OpaqueFunction):
            results += entity.function(context)
        elif entity.condition is None or context[entity.condition.condition.name] == "true":
            _include(entity, context, results)


def _include(include: IncludeLaunchDescription, context: dict[str, str], results: list[Any]) -> None:
    path, given = Path(include.source.path), dict(include.launch_arguments)
    for entity in described(path):
        if isinstance(entity, DeclareLaunchArgument) and entity.default_value is None and entity.name not in given:
            raise RuntimeError(f"Included launch description missing required argument '{entity.name}'")
    _execute(path, context | {name: value.perform(context) for name, value in given.items()}, results)
