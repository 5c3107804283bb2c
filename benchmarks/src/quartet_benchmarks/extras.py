"""Extras that some suites need."""

from importlib.util import find_spec

from quartet_benchmarks.errors import MissingExtraError


def require_inspect(suite: str) -> None:
    """Raise MissingExtraError when Inspect or what draws its results is not installed."""
    if missing := [name for name in ("inspect_ai", "matplotlib") if find_spec(name) is None]:
        raise MissingExtraError(
            f"{', '.join(missing)} is not installed, which these options of {suite} need; run scripts/inspect-env and "
            f"then .quartet/inspect/bin/quartet bench {suite} ..., or install quartet-benchmarks[inspect]"
        )
