"""Pure: what an answer shows of an object, in whichever form the run asked for it."""

from __future__ import annotations

import json
from dataclasses import replace

from ansible_operator import objects
from ansible_operator.kube.proxy import interceptor, protobuf


def read(answer: interceptor.Answer) -> objects.Obj | None:
    """The object of an answer, at least its type and the telling part of its metadata.

    A Status of a deletion has ``details``. None for forms that are not understood, such as CBOR
    or a table.
    """
    media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media == protobuf.MEDIA_TYPE:
            return protobuf.read(answer.body)
        found = json.loads(answer.body) if media == "application/json" else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("kind") != "Table" else None


def is_success(answer: interceptor.Answer) -> bool:
    """Whether the API server did what was asked."""
    return 200 <= answer.status <= 299


def with_warning(answer: interceptor.Answer, text: str) -> interceptor.Answer:
    """The answer with one more warning, which kubectl and kubernetes.core show to their users."""
    plain = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    warning = f'299 - "{plain}"'
    present = answer.headers.get("warning")
    together = f"{present}, {warning}" if present else warning
    return replace(answer, headers={**answer.headers, "warning": together})
