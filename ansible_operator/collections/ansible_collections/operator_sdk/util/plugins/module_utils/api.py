# Copyright: the ansible-operator authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
# SPDX-License-Identifier: Apache-2.0
"""What the modules share that talk to an API server: options, finding kinds, words for failures."""

from __future__ import annotations

import copy
import json

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException

try:
    from kubernetes.dynamic.exceptions import (
        DynamicApiError,
        ResourceNotFoundError,
        ResourceNotUniqueError,
    )
except ImportError:
    pass  # AnsibleK8SModule says which library is missing

TRIES = 5


class Failure(Exception):
    """The task fails with this text and these further results."""

    def __init__(self, msg, **results):
        super().__init__(msg)
        self.results = results


def run(options, work, title):
    """A whole module: read the options, do ``work(module, client)``, which gives the results.

    ``title(params)`` is how messages name the object.
    """
    module = AnsibleK8SModule(
        argument_spec={**copy.deepcopy(AUTH_ARG_SPEC), **options}, supports_check_mode=True
    )
    try:
        module.exit_json(**work(module, get_api_client(module)))
    except Failure as failure:
        module.fail_json(msg=str(failure), **failure.results)
    except DynamicApiError as error:
        module.fail_json(
            msg="%s: %s" % (title(module.params), summary(error)), error=answer(error)
        )
    except CoreException as error:
        module.fail_from_exception(error)


def find(client, kind, api_version, suits=lambda resource: True):
    """The kind as the API server serves it. A discovery cache may be older than the CRD.

    That is asked for afresh where the kind does not suit; the second answer is given as it is.
    """
    for fresh in (False, True):
        if fresh:
            client.client.resources.invalidate_cache()
        try:
            resource = client.resource(kind, api_version)
        except (ResourceNotFoundError, ResourceNotUniqueError):
            raise Failure(
                "Failed to find exact match for %s.%s: the API server has no such kind. Check "
                "both, and that the CustomResourceDefinition is installed." % (api_version, kind)
            ) from None
        if suits(resource):
            break
    return resource


def place(kind, api_version, namespace, name):
    """How messages name an object."""
    path = "/".join(part for part in (namespace, name) if part)
    return "%s %s in %s" % (kind, path, api_version)


def given(options):
    """The map without the options that were left out."""
    return {key: value for key, value in options.items() if value is not None}


def summary(error):
    """One line on what the API server refused, in its own words where it sent a Status object."""
    text = text_of(error.body)
    try:
        text = json.loads(text)["message"]
    except (ValueError, TypeError, KeyError):
        pass
    return "the API server answered %s %s: %s" % (error.status, error.reason, text)


def answer(error):
    """The API server's answer as data."""
    return {"status": error.status, "reason": error.reason, "body": text_of(error.body)}


def text_of(body):
    """The body of an answer as text."""
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
