"""How far a robot is from its limits, by its resume: positive inside, negative outside [m]."""

import math

from quartet_site.resume import Reach, Resume

LEAST_M = 0.15
"""Of every deciding distance; the scene text rounds to 0.1 m."""


def reach_margin(reach: Reach | None, distance: float, height: float) -> float:
    """Return how far inside its reach, or outside of it, a robot has a point; the hand may have any angle.

    Args:
        reach: claims of the resume; None: no arm.
        distance: horizontal distance of the point from the nearest pose of the base [m]; others are farther off.
        height: of the point above the floor [m].
    """
    if reach is None or math.isinf(distance):
        return -math.inf
    farthest = {band.height: max(high for _, high in band.any_angle) for band in reach.bands if band.any_angle}
    ahead = [far - distance for (low, high), far in farthest.items() if low <= height < high]
    if not ahead or ahead[0] < 0:
        # What is missing to the farthest point of each band, and to its heights.
        gaps = [
            (max(distance - far, 0.0), max(low - height, height - high, 0.0)) for (low, high), far in farthest.items()
        ]
        return -min((math.hypot(*gap) for gap in gaps), default=math.inf)
    lowest = highest = height
    claimed = [heights for heights, far in farthest.items() if far >= distance]
    for low, high in claimed:
        highest = max(highest, high) if low <= highest else highest
    for low, high in reversed(claimed):
        lowest = min(lowest, low) if high >= lowest else lowest
    # The floor is no limit of an arm.
    down = height - lowest if lowest > reach.bands[0].height[0] else math.inf
    return min(ahead[0], highest - height, down)


def in_view(resume: Resume, distance: float, height: float) -> bool:
    """Return whether a camera sees a point ahead at a distance and a height [m], LEAST_M up and down, too."""
    return any(
        all(
            abs(math.degrees(math.atan2(camera.height - seen, distance)) - resume.body.camera_tilt.get(name, 0.0))
            < camera.hfov / 2
            for seen in (height - LEAST_M, height + LEAST_M)
        )
        for name, camera in resume.perception.cameras_info.items()
    )
