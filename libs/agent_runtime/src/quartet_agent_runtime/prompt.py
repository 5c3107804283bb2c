"""Prompts: Markdown files beside the agent that uses them, with facts from the robot and site files."""

import json
from importlib.resources import files
from typing import Any, cast

from quartet_agent_runtime.errors import PromptProblem


def load_prompt(package: str, name: str = "prompt.md") -> str:
    """The prompt file `name` of `package`, as it is written."""
    return (files(package) / name).read_text(encoding="utf-8")


def render_prompt(template: str, facts: dict[str, Any], **variables: Any) -> str:
    """`template` with `{{ facts }}` as indented JSON and `variables`. Raises PromptProblem for any other variable."""
    # Imported here because an agent renders once, after it has said that it is ready.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        return environment.from_string(template).render(facts=json_block(facts), **variables)
    except TemplateError as error:
        given = ", ".join(sorted(["facts", *variables]))
        raise PromptProblem(
            f"prompt cannot be rendered: {error.message or error}. Variables that exist: {given}"
        ) from (error)


def request_message(arguments: dict[str, Any]) -> str:
    """The first user message of a sub-agent: its request as data."""
    return f"Your request:\n\n```json\n{json_block(arguments)}\n```\n"


def json_block(value: dict[str, Any]) -> str:
    """`value` as JSON, one line per entry of the outer mapping, compact inside: readable and cheap in tokens."""
    lines = [f"  {json.dumps(key)}: {_entry(entry)}" for key, entry in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _entry(entry: Any) -> str:
    if isinstance(entry, list) and entry:
        items = [json.dumps(item, ensure_ascii=False) for item in cast("list[Any]", entry)]
        return "[\n" + ",\n".join(f"    {item}" for item in items) + "\n  ]"
    return json.dumps(entry, ensure_ascii=False)
