"""The robot's side is imported from its ROS package, as colcon would install it."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parents[2] / "deploy" / "ros2" / "quartet_bringup"

if str(PACKAGE) not in sys.path:
    sys.path.append(str(PACKAGE))


@pytest.fixture
def stand_in() -> Iterator[ModuleType]:
    """launch_stand_in.py beside this file."""
    name = "quartet_launch_stand_in"
    spec = importlib.util.spec_from_file_location(name, HERE / "launch_stand_in.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]
