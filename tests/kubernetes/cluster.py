"""A stand-in for the API of a Kubernetes cluster: checks objects against Kubernetes' own schemas and keeps them.

It has no controllers, so nothing runs: a Job is complete as soon as it is made. Enough for Helm's install, upgrade and
uninstall, which see a cluster in it, and refuses what a real API server's validation refuses by its schemas.
"""

import json
import threading
import urllib.parse
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .custom import custom_fault

VERSION = "1.33"
GROUPS: dict[str, dict[str, str]] = {
    "v1": {
        "configmaps": "ConfigMap",
        "secrets": "Secret",
        "services": "Service",
        "serviceaccounts": "ServiceAccount",
        "namespaces": "Namespace",
        "pods": "Pod",
    },
    "apps/v1": {"deployments": "Deployment", "statefulsets": "StatefulSet", "replicasets": "ReplicaSet"},
    "batch/v1": {"jobs": "Job"},
    "networking.k8s.io/v1": {"networkpolicies": "NetworkPolicy", "ingresses": "Ingress"},
    "policy/v1": {"poddisruptionbudgets": "PodDisruptionBudget"},
    "rbac.authorization.k8s.io/v1": {"roles": "Role", "rolebindings": "RoleBinding"},
    "keda.sh/v1alpha1": {"scaledobjects": "ScaledObject", "triggerauthentications": "TriggerAuthentication"},
    "monitoring.coreos.com/v1": {"podmonitors": "PodMonitor"},
}
CUSTOM = {"keda.sh/v1alpha1", "monitoring.coreos.com/v1"}
"""Groups whose schemas are not Kubernetes' own: custom.py has what they say of the fields that the chart uses."""


@dataclass
class Cluster:
    """Objects by (resource, name); `made` are all that were ever made, in order, hooks too."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    events: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """What happened: type, resource, object."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    closed: bool = False

    def __enter__(self) -> "Cluster":
        cluster = self

        class Handler(_Handler):
            state = cluster

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def kubeconfig(self) -> str:
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": self.url}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [thing for thing in self.made if thing["kind"] == kind]


def faults(thing: dict[str, Any]) -> str | None:
    """What Kubernetes' schemas have against it, with fields that they do not know."""
    # Installed for these tests alone.
    import kubernetes_validate  # pyright: ignore[reportMissingImports]

    if thing["apiVersion"] in CUSTOM:
        return custom_fault(thing)
    try:
        kubernetes_validate.validate(thing, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{thing['kind']} {thing['metadata']['name']}: {'.'.join(map(str, error.path))}: {error.message}"
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Cluster

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if path == "/version":
            major, minor = VERSION.split(".")
            return self._say(200, {"major": major, "minor": minor, "gitVersion": f"v{VERSION}.0"})
        if path.startswith("/openapi/v2"):
            return self._write(200, _openapi())
        if path.startswith("/openapi/") or (len(parts) < 3 and path not in {"/api", "/apis", "/api/v1"}):
            return self._missing()
        if path == "/api":
            return self._say(200, {"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            return self._say(200, _groups())
        if path.removeprefix("/apis/").removeprefix("/api/") in GROUPS:
            return self._say(200, _resources("/".join(parts[1:])))
        resource, name = _place(parts)
        if name is not None:
            found = self.state.objects.get((resource, name))
            return self._say(200, found) if found else self._missing()
        return self._list(parts, resource, urllib.parse.parse_qs(query))

    def _list(self, parts: list[str], resource: str, query: dict[str, list[str]]) -> None:
        wanted = dict(pair.split("=") for pair in query.get("labelSelector", [""])[0].split(",") if pair)
        names = dict(pair.split("=") for pair in query.get("fieldSelector", [""])[0].split(",") if pair)

        def fits(thing: dict[str, Any]) -> bool:
            of = thing["metadata"]
            return wanted.items() <= of.get("labels", {}).items() and of["name"] == names.get(
                "metadata.name", of["name"]
            )

        with self.state.changed:
            items = [thing for (of, _), thing in self.state.objects.items() if of == resource and fits(thing)]
            seen = len(self.state.events)
        if query.get("watch"):
            return self._watch(resource, items if query.get("sendInitialEvents") else [], fits, seen)
        group = _group(parts)
        kind = f"{GROUPS[group][resource]}List"
        return self._say(200, {"apiVersion": group, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})

    def _watch(
        self, resource: str, items: list[dict[str, Any]], fits: Callable[[dict[str, Any]], bool], seen: int
    ) -> None:
        """What there is, then what changes, until the other side leaves or the cluster is closed."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end = {"metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}
        mark = {"kind": items[0]["kind"], "apiVersion": items[0]["apiVersion"], **end} if items else None
        happened = [("ADDED", thing) for thing in items] + ([("BOOKMARK", mark)] if mark else [])
        state = self.state
        try:
            while True:
                for kind, thing in happened:
                    line = json.dumps({"type": kind, "object": thing}).encode() + b"\n"
                    self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                with state.changed:
                    while not state.closed and len(state.events) == seen:
                        state.changed.wait()
                    if state.closed:
                        break
                    new, seen = state.events[seen:], len(state.events)
                happened = [(kind, thing) for kind, of, thing in new if of == resource and fits(thing)]
        except OSError:
            pass
        self.close_connection = True

    def do_POST(self) -> None:
        thing = self._body()
        resource, _ = _place(self.path.partition("?")[0].strip("/").split("/"))
        if fault := faults(thing):
            self.state.refused.append(fault)
            return self._refuse(422, "Invalid", fault)
        name = thing["metadata"]["name"]
        with self.state.changed:
            if (resource, name) in self.state.objects:
                return self._refuse(409, "AlreadyExists", f"{resource} {name} is there already")
            self._keep(resource, thing)
            self.state.made.append(thing)
        return self._say(201, thing)

    def do_PUT(self) -> None:
        thing = self._body()
        resource, _ = _place(self.path.partition("?")[0].strip("/").split("/"))
        with self.state.changed:
            self._keep(resource, thing)
        return self._say(200, thing)

    def do_DELETE(self) -> None:
        resource, name = _place(self.path.partition("?")[0].strip("/").split("/"))
        self._body()
        with self.state.changed:
            gone = self.state.objects.pop((resource, name or ""), None)
            if gone:
                self.state.events.append(("DELETED", resource, gone))
                self.state.changed.notify_all()
        return self._say(200, gone) if gone else self._missing()

    def _keep(self, resource: str, thing: dict[str, Any]) -> None:
        thing["metadata"].setdefault("uid", str(uuid.uuid4()))
        thing["metadata"]["resourceVersion"] = "1"
        if thing["kind"] == "Job":
            thing["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
        key = resource, thing["metadata"]["name"]
        self.state.events.append(("MODIFIED" if key in self.state.objects else "ADDED", resource, thing))
        self.state.objects[key] = thing
        self.state.changed.notify_all()

    def _body(self) -> Any:
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        return json.loads(text) if text.strip() else None

    def _missing(self) -> None:
        self._refuse(404, "NotFound", f"{self.path} is not there")

    def _refuse(self, code: int, reason: str, message: str) -> None:
        status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code}
        self._say(code, {**status, "reason": reason, "message": message})

    def _say(self, code: int, thing: Any) -> None:
        self._write(code, json.dumps(thing).encode())

    def _write(self, code: int, text: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _group(parts: list[str]) -> str:
    return "/".join(parts[1:2] if parts[0] == "api" else parts[1:3])


def _place(parts: list[str]) -> tuple[str, str | None]:
    """Resource and name of a path of the API, in whatever namespace."""
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    return rest[0], rest[1] if len(rest) > 1 else None


def _groups() -> dict[str, Any]:
    versions = [(group, {"groupVersion": group, "version": group.split("/")[1]}) for group in GROUPS if "/" in group]
    groups = [{"name": g.split("/")[0], "versions": [v], "preferredVersion": v} for g, v in versions]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(group: str) -> dict[str, Any]:
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    resources = [
        {"name": name, "singularName": "", "namespaced": name != "namespaces", "kind": kind, "verbs": verbs}
        for name, kind in GROUPS[group].items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": resources}


def _openapi() -> bytes:
    """That the kinds exist, and nothing of their fields: openapi_v2.Document of github.com/google/gnostic-models, in
    protobuf. Helm wants it before it sends a hook.
    """
    definitions = b""
    for group, kinds in GROUPS.items():
        name, _, version = group.rpartition("/")
        for kind in kinds.values():
            yaml = f"- group: '{name}'\n  kind: {kind}\n  version: {version}\n"
            extension = _field(31, _field(1, b"x-kubernetes-group-version-kind") + _field(2, _field(2, yaml.encode())))
            definitions += _field(1, _field(1, f"{group}.{kind}".encode()) + _field(2, extension))
    return _field(1, b"2.0") + _field(9, definitions)


def _field(number: int, content: bytes) -> bytes:
    """One length-delimited field of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + _varint(value >> 7)
