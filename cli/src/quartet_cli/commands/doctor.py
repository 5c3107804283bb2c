"""`quartet doctor`: check a robot step by step."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from quartet_cli.doctor import Finding, Report, Verdict, diagnose
from quartet_cli.errors import ExitStatus, UsageError
from quartet_cli.settings import CliSettings, running_stack
from quartet_site import RobotFile, SiteFile, SiteFileError, load_robot, load_site

MARKS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.WRONG: "bold red", Verdict.SKIPPED: "dim"}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(doctor)


def doctor(
    robot_file: Annotated[
        Path | None,
        typer.Option(
            "--robot-file",
            envvar="QUARTET_ROBOT_FILE",
            help="robot.yaml of the robot; default: that of the running `quartet up`.",
        ),
    ] = None,
    site_file: Annotated[
        Path | None,
        typer.Option(
            "--site-file",
            envvar="QUARTET_SITE_FILE",
            help="site.yaml of the robot; default: the one beside robot.yaml.",
        ),
    ] = None,
    bridge_url: Annotated[
        str | None,
        typer.Option(
            "--bridge-url", envvar="QUARTET_BRIDGE_URL", help="Address of rosbridge; default: bridge.url of robot.yaml."
        ),
    ] = None,
    patience_s: Annotated[
        float, typer.Option("--patience", min=0.1, max=60.0, help="Seconds to wait for each answer of the robot.")
    ] = 3.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all findings.")] = False,
) -> None:
    """Check a robot and the way to it; nothing moves.

    Checked are bridge, topics, frames, Nav2, MoveIt, cameras, gripper and guard.
    """
    robot, site = _load(robot_file, site_file, bridge_url)
    token = CliSettings().token_for_bridge()
    console = Console(highlight=False, soft_wrap=True)
    if not json:
        console.print(f"{robot.name} at {robot.bridge.url}")
    report = asyncio.run(
        diagnose(
            robot, site, token=token, patience_s=patience_s, on_finding=None if json else lambda f: _print(console, f)
        )
    )
    if json:
        print(report.model_dump_json(indent=1))
    else:
        console.print(summary(report))
    raise typer.Exit(ExitStatus.DONE if report.healthy else ExitStatus.FAILED)


def _load(robot_file: Path | None, site_file: Path | None, bridge_url: str | None) -> tuple[RobotFile, SiteFile | None]:
    running = running_stack()
    if robot_file is None and "site_dir" in running:
        robot_file = Path(running["site_dir"]) / "robot.yaml"
        bridge_url = bridge_url or running["bridge_url"]
    if robot_file is None:
        raise UsageError(
            "--robot-file is needed, because no `quartet up` runs here; for a robot of your own start from a copy of "
            "deploy/sites/template/robot.yaml"
        )
    if site_file is None and (robot_file.parent / "site.yaml").is_file():
        site_file = robot_file.parent / "site.yaml"
    try:
        robot = load_robot(robot_file)
        if bridge_url:
            fields = robot.model_dump()
            fields["bridge"]["url"] = bridge_url
            robot = RobotFile.model_validate(fields)
        return robot, None if site_file is None else load_site(site_file)
    except SiteFileError as error:
        raise UsageError(str(error)) from error
    except ValueError as error:
        raise UsageError(f"--bridge-url {bridge_url} is not valid; valid: ws://HOST:PORT or wss://HOST:PORT") from error


def _print(console: Console, finding: Finding) -> None:
    took = "" if finding.latency_ms is None else f" ({finding.latency_ms:.1f} ms)"
    mark = Text(f"{finding.verdict.value:8}", style=MARKS[finding.verdict])
    console.print(mark + Text(f"{finding.step:8}{finding.what}{took}", style=""))
    if finding.remedy:
        lead = "" if finding.verdict is Verdict.SKIPPED else "to fix it: "
        console.print(Text(f"{'':16}{lead}{finding.remedy}", style=""))


def summary(report: Report) -> str:
    """Return one line: how many checks had which end, and what to do next."""
    warnings = sum(finding.verdict is Verdict.WARNING for finding in report.findings)
    count = f"{len(report.findings)} checks, {len(report.wrong)} wrong, {warnings} warnings"
    if report.wrong:
        return f"{count}: fix the first one first"
    skipped = sum(finding.verdict is Verdict.SKIPPED for finding in report.findings)
    return f"{count}, {skipped} not possible: see what they need" if skipped else f"{count}: the robot is ready"
