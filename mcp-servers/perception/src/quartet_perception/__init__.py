"""MCP server for the cameras: segmentation, detections, grasp and placing poses.

The geometry and the segmenter work on a `View` alone and need neither a robot nor a server.
"""

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.estimate import Estimate, estimate
from quartet_perception.grasp import Grasp, plan_grasp
from quartet_perception.placing import Footprint, Placement, into_container, on_floor, on_surface
from quartet_perception.scene.view import Intrinsics, View
from quartet_perception.segmenters.base import SegmentedObject, Segmenter, create_segmenter, register, segmenter_names
from quartet_perception.segmenters.colour_shape import ColourShapeSegmenter

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "ColourShapeSegmenter",
    "Estimate",
    "Footprint",
    "Grasp",
    "Intrinsics",
    "Placement",
    "SegmentedObject",
    "Segmenter",
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
