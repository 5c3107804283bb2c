"""The documents name only commands, targets and files that exist."""

import re
from pathlib import Path

import pytest
import typer.main

from quartet_cli.main import app

ROOT = Path(__file__).resolve().parents[3]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code_of(document: Path) -> str:
    """Code blocks and code spans of a Markdown file."""
    text = document.read_text()
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return "\n".join([*blocks, *spans])


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_commands_and_targets_exist(document: Path) -> None:
    code = code_of(document)
    named = set(re.findall(r"(?:^|\s|bin/)quartet ([a-z]+)", code))
    assert named <= COMMANDS
    assert set(re.findall(r"(?:^|\s)make ([a-z]+)", code)) <= TARGETS


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_options_exist(document: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command, rest in re.findall(r"(?:^|\s|bin/)quartet ([a-z]+)([^\n]*)", code_of(document)):
        # A command may have commands of its own, such as `quartet secrets rotate`.
        inner = getattr(commands[command], "commands", {}).get((rest.split() or [""])[0], commands[command])
        known = {option for parameter in inner.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)(--[a-z-]+)", rest.split("#")[0])) <= known | {"--help"}, command


@pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    missing = [
        link for link in links if not link.startswith("http") and not (document.parent / link).resolve().exists()
    ]
    assert missing == []


def test_every_command_is_documented() -> None:
    code = code_of(ROOT / "docs" / "cli.md")
    assert {command for command in COMMANDS if f"quartet {command}" not in code} == set()


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()
