"""Draws how the prompt grows over the calls of a task, a line for each architecture."""

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import shorten

WIDTH, HEIGHT, MARGIN = 720, 360, 56
"""Of the picture [px]; the margin is around the lines, with the words in it."""
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
LABEL_PX = 16
"""Height of a line of the legend, which has two columns under the lines."""
TITLE_LETTERS = 90
LINES = 4
"""Number of lines across, each with its tokens."""


def prompt_chart(sizes: Mapping[str, Sequence[int]], title: str) -> str:
    """Return the SVG of the tokens of each prompt of a task, in the order of the calls.

    sizes: by the name of the line; a line without prompts is left out.
    """
    drawn = {name: values for name, values in sizes.items() if values}
    most = max((max(values) for values in drawn.values()), default=1)
    longest = max((len(values) for values in drawn.values()), default=1)

    def at(call: int, tokens: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * call / max(1, longest - 1)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * tokens / most
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="13">{escape(shorten(title, TITLE_LETTERS, placeholder="…"))}</text>',
    ]
    for step in range(LINES + 1):
        tokens = most * step / LINES
        left, right = at(0, tokens), at(longest - 1, tokens) if longest > 1 else f"{WIDTH - MARGIN},{HEIGHT - MARGIN}"
        y = left.partition(",")[2]
        parts.append(f'<polyline points="{left} {right}" stroke="#ddd" fill="none"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y}" text-anchor="end">{tokens:,.0f}</text>')
    for number, (name, values) in enumerate(drawn.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(at(call, tokens) for call, tokens in enumerate(values))
        parts.append(f'<polyline class="{escape(name)}" points="{points}" stroke="{colour}" fill="none"/>')
        label = f"{name}: {sum(values):,} tokens in {len(values)} calls"
        row, column = divmod(number, 2)
        x, y = MARGIN + column * (WIDTH - 2 * MARGIN) // 2, HEIGHT - MARGIN + 2 * LABEL_PX + row * LABEL_PX
        parts.append(f'<text x="{x}" y="{y}" fill="{colour}">{escape(label)}</text>')
    parts.append(f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - MARGIN + 16}" text-anchor="end">call of the model</text>')
    return "\n".join([*parts, "</svg>", ""])
