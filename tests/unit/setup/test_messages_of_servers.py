"""A message of a server recommends only tools that every agent has whose model may read it."""

import ast
import re
from pathlib import Path

import pytest

from quartet_contracts import MODEL_TOOLS

SERVERS = Path(__file__).parents[3] / "mcp-servers"
OF_OTHER_TOOLS = {"objects.py", "operations.py"}
"""Modules whose messages come only from tools that no model is shown: attach_object and execute_plan, for example."""


def tools_of(tree: ast.Module) -> set[str]:
    """Return the tools that a module registers."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    return {one.name for one in functions if any("server.tool" in ast.unparse(by) for by in one.decorator_list)}


def messages(tree: ast.Module) -> list[str]:
    """Return the sentences in a module's code: no docstring, no name, no instructions for a client."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg == "instructions":
            left_out |= set(ast.walk(node.value))
    texts = [one for one in ast.walk(tree) if isinstance(one, ast.Constant) and one not in left_out]
    return [one.value for one in texts if isinstance(one.value, str) and " " in one.value.strip()]


def modules(server: str) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in (SERVERS / server / "src").rglob("*.py")}


@pytest.mark.parametrize("server", ["moveit", "nav2", "perception"])
def test_an_error_names_no_tool_that_its_reader_lacks(server):
    everything = modules(server)
    names = {name for tree in everything.values() for name in tools_of(tree) if "_" in name}
    assert len(names) > 3
    wrong: list[str] = []
    for path, tree in everything.items():
        own = tools_of(tree)
        for skill, shown in MODEL_TOOLS.items():
            tools = {one.partition("__")[2] for one in shown if one.startswith(f"{server}__")}
            # A module without tools serves those of the others.
            if not tools or (own and not own & tools) or path.name in OF_OTHER_TOOLS:
                continue
            for text in messages(tree):
                lacking = {name for name in names if re.search(rf"\b{name}\b", text)} - tools
                wrong += [f"{path.name}: {skill} has no {', '.join(sorted(lacking))}: {text}"] if lacking else []
    assert not wrong, "\n".join(wrong)
