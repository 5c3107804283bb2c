"""How hard the home suite is: sensors, homes, what stands in them, and how people ask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.disturbances import DISTURBANCES
from quartet_benchmarks.home.homes import CARTON, PERSON, WALKER
from quartet_benchmarks.home.templates import TEMPLATES, Template

ALL_TEMPLATES = (*TEMPLATES, *DISTURBANCES)
ANYWHERE = "anywhere"
"""What the simulation calls it that things stand all over the tops, also out of sight and reach."""
LIGHTS = ("normal", "dim", "warm", "cool")
GENERATED = 20
"""Most homes that are drawn."""
EPISODES_OF_A_HOME = 5
"""A home is drawn for so many episodes."""
SEEDS = (1_000, 1_000_000_000)
"""Seeds of generated homes, from and below."""


@dataclass(frozen=True)
class Tier:
    """What the episodes of a tier have in common."""

    name: str
    episodes: int
    """Number of episodes when nothing else is said."""
    worlds: tuple[str, ...]
    """Homes with a folder of their own."""
    generated: bool
    """Whether homes are drawn as well."""
    sensors: str | None = None
    """Level of the simulated sensors; None: the one that the suite is told."""
    lights: tuple[str, ...] = ()
    """Light of an episode, drawn from these; none: the home's own."""
    spacing: str = ""
    """How close things stand, as the simulation's scenarios say it."""
    unknown_things: int = 0
    """Things in each home that are in no catalogue."""
    hidden_share: float = 0.0
    """Share of the episodes in which a thing stands behind a carton."""
    people_share: float = 0.0
    """Share of the episodes in which somebody stands in a doorway, for a while after the robot has come near."""
    walks_share: float = 0.0
    """Share of the episodes in which somebody walks about."""
    closed_share: float = 0.0
    """Share of the episodes in which a door with a leaf is closed."""
    disturbed_share: float = 0.0
    """Share of the episodes that are of one of the kinds of DISTURBANCES."""
    kinds: tuple[str, ...] = ()
    """Kinds of episodes; none: all."""
    reworded: bool = False
    """Whether sentences are worded freely in place of the one of the template."""
    left_out: str = ""
    """What a person may meet at home that this tier has not."""

    def worlds_for(self, episodes: int, seed: int) -> tuple[str, ...]:
        """Return the homes of a run: generated ones, drawn by the seed of the run, and those with a folder."""
        if not self.generated:
            return self.worlds
        count = min(GENERATED, max(1, episodes // EPISODES_OF_A_HOME))
        rng = Random(f"{self.name} {seed}")
        drawn = tuple(f"generated:{one}" for one in rng.sample(range(*SEEDS), count))
        # The drawn ones first, so that a short run has one of them.
        return (*drawn, *self.worlds)

    def templates(self, index: int, seed: int) -> list[Template]:
        """Return the kinds of an episode, the first that fits is played: that whose turn it is, then those after it.

        In some of the episodes it is one of DISTURBANCES. These are drawn from a stream of their own, so that all
        others stay what they are without.

        Args:
            index: number of the episode in the run, from 0.
            seed: of the episode.
        """
        if self.kinds:
            named = [template for template in ALL_TEMPLATES if template.name in self.kinds]
            return named[index % len(named) :] + named[: index % len(named)]
        turn = index % len(TEMPLATES)
        usual = [*TEMPLATES[turn:], *TEMPLATES[:turn]]
        rng = Random(f"disturbed {seed}")
        if rng.random() < self.disturbed_share:
            return [rng.choice(DISTURBANCES), *usual]
        return usual

    def scenario(
        self, wanted: str, rng: Random, names: Sequence[str], walks: Random | None = None
    ) -> tuple[str, str | None]:
        """Return the scenario for the reset of the simulation, and the object that it hides, if there is one.

        Args:
            wanted: scenario of the episode's template, such as "absent:red cup"; may be empty.
            rng: draws the light, what is hidden, whether somebody stands in a doorway and whether a door is closed.
            names: objects of the catalogue that may be hidden.
            walks: draws whether somebody walks about, so that `rng` draws what it did before people walked.
        """
        parts = [wanted, ANYWHERE, self.spacing, rng.choice(self.lights) if self.lights else ""]
        hidden = None
        free = [name for name in names if name not in wanted]
        if self.hidden_share and free and rng.random() < self.hidden_share:
            hidden = rng.choice(free)
            parts.append(f"behind:{hidden}@{CARTON}")
        if self.people_share and rng.random() < self.people_share:
            parts.append(f"person:{PERSON}")
        if self.closed_share and rng.random() < self.closed_share:
            parts.append("closed")
        if walks is not None and walks.random() < self.walks_share:
            parts.append(f"walks:{WALKER}")
        return ",".join(filter(None, parts)), hidden


IN_NO_TIER = "things on or in other things"
TIERS = {
    tier.name: tier
    for tier in (
        Tier(
            "easy",
            40,
            ("home",),
            generated=False,
            left_out=f"clutter, unknown things, narrow doors, dim and tinted light, people, closed doors, {IN_NO_TIER}",
        ),
        Tier(
            "normal",
            100,
            ("home", "studio"),
            generated=True,
            sensors="typical",
            lights=LIGHTS,
            spacing="packed",
            unknown_things=4,
            people_share=0.4,
            walks_share=0.25,
            closed_share=0.15,
            disturbed_share=0.2,
            reworded=True,
            left_out=f"things that are hidden on purpose, {IN_NO_TIER}",
        ),
        Tier(
            "hard",
            100,
            (),
            generated=True,
            sensors="harsh",
            lights=LIGHTS,
            spacing="packed",
            unknown_things=6,
            hidden_share=0.5,
            people_share=0.6,
            walks_share=0.4,
            closed_share=0.2,
            disturbed_share=0.3,
            reworded=True,
            left_out=IN_NO_TIER,
        ),
    )
}


def find_tier(name: str) -> Tier:
    """Return a tier by its name. Raises OptionError naming all of them."""
    if name not in TIERS:
        raise OptionError(f"tier: there is no '{name}'; valid: {', '.join(TIERS)}")
    return TIERS[name]


def of_kinds(tier: Tier, names: Sequence[str]) -> Tier:
    """Return the tier with these kinds of episodes alone. Raises OptionError for one that there is not."""
    known = [template.name for template in ALL_TEMPLATES]
    for name in names:
        if name not in known:
            raise OptionError(f"kind: there is no '{name}'; valid: {', '.join(known)}")
    return replace(tier, kinds=tuple(names))
