"""The text that Prometheus reads: exposition format 0.0.4.

The library's own writer names every counter ``…_total`` and adds ``…_created`` series. Dashboards
made for the incumbent know its counters by their plain names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from prometheus_client import metrics_core, registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_TYPES = {"unknown": "untyped", "info": "gauge", "stateset": "gauge"}


def render(metrics: registry.Collector) -> bytes:
    """All families of the registry, in the order of their names; those without samples too."""
    families = sorted(metrics.collect(), key=lambda family: family.name)
    return "".join(line for family in families for line in _lines(family)).encode()


def _lines(family: metrics_core.Metric) -> Iterator[str]:
    name = _name(family)
    yield f"# HELP {name} {_escaped(family.documentation)}\n"
    yield f"# TYPE {name} {_TYPES.get(family.type, family.type)}\n"
    created = f"{family.name}_created"
    for sample in family.samples:
        if sample.name != created:
            yield f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}\n"


def _name(family: metrics_core.Metric) -> str:
    """The name that its samples have: a counter's family lacks the ``_total`` of its samples."""
    if family.type == "counter" and family.samples:
        return family.samples[0].name
    return f"{family.name}_total" if family.type == "counter" else family.name


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    # Bounds of buckets are written as Go writes them, without a point where they are whole.
    texts = {**labels, "le": labels["le"].removesuffix(".0")} if "le" in labels else labels
    pairs = (f'{key}="{_quoted(value)}"' for key, value in sorted(texts.items()))
    return f"{{{','.join(pairs)}}}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value)).removesuffix(".0")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")
