"""Installs with colcon: `colcon build --packages-select quartet_bringup`."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "quartet_bringup"


def files(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).iterdir() if path.is_file())


setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", files("launch")),
        (f"share/{NAME}/config", files("config")),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="The Quartet contributors",
    maintainer_email="maintainers@quartet.invalid",
    description="The robot's side of Quartet: robot guard, rosbridge, camera compression, Nav2 and MoveIt 2.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"robot_guard = {NAME}.guard.__main__:main",
            f"static_transforms = {NAME}.static_transforms:main",
        ]
    },
)
