"""The words of builtin.yaml that are about admission webhooks."""

from __future__ import annotations

import re

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field


def webhook_name(field: Field) -> None:
    """The name of a webhook has three parts."""
    field.obeys(names.subdomain)
    if len(field.value.split(".")) < 3:
        field.invalid("should be a domain with at least three segments separated by dots")


def side_effects(field: Field) -> None:
    """What a webhook does beyond answering."""
    if not field.value:
        field.required("must specify one of None, NoneOnDryRun")
    else:
        field.one_of("None", "NoneOnDryRun")


def webhook_timeout(field: Field) -> None:
    """How long is waited for a webhook."""
    if not 1 <= field.value <= 30:
        field.invalid("the timeout value must be between 1 and 30 seconds")


def review_versions(field: Field) -> None:
    """A webhook speaks a version that is spoken here."""
    if not field.value:
        field.required("must specify one of v1, v1beta1")
    elif not {"v1", "v1beta1"} & set(field.value):
        field.invalid("must include at least one of v1, v1beta1")


def client_config(field: Field) -> None:
    """How a webhook is reached: by a URL or as a service."""
    url, service = field.get("url"), field.at("service")
    if (url is None) == (service.value is None):
        return field.required("exactly one of url or service is required")
    if url is not None:
        scheme = re.match("([a-z][a-z0-9+.-]*)://", url)
        if scheme is None or scheme[1] != "https":
            told = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
            field.at("url").invalid(told, scheme[1] if scheme else "")
        return None
    for name in ("name", "namespace"):
        if not service.get(name):
            service.at(name).required()
    if not 1 <= service.get("port") <= 65535:
        service.at("port").invalid(f"port is not valid: {words.PORT}")
    path = service.at("path")
    if path.value and not path.value.startswith("/"):
        path.invalid("must start with a '/'")
    return None
