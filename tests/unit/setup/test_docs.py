"""The documents name only commands, options, targets, settings, files and headings that exist."""

import functools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from quartet_benchmarks.command import ALL, SUITES
from quartet_cli.main import app

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("docs", "deploy", "examples", ".github")
DOCS = [*sorted(ROOT.glob("*.md")), *(file for name in FOLDERS for file in sorted((ROOT / name).rglob("*.md")))]
PAGES = [file for file in DOCS if file.name != "CHANGELOG.md"]
"""What tells how it is now."""
SOURCES = (
    *("libs", "services", "mcp-servers", "simulation", "cli", "benchmarks", "research"),
    *("deploy", "scripts", "tests", "examples"),
)
QUARTET: Any = typer.main.get_command(app)
CAMERA_DRIVER = {"align_depth.enable", "enable_sync"}
"""Arguments of realsense2_camera, which the documents name too."""
USAGE: Any = typer.BadParameter.__mro__[1]
"""Every kind of wrong usage."""
COMMANDS = set(QUARTET.commands)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
SHELL = re.compile(r"^(\||\|\||&&?|;|\d?>{1,2}.*|<.*)$")
"""Where a command of a shell line ends."""


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", DOCS, ids=name_of)
every_page = pytest.mark.parametrize("document", PAGES, ids=name_of)


def blocks_of(document: Path) -> list[str]:
    return re.findall(r"```[a-z]*\n(.*?)```", document.read_text(), re.DOTALL)


def prose_of(document: Path) -> str:
    return re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)


def code_of(document: Path) -> str:
    """Code blocks and code spans of a Markdown file."""
    return "\n".join([*blocks_of(document), *re.findall(r"`([^`\n]+)`", prose_of(document))])


def orders_of(document: Path) -> list[list[str]]:
    """The words behind `quartet` of every such command in the code blocks; in a container it is called `cli`."""
    found: list[list[str]] = []
    text = "\n".join(blocks_of(document)).replace("\\\n", " ")
    begin = r"^(?:[A-Z_]+=\S+ )*(?:\S*/)?quartet|\((?:\S*/)?quartet|(?:&&|;) quartet|run --rm cli"
    for line in re.findall(rf"(?:{begin}) (?=[a-z])(.*)", text, re.MULTILINE):
        words = shlex.split(line.rstrip(")"), comments=True)
        end = next((at for at, word in enumerate(words) if SHELL.match(word)), len(words))
        found.append([word.rstrip(";") for word in words[:end]])
    return found


def fault_in(words: list[str]) -> str:
    """What the command line has against an order, '' for nothing. Nothing is run."""
    command, left = QUARTET, list(words)
    while hasattr(command, "commands") and left:
        name = left.pop(0)
        if name not in command.commands:
            return f"there is no command '{name}'"
        command = command.commands[name]
    try:
        command.make_context("quartet", left).close()
    except typer.Exit:
        # --help.
        return ""
    except USAGE as error:
        return error.format_message()
    return ""


@every_page
def test_commands_and_targets_exist(document: Path) -> None:
    code = code_of(document)
    named = set(re.findall(r"(?:^|\s|bin/)quartet ([a-z]+)", code))
    assert named <= COMMANDS
    assert set(re.findall(r"(?:^|\s)make ([a-z-]+)", code)) <= TARGETS


@every_page
def test_options_exist(document: Path) -> None:
    for command, rest in re.findall(r"(?:^|\s|bin/)quartet ([a-z]+)([^\n]*)", code_of(document)):
        # A command may have commands of its own, such as `quartet secrets rotate`.
        inner = getattr(QUARTET.commands[command], "commands", {}).get(
            (rest.split() or [""])[0], QUARTET.commands[command]
        )
        known = {option for parameter in inner.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)(--[a-z-]+)", rest.split("#")[0])) <= known | {"--help"}, command


@every_page
def test_every_command_of_a_code_block_is_taken_as_it_stands_there(document: Path) -> None:
    assert {" ".join(words): fault for words in orders_of(document) if (fault := fault_in(words))} == {}


@every_page
def test_suites_of_benchmarks_exist(document: Path) -> None:
    assert set(re.findall(r"(?:^|\s|bin/)quartet bench ([a-z]+)", code_of(document))) <= {ALL, *SUITES}


def test_a_wrong_command_would_be_found() -> None:
    assert sum(len(orders_of(document)) for document in PAGES) > 60, "else the test above proves nothing"
    assert "no command" in fault_in(["rnu", "a sentence"])
    assert "No such option" in fault_in(["run", "a sentence", "--robots", "summit"])
    assert "Missing argument" in fault_in(["cancel"])
    assert "unexpected extra argument" in fault_in(["pause", "t-1", "t-2"])


@functools.cache
def headings(document: Path) -> set[str]:
    """The anchors of a Markdown file, as GitHub makes them of its headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose_of(document), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(next(one for one in (anchor, *(f"{anchor}-{n}" for n in range(1, 99))) if one not in found))
    return found


@every_document
def test_links_lead_to_files_and_headings(document: Path) -> None:
    missing: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in headings(target)):
            missing.append(link)
    assert missing == []


@every_page
def test_files_that_are_named_exist(document: Path) -> None:
    named = set(re.findall(rf"(?<![\w./-])(?:{'|'.join(SOURCES)}|docs)/[\w./*-]+", code_of(document)))
    # In a pattern * stands for names.
    missing = {path for path in named if not list(ROOT.glob(path.rstrip("./")))}
    assert missing == set()


@every_page
def test_launch_files_and_their_arguments_exist(document: Path) -> None:
    package = ROOT / "deploy/ros2/quartet_bringup"
    code = code_of(document)
    launched = set(re.findall(r"ros2 launch quartet_bringup (\S+)", code))
    assert launched <= {file.name for file in (package / "launch").iterdir()}
    declared = "".join(file.read_text() for file in package.rglob("*.py"))
    given = set(re.findall(r"([\w.]+):=", code)) - CAMERA_DRIVER
    assert {name for name in given if f'"{name}"' not in declared} == set()


@functools.cache
def known_variables() -> set[str]:
    """Everything that looks like one of our variables in what is no document, and what secrets may be given by."""
    files = [ROOT / "docker-compose.yml", ROOT / "Makefile", ROOT / ".env.example"]
    for folder in SOURCES:
        files += [file for file in (ROOT / folder).rglob("*") if file.is_file() and file.suffix in {"", ".py", ".yml"}]
    found: set[str] = set()
    for file in files:
        text = file.read_text(errors="replace")
        found |= set(re.findall(r"\bQUARTET_[A-Z0-9_]+", text))
        if file.name == "settings.py":
            prefix = (re.findall(r'env_prefix="([A-Z_]+)"', text) or ["QUARTET_"])[0]
            found |= {f"{prefix}{field.upper()}" for field in re.findall(r"^    ([a-z][a-z_]+): ", text, re.MULTILINE)}
    return found


@every_page
def test_variables_that_are_named_exist(document: Path) -> None:
    named = set(re.findall(r"\bQUARTET_[A-Z0-9_]*[A-Z0-9]\b", document.read_text()))
    assert named - known_variables() - {"QUARTET_X", "QUARTET_X_FILE"} == set()


def test_every_command_is_documented() -> None:
    code = code_of(ROOT / "docs" / "cli.md")
    assert {command for command in COMMANDS if f"quartet {command}" not in code} == set()


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()
