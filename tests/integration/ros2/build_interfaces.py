"""Builds the interface packages that no wheel has (nav2_msgs, moveit_msgs and others) into the environment of rclpy.

Runs in the environment of scripts/ros-env, with a C and a C++ compiler. The definitions are those of the simulation, so
that a field that ROS does not have is found as soon as it meets a message class. Started as: build_interfaces.py
DEFINITIONS_FOLDER
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import rosidl_cli.entry_points
from rosidl_adapter import convert_to_idl
from rosidl_generator_c.cli import GenerateC
from rosidl_generator_py.cli import GeneratePython
from rosidl_generator_type_description.cli import HashTypeDescription
from rosidl_typesupport_c.cli import GenerateCTypesupport
from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

PACKAGES = ("tf2_msgs", "control_msgs", "object_recognition_msgs", "octomap_msgs", "nav2_msgs", "moveit_msgs")
"""Each after those that it uses."""
INTROSPECTION = "introspection"
KINDS = ("msg", "srv", "action")
IMPLEMENTATIONS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
"""What Fast DDS needs of a type; rosidl loads each from a library of its own name."""
PREFIX, SITE = Path(sys.prefix), Path(sysconfig.get_paths()["purelib"])
LIBRARIES = PREFIX / "lib"
_HEADERS = (
    *sorted((PREFIX / "include").iterdir()),
    PREFIX / "include",
    Path(sysconfig.get_paths()["include"]),
    SITE / "numpy" / "_core" / "include",
)
FLAGS = ("-O0", "-fPIC", "-w", *(f"-I{folder}" for folder in _HEADERS))


def extensions_once(group_name: str, *, specs: list[str] | None = None, strict: bool = False) -> dict[str, EntryPoint]:
    """Each wheel has its metadata twice, with which rosidl finds each of its extensions twice and gives up."""
    return {found.name: found for found in entry_points(group=group_name) if not specs or found.name in specs}


def interface_files(package: str, definitions: str, share: Path) -> dict[str, list[str]]:
    """Write the interface files of a package as ROS has them; return the paths as rosidl takes them, by kind."""
    written: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for line in definitions.splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, body = line.partition(":")
        kind, name = head.split()
        path = share / kind / f"{name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = ("\n".join(field.strip() for field in part.split(",")) for part in body.split("---"))
        path.write_text("\n---\n".join(parts) + "\n")
        convert_to_idl(share, package, path.relative_to(share), share)
        written[kind].append(f"{share}:{kind}/{name}.idl")
    return written


def generate(package: str, definitions: str, made: Path) -> None:
    """Write the sources of a package to `made`/<package>, and its interface files to the prefix."""
    share, target, includes = PREFIX / "share" / package, made / package, [str(PREFIX / "share")]
    shutil.rmtree(share, ignore_errors=True)
    files = interface_files(package, definitions, share)
    everything = [path for paths in files.values() for path in paths]
    hashes = HashTypeDescription("description").generate_type_hashes(package, everything, includes, share)
    for kind in KINDS:
        # A message and an action may have the same name, which rosidl takes for one.
        of_kind = [path for path in hashes if Path(path).parent.name == kind]
        GenerateC("c").generate(package, files[kind], includes, target, type_description_files=of_kind)
    for generator in (
        GenerateFastRTPSCTypesupport("fast"),
        GenerateCTypesupport("c", typesupport_implementations=[*IMPLEMENTATIONS]),
        GeneratePython("py", typesupport_implementations=["rosidl_typesupport_c"]),
    ):
        generator.generate(package, everything, includes, target)
    # Some of its files have the names of others.
    GenerateIntrospectionCTypesupport("introspection").generate(
        package, everything, includes, made / INTROSPECTION / package
    )


def compile_package(package: str, made: Path) -> None:
    """Compile a library with all of a package, and the extension by which Python finds it; install both."""
    target, library = made / package, LIBRARIES / f"lib{package}__quartet.so"
    include = (f"-I{made}", f"-I{made / INTROSPECTION}")
    objects = [made / f"{package}_{number}.o" for number in range(2)]
    sources = {
        "c": [
            *target.glob("*/_*_s.c"),
            *target.glob("*/detail/*__functions.c"),
            *target.glob("*/detail/*support.c"),
            *(made / INTROSPECTION / package).glob("*/detail/*.c"),
        ],
        "cpp": [*target.glob("*/*.cpp"), *target.glob("*/detail/*.cpp")],
    }
    # One file of each language: a compiler takes longer to read ROS's headers than to compile what uses them.
    for output, (language, files) in zip(objects, sources.items(), strict=True):
        whole = made / f"{package}.{language}"
        whole.write_text("".join(f'#include "{path}"\n' for path in files))
        run("g++" if language == "cpp" else "gcc", "-c", *FLAGS, *include, str(whole), "-o", str(output))
    # Every description has the same constants.
    descriptions = [str(path) for path in target.glob("*/detail/*__description.c")]
    run("gcc", "-shared", *FLAGS, *include, *descriptions, *map(str, objects), "-o", str(library), *linked())
    for implementation in IMPLEMENTATIONS:
        (LIBRARIES / f"lib{package}__{implementation}.so").symlink_to(library.name)
    shutil.rmtree(SITE / package, ignore_errors=True)
    shutil.copytree(target, SITE / package, ignore=shutil.ignore_patterns("*.c", "*.cpp", "*.h", "detail"))
    (SITE / package / "__init__.py").touch()
    entry = str(target / f"_{package}_s.ep.rosidl_typesupport_c.c")
    extension = SITE / package / f"{package}_s__rosidl_typesupport_c.so"
    run("gcc", "-shared", *FLAGS, *include, entry, "-o", str(extension), str(library), *linked())


def linked() -> list[str]:
    """Return what a library may use; the linker takes what it does."""
    found = [path for pattern in ("lib*_c.so", "lib*_py.so", "lib*__quartet.so") for path in LIBRARIES.glob(pattern)]
    found += [LIBRARIES / name for name in ("librcutils.so", "librmw.so", "libfastcdr.so")]
    return [*(str(path) for path in found), "-Wl,--allow-shlib-undefined"]


def run(*command: str) -> None:
    """Run a compiler; what it says is the error's message."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"build_interfaces: {command[0]} failed: {ended.stderr[-2000:]}")


def main() -> None:
    """Build all packages, each after those that it uses."""
    folder = Path(sys.argv[1])
    rosidl_cli.entry_points.get_entry_points = extensions_once
    os.environ["AMENT_PREFIX_PATH"] = str(PREFIX)
    for package in PACKAGES:
        for old in LIBRARIES.glob(f"lib{package}__*.so"):
            old.unlink()
    with tempfile.TemporaryDirectory() as made:
        for package in PACKAGES:
            generate(package, (folder / f"{package}.txt").read_text(), Path(made))
            compile_package(package, Path(made))


if __name__ == "__main__":
    main()
