#!/usr/bin/python
# Copyright: the ansible-operator authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
# SPDX-License-Identifier: Apache-2.0
"""Write into the status subresource of a Kubernetes object."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_status
short_description: Write the status of a Kubernetes object
version_added: 0.6.0
author: The ansible-operator authors (!UNKNOWN)
description:
  - Writes into C(status) of an object through its status subresource.
  - What is not named stays as it is, unless O(replace=true). Conditions are merged by their type.
  - Nothing is sent when the status already says what is asked for.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
options:
  api_version:
    description: Group and version of the object, such as V(cache.example.com/v1alpha1).
    type: str
    default: v1
    aliases: [api, version]
  kind:
    description: Kind of the object.
    type: str
    required: true
  name:
    description: Name of the object.
    type: str
    required: true
  namespace:
    description: Namespace of the object. Needed for every kind that lives in namespaces.
    type: str
  status:
    description:
      - Fields to write. Maps are merged into what is there, V(null) removes a field, lists replace lists.
      - May hold C(conditions); those are merged by their type too, but not checked as O(conditions) are.
    type: dict
  conditions:
    description:
      - Conditions to write. One of a type that is there already replaces it if anything but
        its transition time differs; the others stay.
      - Not to be used together with conditions in O(status).
    type: list
    elements: dict
    suboptions:
      type:
        description: Type of the condition, such as V(Ready).
        type: str
        required: true
      status:
        description: Whether the condition holds.
        type: str
        choices: ["True", "False", "Unknown"]
        required: true
      reason:
        description: One word in CamelCase for programs. Digits, V(_), V(,) and V(:) are allowed within.
        type: str
      message:
        description: A sentence for people.
        type: str
      lastHeartbeatTime:
        description: When the condition was last looked at (RFC 3339, a space may stand for the T).
        type: str
      lastTransitionTime:
        description:
          - When the status of the condition last changed (RFC 3339). Where it is not given, the time
            that is there is kept while the status stays the same, and is now when it changes.
        type: str
  replace:
    description:
      - Put the given status in place of the whole present one, instead of merging the two.
      - This drops the conditions that the operator itself keeps, until the end of its run.
    type: bool
    default: false
    aliases: [force]
  replace_lists:
    description: Has no effect, as lists always replace lists; kept for roles that set it.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: The server is asked with a dry run.
  diff_mode:
    support: full
    description: The status before and after is shown.
requirements:
  - kubernetes >= 24.2.0
  - the collection kubernetes.core
"""

EXAMPLES = r"""
- name: Report what the role found
  operator_sdk.util.k8s_status:
    api_version: cache.example.com/v1alpha1
    kind: Memcached
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status:
      readyReplicas: "{{ ready | int }}"

- name: Say that a backup is missing
  operator_sdk.util.k8s_status:
    api_version: cache.example.com/v1alpha1
    kind: Memcached
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    conditions:
      - type: BackedUp
        status: "False"
        reason: NoBackupYet
        message: No backup was made since the object was created
"""

RETURN = r"""
result:
  description: The object after the change.
  returned: success
  type: dict
error:
  description:
    - What the API server answered, where it refused.
    - A text instead where a condition of O(conditions) cannot be used.
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

import re
from datetime import datetime, timezone

from ansible_collections.operator_sdk.util.plugins.module_utils import api

try:
    from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
except ImportError:
    pass  # AnsibleK8SModule says which library is missing

# The rules of metav1.Condition and of RFC 3339 (which lets a space stand for the T).
REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
TIMES = ("lastHeartbeatTime", "lastTransitionTime")
CONDITION = {
    "type": {"type": "str", "required": True},
    "status": {"type": "str", "required": True, "choices": ["True", "False", "Unknown"]},
    "reason": {"type": "str"},
    "message": {"type": "str"},
    "lastHeartbeatTime": {"type": "str"},
    "lastTransitionTime": {"type": "str"},
}
OPTIONS = {
    "api_version": {"type": "str", "default": "v1", "aliases": ["api", "version"]},
    "kind": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str"},
    "status": {"type": "dict"},
    "conditions": {"type": "list", "elements": "dict", "options": CONDITION},
    "replace": {"type": "bool", "default": False, "aliases": ["force"]},
    "replace_lists": {"type": "bool", "default": False},
}
TWICE = "You cannot specify conditions in both the 'status' and 'conditions' parameters"
INVALID = "The specified conditions failed to validate: condition %s: "


def main():
    """Read the options, write the status, report."""
    api.run(OPTIONS, work, title)


def work(module, client):
    """Check the options and write; the results of the task."""
    return write_status(module, client, wanted_status(module.params))


def wanted_status(params):
    """The status map that the options ask for; conditions without the fields that were not given."""
    wanted = dict(params["status"] or {})
    if params["conditions"]:
        if wanted.get("conditions"):
            raise api.Failure(TWICE)
        wanted["conditions"] = [checked(condition) for condition in params["conditions"]]
    return wanted


def checked(condition):
    """The condition without empty options, if reason and times are legal."""
    found = {k: v for k, v in api.given(condition).items() if v or k not in TIMES}
    if found.get("reason") and not REASON.fullmatch(found["reason"]):
        raise api.Failure(
            INVALID % found["type"]
            + "reason %r must be one word that starts with a letter and holds only letters, "
            "digits, '_', ',' and ':', such as AllMembersReady" % found["reason"],
            error="Condition 'reason' must be a single, CamelCase word",
        )
    for key in TIMES:
        if key in found:
            found[key] = checked_time(found["type"], key, found[key])
    return found


def checked_time(name, key, text):
    """The time with a T between day and time, as the API server wants it."""
    if not is_time(text):
        raise api.Failure(
            INVALID % name + "%s %r is no RFC 3339 time such as 2026-01-31T13:45:00Z" % (key, text),
            error="'%s' must be an RFC3339 compliant datetime string" % key,
        )
    return "T".join((text[:10], text[11:]))


def is_time(text):
    """Whether the text is an RFC 3339 time of an existing day."""
    if not TIME.fullmatch(text):
        return False
    try:
        datetime.strptime(text[:10] + text[11:19], "%Y-%m-%d%H:%M:%S")
    except ValueError:
        return False
    return True


def write_status(module, client, wanted):
    """Write, and write again if somebody else was faster; the results of the task."""
    resource = find(client, module.params)
    for attempt in range(api.TRIES):
        before = read(client, resource, module.params)
        old = before.get("status") or {}
        new = compute(old, wanted, module.params["replace"], now())
        if new == old:
            return {"changed": False, "result": before}
        try:
            after = write(client, resource, before, old, new, module.params["replace"])
        except ConflictError:
            if attempt == api.TRIES - 1:
                raise
            continue
        return results(module, wanted, before, after)
    raise AssertionError("not reached")


def find(client, params):
    """The kind with its status subresource."""
    kind, api_version = params["kind"], params["api_version"]
    resource = api.find(client, kind, api_version, lambda found: "status" in found.subresources)
    if "status" not in resource.subresources:
        raise api.Failure(
            "Resource %s.%s does not support the status subresource. Add 'subresources: "
            "{status: {}}' to this version in the CustomResourceDefinition." % (api_version, kind)
        )
    if resource.namespaced and not params["namespace"]:
        raise api.Failure("namespace is missing: objects of kind %s live in namespaces" % kind)
    return resource


def read(client, resource, params):
    """The object as it is."""
    try:
        return client.get(resource, name=params["name"], namespace=params["namespace"]).to_dict()
    except NotFoundError as error:
        raise api.Failure(
            "Failed to retrieve requested object: %s does not exist" % title(params),
            error=api.answer(error),
        ) from None


def compute(old, wanted, replace, moment):
    """The whole new status, without side effects."""
    new = prune(wanted) if replace else merge(old, wanted)
    if isinstance(wanted.get("conditions"), list):
        present = old.get("conditions") or []
        new["conditions"] = merge_conditions(present, wanted["conditions"], replace, moment)
    return new


def merge(old, patch):
    """A JSON merge patch (RFC 7396) applied to a map."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = merge(new[key] if isinstance(new.get(key), dict) else {}, value)
        else:
            new[key] = value
    return new


def prune(value):
    """The map without its nulls, which the API server would drop as well."""
    return merge({}, value)


def merge_conditions(old, wanted, replace, moment):
    """The conditions that are there with the wanted ones in place of those of the same type."""
    new = [] if replace else list(old)
    for condition in wanted:
        if not isinstance(condition, dict) or "type" not in condition:
            raise api.Failure("status.conditions: %r is no condition, it has no type" % (condition,))
        present = [c for c in old if isinstance(c, dict) and c.get("type") == condition["type"]]
        entry = with_transition(present[-1] if present else {}, condition, moment)
        places = [n for n, c in enumerate(new) if isinstance(c, dict) and c.get("type") == entry["type"]]
        if places:
            new[places[-1]] = entry
        else:
            new.append(entry)
    return new


def with_transition(present, condition, moment):
    """The condition with its transition time; the present one if nothing else differs."""
    if same(present, condition):
        return present
    kept = present.get("lastTransitionTime") if present.get("status") == condition.get("status") else None
    return {"lastTransitionTime": kept or moment, **condition}


def same(present, condition):
    """Whether two conditions say the same, whenever they began to."""
    ignore = "lastTransitionTime"
    return bool(present) and {k: v for k, v in present.items() if k != ignore} == {
        k: v for k, v in condition.items() if k != ignore
    }


def write(client, resource, before, old, new, replace):
    """Send the new status, guarded by the version it was computed from."""
    meta = before["metadata"]
    where = {"name": meta["name"], "namespace": meta.get("namespace")}
    subresource = resource.subresources["status"]
    if replace:
        body = {**before, "status": new}
        return client.replace(subresource, body, **where).to_dict()
    body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": difference(old, new)}
    return client.patch(
        subresource, body, content_type="application/merge-patch+json", **where
    ).to_dict()


def difference(old, new):
    """The smallest JSON merge patch that makes ``new`` of ``old``."""
    patch = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old or old[key] != value:
            both = isinstance(value, dict) and isinstance(old.get(key), dict)
            patch[key] = difference(old[key], value) if both else value
    return patch


def results(module, wanted, before, after):
    """What the task reports. The server may have dropped fields that the schema does not know."""
    old, new = before.get("status") or {}, after.get("status") or {}
    dropped = sorted(key for key, value in wanted.items() if value is not None and key not in new)
    if dropped:
        module.warn(
            "%s: the CustomResourceDefinition has no status field %s; the API server dropped it"
            % (title(module.params), ", ".join(dropped))
        )
    found = {"changed": new != old, "result": after}
    if module._diff:
        found["diff"] = {"before": {"status": old}, "after": {"status": new}}
    return found


def now():
    """The time as conditions write it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def title(params):
    """How messages name the object."""
    return api.place(params["kind"], params["api_version"], params["namespace"], params["name"])


if __name__ == "__main__":
    main()
