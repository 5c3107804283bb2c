"""Journal events as text for people, in the command and on the web page."""

from quartet_contracts.story._lines import Line, Span, Tone, clip, printable
from quartet_contracts.story._narrator import Narration, Narrator, Now
from quartet_contracts.story._words import is_quiet, skill_words, tool_words

__all__ = [
    "Line",
    "Narration",
    "Narrator",
    "Now",
    "Span",
    "Tone",
    "clip",
    "is_quiet",
    "printable",
    "skill_words",
    "tool_words",
]
