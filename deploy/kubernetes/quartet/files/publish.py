"""Runs in the cluster before an installation: makes what secrets are missing and puts each process's into a Secret.

    python publish.py FOLDER RELEASE NAMESPACE PROCESS[,PROCESS...]

What exists already is fetched first, so that `quartet secrets init` makes the rest to match, and is left as it is.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path(os.environ.get("ACCOUNT_DIR", "/var/run/secrets/kubernetes.io/serviceaccount"))
API = os.environ.get(
    "KUBERNETES_API",
    f"https://{os.environ.get('KUBERNETES_SERVICE_HOST')}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}",
)


OTHERS = ("exporter", "prometheus")
"""Secrets that software of others reads."""


def call(method: str, path: str, body: dict | None = None) -> dict | None:
    """The answer, or None for what is not there (404) or is there already (409)."""
    request = urllib.request.Request(API + path, method=method)
    request.add_header("Authorization", f"Bearer {(ACCOUNT / 'token').read_text().strip()}")
    request.add_header("Content-Type", "application/json")
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")) if API.startswith("https:") else None
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=30, context=trust) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (404, 409):
                return None
            sys.exit(f"the cluster answered {error.code} to {method} {path}: {error.read().decode()[:500]}")


def content(process: str, file: Path) -> bytes:
    """Of a file. What KEDA and the Prometheus operator take is sent as it lies there: without the line's end."""
    text = file.read_bytes()
    return text.rstrip(b"\n") if process in OTHERS else text


def main(folder: Path, release: str, namespace: str, processes: list[str]) -> None:
    """Create the Secrets that are missing from the files in `folder`, one per process."""
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    missing = []
    for process in processes:
        found = call("GET", f"{secrets}/{release}-{process}")
        if found is None:
            missing.append(process)
            continue
        own = folder / process.replace("-", "_")
        own.mkdir(parents=True, exist_ok=True)
        for name, text in found.get("data", {}).items():
            (own / name).write_bytes(base64.b64decode(text))
    if not missing:
        print("every process has its secrets")
        return
    subprocess.run([sys.executable, "-m", "quartet_cli", "secrets", "init", str(folder)], check=True)
    for process in missing:
        own = folder / process.replace("-", "_")
        files = sorted(own.iterdir()) if own.is_dir() else []
        if not files:
            sys.exit(f"quartet secrets init has made nothing for '{process}' in {own}")
        labels = {"app.kubernetes.io/name": "quartet", "app.kubernetes.io/instance": release}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": f"{release}-{process}", "labels": labels},
            "data": {file.name: base64.b64encode(content(process, file)).decode() for file in files},
        }
        made = call("POST", secrets, body)
        print(f"{release}-{process}: {'made' if made else 'there already'}, {len(files)} secrets")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4].split(","))
