"""The terminal as commands print to it."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from quartet_contracts.story import printable


class _Terminal(Console):
    """A console that shows the characters of a text which a terminal would obey; its own styles are not among them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def open_terminal(*, soft_wrap: bool = False, stderr: bool = False) -> Console:
    """Return the console of a command: what it prints is text as it is, also in the cells of tables.

    Much of it comes from elsewhere (sentences, names, reasons, errors), where square brackets are no markup and words
    between colons no emoji, and escape sequences are shown. Style is given with `style` or as `rich.text.Text`.
    """
    return _Terminal(highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap, stderr=stderr)
