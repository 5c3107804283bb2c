"""The perception server: its tools over one robot's cameras."""

from pydantic import ValidationError

from quartet_perception.catalogue import Catalogue
from quartet_perception.perceiver import Perceiver
from quartet_perception.segmenters.chain import choose_segmenter, health_of
from quartet_perception.settings import PerceptionSettings
from quartet_perception.tools import (
    add_detect_tools,
    add_grasp_tool,
    add_look_tool,
    add_placing_tool,
    add_spot_tool,
    add_surroundings_tools,
)
from quartet_tool_server import ServerSpec, StartError, ToolServer

_INSTRUCTIONS = (
    "Cameras of a mobile robot: find objects, surfaces and containers by name, grasp poses from above, placing poses. "
    "Positions are in metres in the base frame (x forward, y left, z up, origin on the floor) unless a field says map."
)


def register(server: ToolServer) -> None:
    """Add the perception tools to `server`.

    Raises StartError for an unknown segmenter, for one that lacks a setting, and for an unknown colour.
    """
    try:
        catalogue = Catalogue.of_site(server.site)
        segmenter = choose_segmenter(catalogue, PerceptionSettings(), server.site.segmenter)
    except ValidationError as error:
        # Without the values: some are secrets.
        faults = [f"QUARTET_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors(include_url=False)]
        raise StartError("; ".join(faults)) from None
    except ValueError as error:
        raise StartError(str(error)) from error
    if health_of(segmenter):
        server.health["segmenter"] = lambda: health_of(segmenter)
    perceiver = Perceiver(server.robot, server.site, segmenter, catalogue)
    server.policy_arguments = perceiver.names_meant
    add_detect_tools(server, perceiver)
    add_grasp_tool(server, perceiver)
    add_placing_tool(server, perceiver)
    add_spot_tool(server, perceiver)
    add_look_tool(server, perceiver)
    add_surroundings_tools(server, server.robot)


SERVER = ServerSpec("perception", register, instructions=_INSTRUCTIONS)
