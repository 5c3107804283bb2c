"""The chain of frames from the map to tool and cameras, and where the robot is on the map."""

import time

from quartet_cli.doctor.examination import Examination, candidates
from quartet_robot_link import TransformStaleError, TransformUnavailableError


async def check_frames(exam: Examination) -> None:
    """Check that every frame of the robot file can be transformed."""
    names, cameras = exam.robot.file.frames, exam.robot.file.cameras
    chain = [
        ("frames.odom", names.odom, "frames.base", names.base, "start the base's driver or robot_localization"),
        (
            "frames.map",
            names.map,
            "frames.odom",
            names.odom,
            "start the localisation (AMCL or SLAM Toolbox) and give it the initial pose, such as with RViz",
        ),
        ("frames.base", names.base, "frames.tool", names.tool, "start robot_state_publisher with the arm's URDF"),
    ]
    described = "start robot_state_publisher, or publish where the camera sits (static_transform_publisher)"
    for name, camera in (("front", cameras.front), ("arm", cameras.arm)):
        chain.append(("frames.base", names.base, f"cameras.{name}.frame", camera.frame, described))
    for target_field, target, source_field, source, missing in chain:
        began = time.monotonic()
        try:
            await exam.robot.transform(target, source, timeout_s=exam.patience_s)
        except TransformUnavailableError as error:
            exam.frames |= set(exam.robot.transforms.frames())
            unknown = [
                (field, frame)
                for field, frame in ((target_field, target), (source_field, source))
                if frame not in exam.frames
            ]
            if isinstance(error, TransformStaleError):
                exam.wrong(
                    "frames", f"where {source} is in {target} is not known: {error}", f"correct that, or {missing}"
                )
                continue
            exam.wrong(
                "frames", f"there is no transform from {source} to {target}: {error}", _remedy(exam, unknown, missing)
            )
        else:
            exam.ok("frames", f"{source} in {target}", latency_ms=(time.monotonic() - began) * 1e3)


def _remedy(exam: Examination, unknown: list[tuple[str, str]], missing: str) -> str:
    if not unknown or not exam.frames:
        return missing
    field, frame = unknown[0]
    return (
        f"nothing publishes a frame '{frame}': set {field} in robot.yaml to one that is there "
        f"({candidates(frame, exam.frames)}), or {missing}"
    )


async def check_site(exam: Examination) -> None:
    """Check that the robot stands in an area of the site file."""
    site = exam.site
    if site is None:
        return
    try:
        pose = await exam.robot.base_pose(timeout_s=exam.patience_s)
    except TransformUnavailableError:
        exam.skip("site", "where the robot is on the map is not known", "fix the frames first")
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
    """Return whether a point is inside a polygon, by the even-odd rule."""
    crossings = 0
    for (ax, ay), (bx, by) in zip(outline, [*outline[1:], outline[0]], strict=True):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            crossings += 1
    return crossings % 2 == 1
