"""The terminal as commands print to it."""

from rich.console import Console


def open_terminal(*, soft_wrap: bool = False, stderr: bool = False) -> Console:
    """Return the console of a command: what it prints is text as it is, also in the cells of tables.

    Much of it comes from elsewhere (sentences, names, reasons, errors), where square brackets are no markup and words
    between colons no emoji. Style is given with `style` or as `rich.text.Text`.
    """
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap, stderr=stderr)
