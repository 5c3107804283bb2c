"""Writes the dashboards: `python deploy/grafana/generate [FOLDER]`, by default deploy/grafana/dashboards."""

import sys
from pathlib import Path

from agents import agent, models
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from infrastructure import bus, safety
from robots import fleet, task
from stand_ins import simulation

BOARDS = {
    "fleet": fleet,
    "task": task,
    "agent": agent,
    "models": models,
    "safety": safety,
    "bus": bus,
    "simulation": simulation,
}
FOLDER = Path(__file__).resolve().parents[1] / "dashboards"


def main(folder: Path) -> None:
    """Write one JSON file per dashboard into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in BOARDS.items():
        text = JSONEncoder(sort_keys=True, indent=2).encode(make().build())
        (folder / f"{name}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
