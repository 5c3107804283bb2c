"""Helm itself, as the library in the Python package helm-sdkpy; called without that package's own code, which wants a
newer Python. Run as a program, so that the library's own runtime stays out of the tests' process:

    python helm.py TOOLS KUBECONFIG <steps.json

Each step is [what, argument...]; prints for each what came of it, or {"error": ...}, which ends it.
"""

import ctypes
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
NAMESPACE = "robots"
LONG_S = 120


def run(tools: Path, kubeconfig: Path, *steps: list[Any]) -> list[dict[str, Any]]:
    """What came of each step. The releases are kept in memory: those of one call know each other."""
    done = subprocess.run(
        [sys.executable, __file__, str(tools), str(kubeconfig)],
        input=json.dumps(steps),
        capture_output=True,
        text=True,
        timeout=LONG_S,
        env={**os.environ, "HELM_DRIVER": "memory"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


class Refused(Exception):
    """What Helm said."""


class Helm:
    """Works on the cluster of `kubeconfig`, a file."""

    def __init__(self, tools: Path, kubeconfig: Path) -> None:
        machine = MACHINES.get(platform.machine(), platform.machine())
        self._lib = ctypes.CDLL(str(tools / "helm_sdkpy" / "_lib" / f"linux-{machine}" / "libhelm_sdkpy.so"))
        self._lib.helm_sdkpy_last_error.restype = ctypes.c_char_p
        self._handle = ctypes.c_ulonglong()
        self._call("config_create", NAMESPACE, str(kubeconfig), None, "{}", ctypes.byref(self._handle))

    def lint(self, chart: str) -> dict[str, Any]:
        return json.loads(self._answer("lint", chart))

    def install(self, release: str, chart: str, values: dict[str, Any]) -> dict[str, Any]:
        options = {"timeout_seconds": 60, "wait": False, "disable_openapi_validation": True}
        return json.loads(self._answer("install", release, chart, json.dumps(values), "", json.dumps(options)))

    def uninstall(self, release: str) -> dict[str, Any]:
        return json.loads(self._answer("uninstall", release, 0, 60) or "{}")

    def package(self, chart: str, folder: str) -> dict[str, Any]:
        return {"path": self._answer("package", chart, folder)}

    def _answer(self, name: str, *arguments: str | int | None) -> str:
        out = ctypes.c_void_p()
        self._call(name, self._handle, *arguments, ctypes.byref(out))
        text = ctypes.string_at(out.value).decode() if out.value else ""
        self._lib.helm_sdkpy_free(out)
        return text

    def _call(self, name: str, *arguments: Any) -> None:
        given = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
        if getattr(self._lib, f"helm_sdkpy_{name}")(*given):
            raise Refused(self._lib.helm_sdkpy_last_error().decode())


def main() -> None:
    helm = Helm(Path(sys.argv[1]), Path(sys.argv[2]))
    outcomes: list[dict[str, Any]] = []
    for what, *arguments in json.load(sys.stdin):
        try:
            outcomes.append(getattr(helm, what)(*arguments))
        except Refused as error:
            outcomes.append({"error": str(error)})
            break
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
