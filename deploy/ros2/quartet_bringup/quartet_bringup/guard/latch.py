"""A stop outlasts the guard: it lies in a small file until a person resets it."""

import json
import os
import time
from pathlib import Path


class LatchFile:
    """A JSON object with `latched`, `reason` and `since` (Unix time [s]), as Quartet's own processes keep it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str | None:
        """Why the robot is stopped; None when it is not. A file that cannot be understood stops the robot as well."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            return f"the latch file {self.path} cannot be read ({error}): see that the robot may move, then reset"
        try:
            content = json.loads(text)
            return str(content["reason"]) if content["latched"] is not False else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return f"the latch file {self.path} is damaged: see that the robot may move, then reset"

    def write(self, reason: str | None) -> None:
        """Keep a stop, or with None its end. On the disk when this returns. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.new")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump({"latched": reason is not None, "reason": reason or "", "since": time.time()}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
