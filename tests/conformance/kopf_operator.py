"""An operator as people write them with kopf: finalizer, status, timer, events and children."""

from __future__ import annotations

import os
from typing import Any

import kopf

GROUP = os.environ["GROUP"]


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Post events, and keep nothing outside of the status."""
    settings.posting.enabled = True
    settings.persistence.finalizer = "conformance.example.com/finalizer"


@kopf.on.create(GROUP, "v1", "things")
@kopf.on.update(GROUP, "v1", "things")
def changed(spec: Any, body: Any, **_: Any) -> dict[str, Any]:
    """Say in the status how large it is now."""
    kopf.event(body, type="Normal", reason="Sized", message=f"now {spec.get('size')}")
    return {"size": spec.get("size")}


@kopf.on.delete(GROUP, "v1", "things")
def deleted(body: Any, **_: Any) -> None:
    """Leave a trace, so that the test sees that the deletion was handled."""
    kopf.event(body, type="Normal", reason="Dismantled", message="good-bye")
