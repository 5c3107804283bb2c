"""MCP server for the cameras: segmentation, detections, grasp and placing poses.

The geometry and the segmenter work on a `View` alone and need neither a robot nor a server.
"""

from quartet_perception.catalogue import Catalogue, Thing
from quartet_perception.colour_shape import ColourShapeSegmenter
from quartet_perception.estimate import Estimate, estimate
from quartet_perception.grasp import Grasp, plan_grasp
from quartet_perception.placing import Drop, into_container, on_floor, on_surface
from quartet_perception.segmenter import Found, Segmenter, create_segmenter, register, segmenter_names
from quartet_perception.view import Intrinsics, View

__all__ = [
    "Catalogue",
    "ColourShapeSegmenter",
    "Drop",
    "Estimate",
    "Found",
    "Grasp",
    "Intrinsics",
    "Segmenter",
    "Thing",
    "View",
    "create_segmenter",
    "estimate",
    "into_container",
    "on_floor",
    "on_surface",
    "plan_grasp",
    "register",
    "segmenter_names",
]
