"""Where the robot is on the site's map."""

from quartet_cli.doctor._exam import Exam
from quartet_robot_link import TransformUnavailable


async def check_place(exam: Exam) -> None:
    """Whether the robot stands in an area of the site file."""
    site = exam.site
    if site is None:
        return
    try:
        pose = await exam.robot.base_pose(timeout_s=exam.patience_s)
    except TransformUnavailable:
        exam.skip("site", "where the robot is on the map is not known", "mend frames first")
        return
    area = next((area.name for area in site.areas if _inside(pose.x, pose.y, area.outline)), None)
    where = f"the robot is at ({pose.x:.2f}, {pose.y:.2f})"
    if area is None:
        exam.warn(
            "site",
            f"{where}, in none of the {len(site.areas)} areas of site.yaml",
            "check that the localisation has the right initial pose, and that site.yaml was measured on this map",
        )
    else:
        exam.ok("site", f"{where}, in the {area}")


def _inside(x: float, y: float, outline: list[tuple[float, float]]) -> bool:
    """Even-odd rule."""
    crossings = 0
    for (ax, ay), (bx, by) in zip(outline, [*outline[1:], outline[0]], strict=True):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            crossings += 1
    return crossings % 2 == 1
