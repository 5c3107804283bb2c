"""Images take modules out of packages that nothing of ours uses (deploy/images/trim)."""

import ast
from pathlib import Path

import pytest
import yaml
from containers import uses_of_ndimage

ROOT = Path(__file__).parents[3]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SOURCES = {path.parent.name: path.parent for path in ROOT.glob("*/*/src/quartet_*/__init__.py")}
TRIMMED = {
    name: (arguments["MODULE"], str(arguments["UNUSED_MODULES_TOO"]).split())
    for name, service in SERVICES.items()
    if (arguments := (service.get("build") or {}).get("args") or {}).get("UNUSED_MODULES_TOO")
}


def imported(folder):
    """Names of all modules that the files of a folder import."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from ((path, f"{node.module}.{alias.name}") for alias in node.names)


def test_some_image_is_trimmed():
    assert "perception" in TRIMMED


@pytest.mark.parametrize("service", TRIMMED)
def test_no_source_of_an_image_imports_what_is_taken_out_of_it(service):
    module, unused = TRIMMED[service]
    for path, name in imported(SOURCES[module]):
        assert not [one for one in unused if f"{name}.".startswith(f"{one}.")], f"{path} imports {name}"


def test_each_function_of_scipy_that_perception_calls_is_tried_in_its_image():
    """The test of the image itself runs only where images are built."""
    assert len(called := uses_of_ndimage.called()) > 5
    assert called <= uses_of_ndimage.USES.keys()
