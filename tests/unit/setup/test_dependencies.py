"""Each distribution declares what it imports and imports what it declares."""

import ast
import functools
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYPROJECTS = sorted(path for path in ROOT.glob("*/**/pyproject.toml") if (path.parent / "src").is_dir())
OURS = {
    next((path.parent / "src").glob("quartet_*")).name: tomllib.loads(path.read_text())["project"]["name"]
    for path in PYPROJECTS
}
PARTS = {"fastmcp-slim": "fastmcp", "mcp-types": "mcp", "pydantic-core": "pydantic"}
"""Distributions that another one, which is what a project declares, always brings along."""
NOT_IMPORTED = {
    "quartet-gateway": {"mcp"},  # LiteLLM imports it on its way to some providers, without declaring it.
    "quartet-process": {"httptools"},  # uvicorn's protocol imports it, and declares it for an extra that has more.
    "quartet-sandbox": {"numpy"},  # The programs in the sandbox import it.
}
IMPORTED_IF_THERE = {
    "quartet-mcp-perception": {"huggingface-hub", "safetensors"},  # They come with the extra open-vocabulary.
}


@functools.cache
def _by_import() -> Mapping[str, list[str]]:
    """Return the distributions of each import name; this takes half a second, and every worker collects this module."""
    return importlib.metadata.packages_distributions()


def _name(requirement: str) -> str:
    """Return the normalised name of a distribution, without extras and versions."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!;~ ]", requirement)[0]).lower()


def _imported(folder: Path) -> set[str]:
    """Return the top-level and, for namespace packages, second-level names that the sources import."""
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module)
    return {name for name in found if name.split(".")[0] not in sys.stdlib_module_names}


def _providers(module: str) -> set[str]:
    """Return the distributions that a declaration may name for `module`."""
    top = module.split(".")[0]
    if top in OURS:
        return {OURS[top]}
    names = {_name(name) for name in _by_import().get(top, [top])}
    return names | {PARTS[name] for name in names if name in PARTS}


@pytest.mark.slow
@pytest.mark.parametrize("path", PYPROJECTS, ids=lambda path: path.parent.name)
def test_a_distribution_declares_what_it_imports_and_imports_what_it_declares(path: Path) -> None:
    project = tomllib.loads(path.read_text())["project"]
    package = next((path.parent / "src").glob("quartet_*"))
    declared = {_name(line) for line in project["dependencies"]}
    extras = {_name(line) for lines in project.get("optional-dependencies", {}).values() for line in lines}
    # A folder that runs as a program imports its own files by their names.
    own = {package.name} | {file.stem for main in package.glob("*/__main__.py") for file in main.parent.iterdir()}
    modules = {module for module in _imported(package) if module.split(".")[0] not in own}
    provided = {module: _providers(module) for module in modules}
    undeclared = {module for module, names in provided.items() if not names & (declared | extras)}
    allowed = IMPORTED_IF_THERE.get(project["name"], set())
    assert {module for module in undeclared if not provided[module] & allowed} == set()
    imported = set().union(*provided.values())
    assert declared - imported == NOT_IMPORTED.get(project["name"], set())
