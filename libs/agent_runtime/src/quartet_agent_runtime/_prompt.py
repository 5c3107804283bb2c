"""Prompts: Markdown files beside the agent that uses them, with facts from the robot and site files."""

import json
import re
from importlib.resources import files
from typing import Any, cast

from quartet_agent_runtime.errors import PromptError
from quartet_site import Area, Pose2D, RobotFile, SiteFile, inside

_ONE_LINE = re.compile(r"#|\||```")
"""Begins what ends with its line: a heading, a row of a table, a fence."""
_NEW_BLOCK = re.compile(r"$|#|\||```|- |\{|\d+\. ")
"""Begins another block than the line before: also an item, a JSON object, a variable, an empty line."""


def load_prompt(package: str, name: str = "prompt.md", **parts: str) -> str:
    """Return the prompt file `name` of `package` with each of `parts` in place of its `{{ name }}`.

    Each paragraph and list item is one line: that takes fewer tokens.
    """
    whole = (files(package) / name).read_text(encoding="utf-8")
    for part, text in parts.items():
        whole = whole.replace(f"{{{{ {part} }}}}", text)
    lines: list[str] = []
    for line in whole.splitlines():
        text = line.strip()
        if lines and lines[-1] and not _ONE_LINE.match(lines[-1]) and not _NEW_BLOCK.match(text):
            lines[-1] += f" {text}"
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def render_prompt(template: str, facts: dict[str, Any], **variables: Any) -> str:
    """Render `template` with `{{ facts }}` as indented JSON and `variables`. Raises PromptError for any other one."""
    # Imported here because an agent renders once, after it has said that it is ready.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        return environment.from_string(template).render(facts=json_block(facts), **variables)
    except TemplateError as error:
        given = ", ".join(sorted(["facts", *variables]))
        raise PromptError(f"prompt cannot be rendered: {error.message or error}. Variables that exist: {given}") from (
            error
        )


def request_message(arguments: dict[str, Any]) -> str:
    """Return the first user message of a sub-agent: its request as data."""
    return f"Your request:\n\n```json\n{json_block(arguments)}\n```\n"


def json_block(value: dict[str, Any]) -> str:
    """Return `value` as JSON, a line per entry of the outer mapping and of its lists: readable, cheap in tokens."""
    lines = [f"{_compact(key)}:{_entry(entry)}" for key, entry in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _entry(entry: Any) -> str:
    if isinstance(entry, list) and entry:
        return "[\n" + ",\n".join(_compact(item) for item in cast("list[Any]", entry)) + "\n]"
    return _compact(entry)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def arm_facts(robot: RobotFile) -> dict[str, Any]:
    """Return the transit state of the arm."""
    return {"transit_state": robot.arm.transit_state}


def entries_meant(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the entries of Facts that have `name` or an alias of it, whatever the case."""
    wanted = name.casefold()
    return [one for one in entries if wanted in {known.casefold() for known in (one["name"], *one["aliases"])}]


def area_facts(site: SiteFile) -> list[dict[str, Any]]:
    """Return every area with its entry pose (map frame, m and rad), landmarks, and parking poses where it has some."""
    return [
        {
            "name": area.name,
            "aliases": list(area.aliases),
            "entry": area.entry.model_dump(),
            "landmarks": list(area.landmarks),
            **({"parking": [pose.model_dump() for pose in spots]} if (spots := _parking_in(site, area)) else {}),
        }
        for area in site.areas
    ]


def _parking_in(site: SiteFile, area: Area) -> list[Pose2D]:
    return [pose for pose in site.parking if inside(area.outline, pose.x, pose.y)]


def place_facts(site: SiteFile) -> list[dict[str, Any]]:
    """Return every surface and container with its area and, where the site gives one, the pose to see it from."""
    return [
        {
            "name": place.name,
            "aliases": list(place.aliases),
            "area": place.area,
            "kind": kind,
            "approach": place.approach.model_dump() if place.approach else None,
        }
        for kind, places in (("surface", site.surfaces), ("container", site.containers))
        for place in places
    ]
