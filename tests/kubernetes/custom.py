"""What the definitions of others' kinds say of the fields that the chart uses; every other field is refused.

After the CustomResourceDefinitions of KEDA (github.com/kedacore/keda, config/crd/bases) and of the Prometheus
operator (github.com/prometheus-operator/prometheus-operator 0.87, example/prometheus-operator-crd).
"""

from typing import Any

import jsonschema

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}
DURATION: Schema = {
    "type": "string",
    "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
}


def closed(*required: str, **fields: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": fields}


def many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


SPECS: dict[str, Schema] = {
    "ScaledObject": closed(
        "scaleTargetRef",
        "triggers",
        scaleTargetRef=closed("name", name=TEXT, kind=TEXT, apiVersion=TEXT),
        minReplicaCount=WHOLE,
        maxReplicaCount=WHOLE,
        cooldownPeriod=WHOLE,
        triggers=many(
            closed(
                "type", "metadata", type=TEXT, name=TEXT, metadata=TEXTS, authenticationRef=closed("name", name=TEXT)
            )
        ),
    ),
    "TriggerAuthentication": closed(
        secretTargetRef=many(closed("parameter", "name", "key", parameter=TEXT, name=TEXT, key=TEXT))
    ),
    "PodMonitor": closed(
        "selector",
        jobLabel=TEXT,
        selector=closed(matchLabels=TEXTS),
        podMetricsEndpoints=many(
            closed(
                port=TEXT,
                path=TEXT,
                interval=DURATION,
                authorization=closed(type=TEXT, credentials=closed("key", name=TEXT, key=TEXT, optional=BOOLEAN)),
            )
        ),
    ),
}


def custom_fault(thing: dict[str, Any]) -> str | None:
    """What is wrong with the spec of an object of another's kind."""
    try:
        jsonschema.validate(thing["spec"], SPECS[thing["kind"]])
    except jsonschema.ValidationError as error:
        return f"{thing['kind']} {thing['metadata']['name']}: spec.{error.json_path.lstrip('$.')}: {error.message}"
    return None
