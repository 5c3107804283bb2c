"""The published spellings of the four-agent system's command, so that its users' scripts go on working."""

ALIASES = {"--task": "run", "--test-approach": "approach", "--test-pick": "pick", "--test-place": "place"}


def expand_aliases(arguments: list[str]) -> list[str]:
    """`--task "..."` as `run "..."` and so on; anything else is returned as it is.

    Options may stand before or after: `--verbose --task "..."` is `run --verbose "..."`.
    """
    for index, argument in enumerate(arguments):
        if not argument.startswith("-"):
            return arguments
        name, equals, value = argument.partition("=")
        if name in ALIASES:
            values = [value] if equals else []
            return [ALIASES[name], *arguments[:index], *values, *arguments[index + 1 :]]
    return arguments
