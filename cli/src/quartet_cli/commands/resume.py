"""`quartet resume`: the resume of a robot's body, or a paused task that goes on."""

import asyncio
import os
import re
from importlib.resources import files
from typing import Annotated

import typer
from pydantic import ValidationError

from quartet_cli.commands.common import Url, api_for
from quartet_cli.errors import UsageError
from quartet_contracts.story import printable
from quartet_deployment import OptionError, is_body, resume_of
from quartet_site import Resume, Summaries, rendered, summarised
from quartet_site.resume import Format

GATEWAY = "gateway/"
"""Begins the name of a model: that of an agent at the gateway."""
TIMEOUT_S = 120.0


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("resume")(resume)


def resume(
    what: Annotated[
        str,
        typer.Argument(
            metavar="BODY|TASK_ID",
            help="A robot of deploy/robots, a folder, body.yaml, robot.yaml, or a model file (MJCF, URDF); or a task.",
        ),
    ],
    format: Annotated[
        Format | None,
        typer.Option("--format", help="Of the robot's resume; default: text."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which poses of the arm are sampled.")] = 0,
    model: Annotated[
        str | None,
        typer.Option("--model", help="gateway/AGENT writes the summaries (docs/bodies.md); default: rules do."),
    ] = None,
    url: Url = None,
) -> None:
    """Print what a robot can do, or let a paused task continue.

    What it can reach, see and pass is computed from its own description (docs/bodies.md).
    """
    if format is None and model is None and not is_body(what):
        with api_for(url) as api:
            api.resume(what)
        print(f"task {what} goes on; see how with: quartet watch {what}")
        return
    try:
        found = resume_of(what, seed)
    except OptionError as error:
        raise UsageError(str(error)) from error
    summaries = None if model is None else asyncio.run(summaries_by(found, model))
    print(printable(rendered(summarised(found, summaries), format or "text")))


async def summaries_by(resume: Resume, model: str) -> Summaries:
    """Return what a model says about a robot, by one call. Raises UsageError."""
    from quartet_agent_runtime import GatewayClient, ModelUnavailableError

    if not model.startswith(GATEWAY):
        raise UsageError(f"--model {model}: valid: {GATEWAY}AGENT, such as {GATEWAY}orchestrator")
    url, grant = os.environ.get("QUARTET_GATEWAY_URL", ""), os.environ.get("QUARTET_GATEWAY_GRANT", "")
    if not url:
        raise UsageError("--model: set QUARTET_GATEWAY_URL to the address of the model gateway")
    prompt = files("quartet_cli.commands").joinpath("resume.md").read_text(encoding="utf-8")
    asked = [{"role": "user", "content": prompt.format(name=resume.robot_id, tree=resume.body.tree)}]
    client = GatewayClient(url, model.removeprefix(GATEWAY), os.environ.get("QUARTET_GATEWAY_KEY"))
    try:
        answer = await client.answer(asked, [], TIMEOUT_S, grant=lambda: grant)
    except ModelUnavailableError as error:
        raise UsageError(f"{error}; without --model, rules write the summaries") from error
    finally:
        await client.close()
    found = re.search(r"\{.*\}", answer.text, re.DOTALL)
    try:
        return Summaries.model_validate_json(found.group() if found else "")
    except ValidationError as error:
        raise UsageError(
            f"{model} wrote no summaries: {answer.text[:200]!r}; valid: a JSON object with mobility, perception and "
            "manipulation. Ask again, or leave out --model: rules write them"
        ) from error
