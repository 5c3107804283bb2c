"""A home of the tiers, for modules whose fixture `folder` furnishes one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_simulation.errors import SimulationError
from quartet_simulation.simulation import Simulation
from quartet_site import SiteFile, load_site


class World:
    """The scoring interface without HTTP, of a home with unknown things."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.sim = Simulation(self.folder, 0, sensors="clean")

    def reset(self, seed: int, scenario: str = "") -> dict[str, Any]:
        self.scenario = scenario
        try:
            self.sim.reset(self.folder, seed, scenario or None)
        except SimulationError as error:
            raise UnfitPlacementError(str(error)) from error
        return self.sim.truth()

    def truth(self) -> dict[str, Any]:
        return self.sim.truth()


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[World]:
    made = World(folder)
    yield made
    made.sim.close()


@pytest.fixture(scope="module")
def site(folder: Path) -> SiteFile:
    return load_site(folder / "site.yaml")
