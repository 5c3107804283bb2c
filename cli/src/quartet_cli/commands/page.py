"""`quartet page`: the link that signs a browser in."""

from typing import Annotated
from urllib.parse import urlencode

import typer

from quartet_cli.settings import load_settings

Address = Annotated[
    str | None, typer.Option("--address", help="Where the browser reaches the page, if not where this command does.")
]


def register(app: typer.Typer) -> None:
    app.command("page")(page)


def page(address: Address = None) -> None:
    """Print the link that signs a browser in to the web page.

    The tokens stand behind the '#', which a browser keeps to itself. Whoever has the link can give tasks and stop the
    robot.
    """
    settings = load_settings()
    print(page_link(address or settings.url, settings.token(), settings.token_for_page()))


def page_link(url: str, api_token: str | None, stop_token: str | None) -> str:
    """The address of the page; what is not None goes into the part that no server sees."""
    given = {"token": api_token, "stop": stop_token}
    fields = urlencode({name: token for name, token in given.items() if token is not None})
    return f"{url.rstrip('/')}/" + (f"#{fields}" if fields else "")
