"""The keys of the model providers that lie in files, which may change while the gateway runs."""

import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from quartet_process import Secret

FILE = re.compile(r"^(?!QUARTET_)[A-Z0-9_]+_API_KEY_FILE$")


class ProviderKeys:
    """<NAME>_API_KEY_FILE in the environment, or <name>_api_key in the folder of secrets. Raises SecretProblem.

    A variable <NAME>_API_KEY that is set already goes before its file.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path | None) -> None:
        files = {name.removesuffix("_FILE"): Path(file) for name, file in environment.items() if FILE.match(name)}
        if folder is not None:
            files = {file.name.upper(): file for file in folder.glob("*_api_key")} | files
        self._keys = {
            name: Secret(f"{name}_FILE ({file})", file) for name, file in files.items() if not environment.get(name)
        }

    def put_into(self, environment: MutableMapping[str, str]) -> bool:
        """Set the variables, where LiteLLM looks for them, to the newest keys; whether one was another before."""
        newest = {name: key.first for name, key in self._keys.items()}
        changed = any(environment.get(name) != key for name, key in newest.items())
        environment.update(newest)
        return changed
