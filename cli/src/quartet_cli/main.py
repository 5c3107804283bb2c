"""The `quartet` command."""


def main() -> None:
    pass
