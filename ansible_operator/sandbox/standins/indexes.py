"""The indexes of the pods of an indexed Job."""

from __future__ import annotations

from typing import Any

from ansible_operator import gotext

Obj = dict[str, Any]
INDEX = "batch.kubernetes.io/job-completion-index"


def of(pod: Obj) -> int:
    """The index of a pod, -1 if it has none."""
    found = gotext.integer((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
    return -1 if found is None else found


def tell(pod: Obj, hostname: str) -> Obj:
    """The pod with the host name and the variable that tell its containers the index."""
    spec = pod["spec"]
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
        container["env"] = [*(container.get("env") or ()), variable]
    return {**pod, "spec": {**spec, "hostname": hostname}}


def parse(text: str, count: int) -> set[int]:
    """``0,2-4`` as a set of indexes below ``count``; what is none counts not."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        ends = gotext.integer(first), gotext.integer(last or first)
        if ends[0] is not None and ends[1] is not None:
            found.update(range(max(ends[0], 0), min(ends[1] + 1, count)))
    return found


def render(indexes: set[int]) -> str:
    """A set as ``0,2-4``: two neighbours are listed, more are a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    texts = [f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(map(str, r)) for r in runs]
    return ",".join(texts)
