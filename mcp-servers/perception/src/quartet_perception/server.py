"""The perception server: its tools over one robot's cameras."""

from pydantic import ValidationError

from quartet_perception.catalogue import Catalogue
from quartet_perception.choice import choose_segmenter, health_of
from quartet_perception.identity import by_name
from quartet_perception.perceiver import Perceiver
from quartet_perception.settings import PerceptionSettings
from quartet_perception.tools import add_detect_tools, add_grasp_tool, add_look_tool, add_placing_tool
from quartet_tool_server import ToolServer
from quartet_tool_server.run import StartProblem

INSTRUCTIONS = (
    "Cameras of a mobile robot: find objects, surfaces and containers by name, grasp poses from above, placing poses. "
    "Positions are in metres in the base frame (x forward, y left, z up, origin on the floor) unless a field says map."
)


def register(server: ToolServer) -> None:
    """Add the tools. Raises StartProblem for a segmenter that is not known or lacks what it needs, and for a colour
    that nobody knows."""
    try:
        catalogue = Catalogue.of_site(server.site)
        segmenter = choose_segmenter(catalogue, PerceptionSettings(), server.site.segmenter)
    except ValidationError as error:
        # Without the values: some are secrets.
        faults = [f"QUARTET_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors(include_url=False)]
        raise StartProblem("; ".join(faults)) from None
    except ValueError as error:
        raise StartProblem(str(error)) from error
    if health_of(segmenter):
        server.health["segmenter"] = lambda: health_of(segmenter)
    eyes = Perceiver(server.robot, server.site, segmenter, catalogue)
    server.meant = lambda given: by_name(eyes, given)
    add_detect_tools(server, eyes)
    add_grasp_tool(server, eyes)
    add_placing_tool(server, eyes)
    add_look_tool(server, eyes)
