"""A look at the names of a site file: models read them, so a name that reads like an instruction is reported."""

import re
from collections.abc import Iterator

from quartet_site.site import SiteFile

MOST_WORDS = 6
"""Words of a name; a longer one is a sentence."""
_INSTRUCTION = re.compile(
    r"\b(ignore|disregard|forget|override|instead|instructions?|prompts?|system|assistant|execute|obey|always|never"
    r"|do not|don't|you (are|must|should|will|may)|tell (me|the|a|them)|report (that|success)|call the)\b"
)


def instruction_like(site: SiteFile) -> list[str]:
    """Return `field: 'name'` for every name, alias and landmark that reads like an instruction to a model."""
    return [f"{field}: '{name}'" for field, name in _names(site) if _suspicious(name)]


def _suspicious(name: str) -> bool:
    words = re.sub(r"[_-]+", " ", name)
    return len(words.split()) > MOST_WORDS or _INSTRUCTION.search(words) is not None


def _names(site: SiteFile) -> Iterator[tuple[str, str]]:
    yield "name", site.name
    lists = {"areas": site.areas, "surfaces": site.surfaces, "containers": site.containers, "objects": site.objects}
    for section, entries in lists.items():
        for number, entry in enumerate(entries):
            at = f"{section}.{number}"
            yield f"{at}.name", entry.name
            yield from ((f"{at}.aliases.{index}", alias) for index, alias in enumerate(entry.aliases))
    for number, area in enumerate(site.areas):
        yield from ((f"areas.{number}.landmarks.{index}", mark) for index, mark in enumerate(area.landmarks))
