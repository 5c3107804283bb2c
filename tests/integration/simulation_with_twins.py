"""The simulation with one more world, `twins`: the studio with a second can that looks like the first.

Only ground truth tells them apart; site.yaml, and so the robot, knows one kind of can.
"""

import os
import sys
import tempfile
from pathlib import Path

import yaml

from quartet_simulation.__main__ import main
from quartet_simulation.worlds import FILES, WORLD_FILE

CAN, TWIN = "red coke can", "second red coke can"


def write_twins(folder: Path) -> None:
    """Write the world into a folder."""
    world = yaml.safe_load((FILES / "studio.yaml").read_text())
    world["name"] = "twins"
    world["things"].append({"name": TWIN, "like": CAN, "places": ["counter", "wooden table"]})
    folder.mkdir()
    (folder / WORLD_FILE).write_text(yaml.safe_dump(world))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_twins(Path(folder) / "twins")
        os.chdir(folder)
        status = main()
    sys.exit(status)
