"""What every package of the project keeps to."""

import ast
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYPROJECTS = sorted(
    path
    for pattern in ("libs/*", "services/*", "mcp-servers/*", "simulation/*", "cli", "benchmarks", "research")
    for path in ROOT.glob(f"{pattern}/pyproject.toml")
)
PYDANTIC = {"pydantic", "pydantic_core"}
PACKAGES = [next((path.parent / "src").glob("quartet_*")) for path in PYPROJECTS]


def test_every_member_of_the_workspace_is_looked_at() -> None:
    members = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]["members"]
    assert {str(path.parent.relative_to(ROOT)) for path in PYPROJECTS} == set(members)


def test_every_package_is_first_party_and_under_the_import_rules() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    names = {package.name for package in PACKAGES}
    patterns = tool["ruff"]["lint"]["isort"]["known-first-party"]
    assert {name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)} == set()
    assert set(tool["importlinter"]["root_packages"]) == names


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_all_names_exactly_what_the_package_imports_or_defines(package: Path) -> None:
    tree = ast.parse((package / "__init__.py").read_text())
    bound: set[str] = set()
    declared: list[str] = []
    # Names under `if TYPE_CHECKING` are loaded on demand by the module's __getattr__.
    late = [inner for node in tree.body if isinstance(node, ast.If) for inner in node.body]
    for node in [*tree.body, *late]:
        match node:
            case ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name for alias in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                declared = ast.literal_eval(value)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                bound.add(name)
            case _:
                pass
    # What the file itself uses is there for that; the rest is there to be imported from it.
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    public = {name for name in bound if not name.startswith("_") and (name in declared or name not in used)}
    assert set(declared) == public
    assert len(declared) == len(set(declared))
    module = importlib.import_module(package.name)
    assert [name for name in declared if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("quartet_contracts", PYDANTIC),
        ("quartet_site", PYDANTIC | {"yaml"}),
        (
            "quartet_process",
            PYDANTIC
            | {"pydantic_settings", "prometheus_client", "opentelemetry", "starlette", "uvicorn", "httptools"}
            | {"jwt", "cryptography"}  # The extra `signatures`.
            | {"httpx2"}  # The extra `client`.
            | {"requests"},  # The extra `otlp`.
        ),
        ("quartet_safety", set()),
    ],
)
def test_the_lowest_libraries_import_hardly_anything(package: str, allowed: set[str]) -> None:
    found: set[str] = set()
    for file in next(path for path in PACKAGES if path.name == package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module.split(".")[0])
    assert found - set(sys.stdlib_module_names) - {package} <= allowed


@pytest.mark.parametrize("path", PYPROJECTS, ids=lambda path: path.parent.name)
def test_every_package_says_version_and_licence(path: Path) -> None:
    project: dict[str, Any] = tomllib.loads(path.read_text())["project"]
    whole: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert project["version"] == whole["version"]
    assert project["requires-python"] == whole["requires-python"]
    assert project["description"].endswith(".")


def locked_runtime_packages() -> set[str]:
    """Names of everything that an installation without the dev group brings, extras included."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    packages = {package["name"]: package for package in lock["package"]}
    todo = [name for name, package in packages.items() if {"editable", "virtual"} & set(package["source"])]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        package = packages[name]
        groups = [package.get("dependencies", []), *package.get("optional-dependencies", {}).values()]
        todo += [dependency["name"] for group in groups for dependency in group]
    return seen


def licence_of(name: str) -> str:
    metadata: Any = importlib.metadata.metadata(name)
    short = (metadata.get("License") or "").strip().splitlines()[:1]
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return " | ".join(filter(None, [metadata.get("License-Expression"), *short, *classifiers]))


def is_copyleft(licence: str) -> bool:
    return bool(re.search(r"(?<![a-z])[al]?gpl|gnu (affero|lesser|general)", licence, re.IGNORECASE))


def test_no_runtime_dependency_is_under_gpl_lgpl_or_agpl() -> None:
    names = locked_runtime_packages()
    installed = {dist.metadata["Name"].lower().replace("_", "-").replace(".", "-") for dist in _distributions()}
    known = {name: licence_of(name) for name in names & installed if not name.startswith("quartet")}
    assert len(known) > 80, "the closure of the lock file was not found"
    assert {name: licence for name, licence in known.items() if is_copyleft(licence)} == {}
    assert [name for name, licence in known.items() if not licence] == []


@pytest.mark.parametrize(
    "licence",
    [
        "GPL-3.0-only",
        "License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)",
        "AGPL-3.0",
        "LGPL-2.1",
    ],
)
def test_the_licence_check_knows_copyleft(licence: str) -> None:
    assert is_copyleft(licence)
    assert not is_copyleft("Apache-2.0 | MIT | BSD-3-Clause")


def _distributions() -> list[importlib.metadata.Distribution]:
    return list(importlib.metadata.distributions())


def test_no_source_file_is_ignored_by_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    which = ["*/src/*.py", "tests/*.py", ":!.quartet"]
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", *which]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert ignored.stdout.split() == []


def test_the_npm_lock_names_the_public_registry_or_none_and_permissive_licences() -> None:
    lock = json.loads((ROOT / "tests" / "integration" / "interop" / "package-lock.json").read_text())
    installed = {path: package for path, package in lock["packages"].items() if path}
    assert "node_modules/roslib" in installed
    for path, package in installed.items():
        assert package.get("resolved", "https://registry.npmjs.org/").startswith("https://registry.npmjs.org/"), path
        assert package["integrity"].startswith("sha512-"), path
        assert package["license"] in {"MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Apache-2.0"}, path
