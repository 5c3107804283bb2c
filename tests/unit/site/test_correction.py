"""The correction of a camera is read with all checks, and written without touching anything else."""

import difflib
from pathlib import Path

import pytest

from quartet_site import Correction, SiteFileError, load_robot, write_correction

SITES = sorted((Path(__file__).parents[3] / "deploy" / "sites").iterdir())
FOUND = Correction(position_m=(0.001, -0.0025, 0.004), rpy_rad=(0.002, 0.0, -0.01))
HEAD = """\
name: lab   # ours
arm: {joints: [a], named_states: {look_forward: [0.0]}}
cameras:
"""
CAMERA = "{colour_topic: /c, depth_topic: /d, info_topic: /i, frame: f}"
BLOCK = """\
    colour_topic: /c
    depth_topic: /d   # aligned
    info_topic: /i
    frame: f   # optical
"""


def changes(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.parametrize("folder", SITES, ids=lambda p: p.name)
@pytest.mark.parametrize("camera", ["front", "arm"])
def test_one_line_changes_and_comments_stay(folder, camera, tmp_path):
    before = (folder / "robot.yaml").read_text()
    after = write_correction(before, camera, FOUND)
    *removed, added = changes(before, after)
    assert all("correction: {position_m: [0.0, 0.0, 0.0]" in line for line in removed)
    assert added.strip("+ ").startswith("correction: {position_m: [0.00100, -0.00250, 0.00400]")
    path = tmp_path / "robot.yaml"
    path.write_text(after)
    assert getattr(load_robot(path).cameras, camera).correction == FOUND


@pytest.mark.parametrize(
    "text",
    [
        HEAD + f"  arm: {CAMERA}   # wrist\n  front: {CAMERA}\n",
        HEAD + f"  front: {CAMERA}\n  # the wrist\n  arm:\n{BLOCK}# the end\n",
        HEAD + f"  arm:\n{BLOCK}  front: {CAMERA}",
        HEAD + f"  front: {CAMERA}\n  arm:\n{BLOCK}".rstrip("\n"),
        HEAD + f"  front: {CAMERA}\n  arm:\n{BLOCK}    correction: {{position_m: [0.05, 0, 0]}}   # old\n",
        HEAD + f"  front: {CAMERA}\n  arm:\n    correction:\n      position_m: [0.05, 0, 0]   # old\n{BLOCK}",
        HEAD
        + f"  front: {CAMERA}\n  arm:\n    correction:\n      rpy_rad:\n        - 0\n        - 0\n        - 0\n"
        + BLOCK,
    ],
    ids=["flow", "block", "block before front", "no last newline", "replaced", "replaced block", "replaced list"],
)
def test_every_form_of_yaml_keeps_the_rest(text, tmp_path):
    after = write_correction(text, "arm", FOUND)
    path = tmp_path / "robot.yaml"
    path.write_text(after)
    assert load_robot(path).cameras.arm.correction == FOUND
    comments = [line.partition("#")[2] for line in text.splitlines() if "# " in line and "# old" not in line]
    assert [line.partition("#")[2] for line in after.splitlines() if "# " in line and "# old" not in line] == comments
    assert write_correction(after, "arm", FOUND) == after


def test_what_cannot_be_written_is_told_with_what_to_write():
    text = HEAD + f"  front: &one {CAMERA}\n  arm: *one\n"
    with pytest.raises(SiteFileError, match=r"write by hand: cameras.arm.correction: \{position_m"):
        write_correction(text, "arm", FOUND)
