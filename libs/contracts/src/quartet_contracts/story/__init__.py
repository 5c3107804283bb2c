"""A task's journal told in a person's words, for whoever shows it: the command, the web page."""

from quartet_contracts.story.lines import Line, Now, Span, Told, Tone
from quartet_contracts.story.narrator import Narrator
from quartet_contracts.story.words import is_quiet, skill_words, tool_words

__all__ = ["Line", "Narrator", "Now", "Span", "Told", "Tone", "is_quiet", "skill_words", "tool_words"]
