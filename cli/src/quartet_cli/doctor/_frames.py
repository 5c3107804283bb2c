"""The chain of frames from the map to tool and cameras."""

import time

from quartet_cli.doctor._exam import Exam, candidates
from quartet_robot_link import TransformUnavailable


async def check_frames(exam: Exam) -> None:
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
        except TransformUnavailable as error:
            unknown = [
                (field, frame)
                for field, frame in ((target_field, target), (source_field, source))
                if frame not in exam.frames
            ]
            exam.wrong("frames", f"{source} cannot be placed in {target}: {error}", _remedy(exam, unknown, missing))
        else:
            exam.ok("frames", f"{source} in {target}", latency_ms=(time.monotonic() - began) * 1e3)


def _remedy(exam: Exam, unknown: list[tuple[str, str]], missing: str) -> str:
    if not unknown or not exam.frames:
        return missing
    field, frame = unknown[0]
    return (
        f"nothing publishes a frame '{frame}': set {field} in robot.yaml to one that is there "
        f"({candidates(frame, exam.frames)}), or {missing}"
    )
