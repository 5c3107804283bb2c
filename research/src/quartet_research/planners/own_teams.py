"""Teams by their names: those of the literature, or `module:Class` for a team of your own."""

import importlib
from collections.abc import Iterator, Sequence

from quartet_benchmarks.errors import OptionError
from quartet_site import Fault
from quartet_teams import TEAMS, Team, make_team


def load_team(name: str, world: str = "") -> Team:
    """Return a team for a world. `module:Class` is imported and made without arguments. Raises OptionError."""
    if name in TEAMS:
        return make_team(name, world)
    module, _, found = name.partition(":")
    if not module or not found:
        raise OptionError(f"there is no framework '{name}'; valid: {', '.join(TEAMS)}, or MODULE:CLASS of your own")
    try:
        team = getattr(importlib.import_module(module), found)()
    except (ImportError, AttributeError, TypeError) as error:
        raise OptionError(f"framework '{name}' cannot be loaded: {error}; give MODULE:CLASS of a class that is made "
                          "without arguments, on the Python path") from error  # fmt: skip
    if not callable(getattr(team, "decide", None)):
        raise OptionError(f"framework '{name}' has no method decide(scene, prompts, discussion), which a Team has")
    return team


def find_unknown_teams(field: str, given: Sequence[str]) -> Iterator[Fault]:
    """Yield place and text of each team that cannot be loaded, or of an empty list."""
    if not given:
        yield (field,), f"{field} is empty; name at least one or leave it out; valid: {', '.join(TEAMS)}"
    for at, name in enumerate(given):
        try:
            load_team(name)
        except OptionError as error:
            yield (field, at), str(error)
