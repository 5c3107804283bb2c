"""Writing the correction of a camera into the text of a robot file, whose comments and order stay as they are."""

from typing import Any, Literal

import yaml

from quartet_site._load import load_text
from quartet_site._robot import Correction, RobotFile
from quartet_site.errors import SiteFileError


def write_correction(text: str, camera: Literal["front", "arm"], correction: Correction) -> str:
    """Return the text of a robot file with another correction of a camera.

    Only the lines of `cameras.CAMERA.correction` change. Raises SiteFileError for a file in which that cannot be done,
    with the line to write by hand.
    """
    before = load_text(text, RobotFile, "robot file")
    value = _value(correction)
    loader: Any = yaml.SafeLoader(text)
    root: Any = loader.get_single_node()
    section: Any = _child(_child(root, "cameras"), camera)
    known = _child(section, "correction")
    if section is None:
        changed = text
    elif known is not None:
        changed = text[: known.start_mark.index] + value + _after(text, known)
    elif section.flow_style:
        end = section.value[-1][1].end_mark.index
        changed = f"{text[:end]}, correction: {value}{text[end:]}"
    else:
        key, last = section.value[-1]
        # After the line of the last field, with its comment.
        end = text.find(
            "\n", last.end_mark.index if last.start_mark.line == key.start_mark.line else key.start_mark.index
        )
        body, rest = (text + "\n", "") if end < 0 else (text[: end + 1], text[end + 1 :])
        changed = f"{body}{' ' * key.start_mark.column}correction: {value}\n{rest}"
    cameras = before.cameras
    one = getattr(cameras, camera).model_copy(update={"correction": correction})
    wanted = before.model_copy(update={"cameras": cameras.model_copy(update={camera: one})})
    try:
        fits = load_text(changed, RobotFile, "robot file") == wanted
    except SiteFileError:
        fits = False
    if not fits:
        raise SiteFileError(
            f"the correction cannot be written into this robot file without changing more of it; write by hand: "
            f"cameras.{camera}.correction: {value}"
        )
    return changed


def _value(correction: Correction) -> str:
    position, turn = (", ".join(f"{v:.5f}" for v in part) for part in (correction.position_m, correction.rpy_rad))
    return f"{{position_m: [{position}], rpy_rad: [{turn}]}}"


def _child(node: Any, name: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _after(text: str, node: Any) -> str:
    """Return the text after a node; a block ends where its last value does."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return text[node.end_mark.index :]
