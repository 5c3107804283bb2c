"""`python -m quartet_cli` is the `quartet` command."""

from quartet_cli.main import main

if __name__ == "__main__":
    main()
