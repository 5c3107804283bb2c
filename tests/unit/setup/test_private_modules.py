"""Which modules are private: CONTRIBUTING.md, "What a change keeps to"."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ALWAYS_PUBLIC = {"__init__", "__main__", "errors"}


def _sources() -> dict[str, Path]:
    """Return the modules of the product by dotted name."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, Path] = {}
    for line in listed.splitlines():
        parts = Path(line).with_suffix("").parts
        if "src" in parts:
            inside = parts[parts.index("src") + 1 :]
            found[".".join(inside[:-1] if inside[-1] == "__init__" else inside)] = ROOT / line
    return found


def _imported_by_others(modules: dict[str, Path]) -> set[str]:
    """Return the modules that another distribution imports by name, with the packages that hold them."""
    found: set[str] = set()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    targets = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    targets = [module, *(f"{module}.{alias.name}" for alias in names)]
                case _:
                    continue
            for target in targets:
                if target in modules and target.split(".")[0] != name.split(".")[0]:
                    parts = target.split(".")
                    found |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    return found


@pytest.mark.slow
def test_a_library_s_module_is_private_unless_another_distribution_imports_it() -> None:
    modules = _sources()
    public = _imported_by_others(modules)
    wrong: list[str] = []
    for name, path in modules.items():
        *parents, leaf = name.split(".")
        if path.relative_to(ROOT).parts[0] != "libs" or not parents or leaf in ALWAYS_PUBLIC:
            continue
        # All of a private package is private, without a mark on each of its modules.
        expected = name not in public and not any(parent.startswith("_") for parent in parents)
        if leaf.startswith("_") != expected:
            wrong.append(name)
    assert wrong == []


def test_an_application_has_no_private_modules() -> None:
    """Nobody imports one, so that the mark would say nothing."""
    private = [
        name
        for name, path in _sources().items()
        if path.relative_to(ROOT).parts[0] != "libs"
        and any(part.startswith("_") and part not in ALWAYS_PUBLIC for part in name.split("."))
    ]
    assert private == []
