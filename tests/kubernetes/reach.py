"""Who reaches whom under NetworkPolicies, as the Kubernetes documentation defines them: a pod that a policy of a
direction selects is isolated in it, and what any of its policies allows is allowed.
"""

import ipaddress
from dataclasses import dataclass
from typing import Any

Labels = dict[str, str]


@dataclass(frozen=True)
class Outside:
    """An address that is no pod."""

    address: str


class Reach:
    """Of one namespace."""

    def __init__(self, policies: list[dict[str, Any]]) -> None:
        self._specs = [policy["spec"] for policy in policies]

    def allows(self, source: Labels | Outside, target: Labels | Outside, port: int, protocol: str = "TCP") -> bool:
        return self._way("Egress", source, target, port, protocol) and self._way(
            "Ingress", target, source, port, protocol
        )

    def _way(self, kind: str, of: Labels | Outside, other: Labels | Outside, port: int, protocol: str) -> bool:
        if isinstance(of, Outside):
            return True
        mine = [spec for spec in self._specs if kind in spec["policyTypes"] and selects(spec["podSelector"], of)]
        peers = "to" if kind == "Egress" else "from"
        return not mine or any(
            _fits(rule, peers, other, port, protocol) for spec in mine for rule in spec.get(kind.lower()) or []
        )


def selects(selector: dict[str, Any], labels: Labels) -> bool:
    if not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    for rule in selector.get("matchExpressions") or []:
        assert rule["operator"] == "In", "no other is used"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return True


def _fits(rule: dict[str, Any], peers: str, other: Labels | Outside, port: int, protocol: str) -> bool:
    ports = rule.get("ports")
    if ports and not any(p["port"] == port and p.get("protocol", "TCP") == protocol for p in ports):
        return False
    return not rule.get(peers) or any(_is(peer, other) for peer in rule[peers])


def _is(peer: dict[str, Any], other: Labels | Outside) -> bool:
    if "ipBlock" in peer:
        if not isinstance(other, Outside):
            return False
        address, block = ipaddress.ip_address(other.address), peer["ipBlock"]
        inside = address in ipaddress.ip_network(block["cidr"])
        return inside and not any(address in ipaddress.ip_network(one) for one in block.get("except", []))
    if isinstance(other, Outside):
        return False
    # Other namespaces have labels that are not known here; this one has none of interest.
    spaces = peer.get("namespaceSelector")
    return (spaces is None or not spaces) and selects(peer.get("podSelector") or {}, other)
