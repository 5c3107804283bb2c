"""The procedures in words, for prompts."""

from importlib.resources import files

PARTS = ("approach", "pick", "place", "motions", "rules")


def prompt_parts() -> dict[str, str]:
    """Return the Markdown text of each of PARTS: the steps of the skills, and what they share."""
    return {name: (files("quartet_procedures") / f"{name}.md").read_text(encoding="utf-8") for name in PARTS}
