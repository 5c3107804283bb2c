"""These tests run where Inspect is (scripts/inspect-env); tests/integration/research/test_on_inspect.py runs
them there."""

from importlib.util import find_spec

if find_spec("inspect_ai") is None or find_spec("matplotlib") is None or find_spec("pettingzoo") is None:
    collect_ignore_glob = ["test_*.py"]
