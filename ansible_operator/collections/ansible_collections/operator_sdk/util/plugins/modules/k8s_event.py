#!/usr/bin/python
# Copyright: the ansible-operator authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
# SPDX-License-Identifier: Apache-2.0
"""Tell of something that happened to a Kubernetes object."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_event
short_description: Write a Kubernetes Event
version_added: 0.6.0
author: The ansible-operator authors (!UNKNOWN)
description:
  - Writes an Event of the core group, which C(kubectl describe) and C(kubectl get events) show.
  - An Event of the same name and reason that is there already is counted up, and keeps the time at
    which it happened first. With another reason it begins anew with a count of 1.
  - The server drops Events after a while, usually an hour.
  - The API server must let the operator get, create, patch and (for O(state=absent)) delete
    C(events), and get the object that O(involvedObject) names.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
options:
  state:
    description: Whether to write the Event or to delete it.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Name of the Event.
    type: str
    required: true
  namespace:
    description: Namespace of the Event. It must be that of the object which the Event is about.
    type: str
    required: true
  message:
    description: What happened, as a sentence for people.
    type: str
    required: true
  reason:
    description: Why the Event was written, as one word in CamelCase.
    type: str
    required: true
  type:
    description: The type of the Event. A new Event without one is V(Normal).
    type: str
    choices: [Normal, Warning]
  reportingComponent:
    description: Name of the controller that writes the Event, such as V(example.com/memcached).
    type: str
  source:
    description: What wrote the Event, as older clients show it.
    type: dict
    suboptions:
      component:
        description: Name of the program.
        type: str
        required: true
      host:
        description: Name of the node it runs on.
        type: str
  involvedObject:
    description:
      - The object that the Event is about.
      - Its C(uid) and C(resourceVersion) are filled in if the object is found.
      - A new Event without it is about nothing but its namespace.
    type: dict
    suboptions:
      apiVersion:
        description: Group and version of the object.
        type: str
        required: true
      kind:
        description: Kind of the object.
        type: str
        required: true
      name:
        description: Name of the object.
        type: str
        required: true
      namespace:
        description: Namespace of the object; that of the Event where it is not given.
        type: str
      uid:
        description: The C(uid) of the object.
        type: str
      resourceVersion:
        description: The version of the object.
        type: str
      fieldPath:
        description: The part of the object that is meant.
        type: str
  appendTimestamp:
    description:
      - Make the name one of its own by adding a dot and the time in hexadecimal nanoseconds, as
        Kubernetes does. Every task writes a new Event then, and nothing is counted.
      - Not to be used with O(state=absent).
    type: bool
    default: false
  merge_type:
    description: Has no effect; kept for roles that set it.
    type: list
    elements: str
    choices: [json, merge, strategic-merge]
attributes:
  check_mode:
    support: full
    description: The server is asked with a dry run.
  diff_mode:
    support: none
    description: There is no diff.
requirements:
  - kubernetes >= 24.2.0
  - the collection kubernetes.core
"""

EXAMPLES = r"""
- name: Tell that the backup failed, once more each time
  operator_sdk.util.k8s_event:
    name: "{{ ansible_operator_meta.name }}-backup"
    namespace: "{{ ansible_operator_meta.namespace }}"
    type: Warning
    reason: BackupFailed
    message: The backup of tonight failed
    reportingComponent: example.com/memcached
    involvedObject:
      apiVersion: cache.example.com/v1alpha1
      kind: Memcached
      name: "{{ ansible_operator_meta.name }}"
      namespace: "{{ ansible_operator_meta.namespace }}"

- name: Tell of every restart in an Event of its own
  operator_sdk.util.k8s_event:
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    reason: Restarted
    message: The server was restarted
    appendTimestamp: true
"""

RETURN = r"""
result:
  description: The Event as it is now; an empty map after O(state=absent).
  returned: success
  type: dict
  contains:
    metadata:
      description: Name, namespace and the rest.
      type: dict
    count:
      description: How often it has happened.
      type: int
    firstTimestamp:
      description: When it happened first.
      type: str
    lastTimestamp:
      description: When it happened last.
      type: str
    involvedObject:
      description: The object it is about.
      type: dict
error:
  description: What the API server answered, where it refused.
  returned: failure
  type: dict
  contains:
    status:
      description: HTTP status.
      type: int
    reason:
      description: Reason of the HTTP status.
      type: str
    body:
      description: Text of the answer.
      type: str
"""

import time
from datetime import datetime, timezone

from ansible_collections.operator_sdk.util.plugins.module_utils import api

try:
    from kubernetes.dynamic.exceptions import (
        ConflictError,
        DynamicApiError,
        NotFoundError,
        ResourceNotFoundError,
        ResourceNotUniqueError,
    )
except ImportError:
    pass  # AnsibleK8SModule says which library is missing

OPTIONS = {
    "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str", "required": True},
    "message": {"type": "str", "required": True},
    "reason": {"type": "str", "required": True},
    "type": {"type": "str", "choices": ["Normal", "Warning"]},
    "reportingComponent": {"type": "str"},
    "source": {
        "type": "dict",
        "options": {"component": {"type": "str", "required": True}, "host": {"type": "str"}},
    },
    "involvedObject": {
        "type": "dict",
        "options": {
            "apiVersion": {"type": "str", "required": True},
            "kind": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str"},
            "uid": {"type": "str"},
            "resourceVersion": {"type": "str"},
            "fieldPath": {"type": "str"},
        },
    },
    "appendTimestamp": {"type": "bool", "default": False},
    "merge_type": {
        "type": "list",
        "elements": "str",
        "choices": ["json", "merge", "strategic-merge"],
    },
}


def main():
    """Read the options, write or delete the Event, report."""
    api.run(OPTIONS, work, title)


def work(module, client):
    """Do what is asked for; the results of the task."""
    params = module.params
    events = api.find(client, "Event", "v1")
    if params["state"] == "absent":
        return delete(client, events, params)
    name = params["name"]
    if params["appendTimestamp"]:
        name = "%s.%x" % (name, time.time_ns())
    said = content(params)
    if params["involvedObject"] is not None:
        said["involvedObject"] = involved(module, client)
    return {"changed": True, "result": emit(client, events, name, params["namespace"], said)}


def delete(client, events, params):
    """Delete the Event if it is there."""
    if params["appendTimestamp"]:
        raise api.Failure(
            "appendTimestamp cannot be used with state 'absent': give the whole name of the Event"
        )
    try:
        client.delete(events, name=params["name"], namespace=params["namespace"])
    except NotFoundError:
        return {"changed": False, "result": {}}
    return {"changed": True, "result": {}}


def content(params):
    """The fields of the Event that the options give."""
    said = api.given(
        {key: params[key] for key in ("message", "reason", "type", "reportingComponent")}
    )
    if params["source"] is not None:
        said["source"] = api.given(params["source"])
    return said


def involved(module, client):
    """The reference to the object that the Event is about, completed if the object is there."""
    found = api.given(module.params["involvedObject"])
    found.setdefault("namespace", module.params["namespace"])
    if "uid" in found:
        return found
    try:
        resource = client.resource(found["kind"], found["apiVersion"])
        where = found["namespace"] if resource.namespaced else None
        meta = client.get(resource, name=found["name"], namespace=where).to_dict()["metadata"]
    except (NotFoundError, ResourceNotFoundError, ResourceNotUniqueError):
        return found
    except DynamicApiError as error:
        module.warn("involvedObject could not be looked up: %s" % api.summary(error))
        return found
    return {"resourceVersion": meta["resourceVersion"], **found, "uid": meta["uid"]}


def emit(client, events, name, namespace, said):
    """Create or count up the Event, again if somebody else was faster; the Event."""
    where = {"name": name, "namespace": namespace}
    for attempt in range(api.TRIES):
        prior = read(client, events, where)
        try:
            if prior is None:
                return client.create(events, first(where, said, now()), **where).to_dict()
            return client.patch(
                events,
                repeated(prior, said, now()),
                content_type="application/merge-patch+json",
                **where,
            ).to_dict()
        except (ConflictError, NotFoundError):
            if attempt == api.TRIES - 1:
                raise
    raise AssertionError("not reached")


def read(client, events, where):
    """The Event that is there, or None."""
    try:
        return client.get(events, **where).to_dict()
    except NotFoundError:
        return None


def first(where, said, moment):
    """A new Event. The server wants the namespace in involvedObject to be the Event's own."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": dict(where),
        "type": "Normal",
        "involvedObject": {"namespace": where["namespace"]},
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        **said,
    }


def repeated(prior, said, moment):
    """A merge patch that makes of an Event the next one of its name."""
    again = prior.get("reason") == said["reason"]
    return {
        "metadata": {"resourceVersion": prior["metadata"]["resourceVersion"]},
        "count": (prior.get("count") or 1) + 1 if again else 1,
        "firstTimestamp": (prior.get("firstTimestamp") if again else None) or moment,
        "lastTimestamp": moment,
        **said,
    }


def now():
    """The time as Events write it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def title(params):
    """How messages name the Event."""
    return api.place("Event", "v1", params["namespace"], params["name"])


if __name__ == "__main__":
    main()
