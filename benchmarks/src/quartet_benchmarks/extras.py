"""Extras that some suites need."""

from importlib.util import find_spec

from quartet_benchmarks.errors import MissingExtraError


def require_inspect(suite: str) -> None:
    """Raise MissingExtraError when Inspect or what draws its results is not installed."""
    _require(
        ("inspect_ai", "matplotlib"),
        f"which these options of {suite} need; run scripts/inspect-env and "
        f"then .quartet/inspect/bin/quartet bench {suite} ..., or install quartet-research[inspect]",
    )


def require_time() -> None:
    """Raise MissingExtraError when what sends or takes traces is not installed."""
    _require(
        ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto"),
        "with which traces are sent and taken; install quartet-benchmarks[time]",
    )


def _require(modules: tuple[str, ...], remedy: str) -> None:
    if missing := [name for name in modules if not _is_installed(name)]:
        raise MissingExtraError(f"{', '.join(missing)} is not installed, {remedy}")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it would be in is not there
        return False
