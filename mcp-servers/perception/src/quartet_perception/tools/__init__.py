"""The tools of the perception server, one module per topic."""

from quartet_perception.tools.detect import add_detect_tools
from quartet_perception.tools.grasp import add_grasp_tool
from quartet_perception.tools.look import add_look_tool
from quartet_perception.tools.placing import add_placing_tool
from quartet_perception.tools.spot import add_spot_tool
from quartet_perception.tools.surroundings import add_surroundings_tools

__all__ = [
    "add_detect_tools",
    "add_grasp_tool",
    "add_look_tool",
    "add_placing_tool",
    "add_spot_tool",
    "add_surroundings_tools",
]
