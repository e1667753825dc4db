#!/usr/bin/python
# Copyright: the ansible-operator authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
# SPDX-License-Identifier: Apache-2.0
"""Keep a Prometheus metric with the operator."""

from __future__ import annotations

DOCUMENTATION = r"""
module: osdk_metric
short_description: Create or change a Prometheus metric of the operator
version_added: 0.6.0
author: The ansible-operator authors (!UNKNOWN)
description:
  - Sends one change of one metric to the operator that runs this role or playbook. The operator
    shows it under C(/metrics) beside its own metrics, under the name given here and without labels.
  - The first task for a name creates the metric. Values live as long as the operator's process.
  - Exactly one of O(counter), O(gauge), O(histogram) and O(summary) is to be given. An empty map
    creates the metric and changes nothing.
options:
  name:
    description: Name of the metric.
    type: str
    required: true
  description:
    description: What the metric tells, shown beside it. That of the first task for a name stays.
    type: str
    required: true
  address:
    description:
      - Where the operator takes metrics.
      - Where it is not given, the environment variable E(OSDK_METRIC_ADDRESS) is used, which the
        operator sets if it does not listen on the usual port.
    type: str
    default: http://localhost:5050/metrics
  counter:
    description: A value that only grows. O(counter.increment) goes before O(counter.add).
    type: dict
    suboptions:
      increment:
        description: Add 1.
        type: bool
      add:
        description: Add this, which must not be negative.
        type: float
  gauge:
    description:
      - A value that goes up and down.
      - The first of increment, decrement, add, subtract, set and set_to_current_time is done. A zero
        counts as not given, but where nothing else is, O(gauge.set=0) sets the value to 0.
    type: dict
    suboptions:
      increment:
        description: Add 1.
        type: bool
      decrement:
        description: Subtract 1.
        type: bool
      add:
        description: Add this.
        type: float
      subtract:
        description: Subtract this.
        type: float
      set:
        description: Set the value to this.
        type: float
      set_to_current_time:
        description: Set the value to the seconds since 1970.
        type: bool
  histogram:
    description: Counts observed values in buckets from 0.005 to 10.
    type: dict
    suboptions:
      observe:
        description: The value that was observed.
        type: float
  summary:
    description: Counts and sums up observed values.
    type: dict
    suboptions:
      observe:
        description: The value that was observed.
        type: float
attributes:
  check_mode:
    support: full
    description: Nothing is sent.
  diff_mode:
    support: none
    description: There is no diff.
"""

EXAMPLES = r"""
- name: Count backups
  operator_sdk.util.osdk_metric:
    name: memcached_backups_total
    description: Backups made
    counter:
      increment: true

- name: Say how many pods are ready
  operator_sdk.util.osdk_metric:
    name: memcached_ready_pods
    description: Pods that are ready
    gauge:
      set: "{{ pods.resources | length }}"

- name: Observe how long the last backup took
  operator_sdk.util.osdk_metric:
    name: memcached_backup_seconds
    description: How long backups take
    histogram:
      observe: "{{ seconds }}"

- name: Create a counter without counting
  operator_sdk.util.osdk_metric:
    name: memcached_restores_total
    description: Restores made
    counter: {}
"""

RETURN = r"""
status_code:
  description: HTTP status of the operator's answer, -1 where there was none.
  returned: failure
  type: int
  sample: 400
"""

import json

from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.urls import fetch_url

ADDRESS = "http://localhost:5050/metrics"
KINDS = ("counter", "gauge", "histogram", "summary")
COUNTER = {"increment": {"type": "bool"}, "add": {"type": "float"}}
GAUGE = {
    **COUNTER,
    "decrement": {"type": "bool"},
    "subtract": {"type": "float"},
    "set": {"type": "float"},
    "set_to_current_time": {"type": "bool"},
}
OBSERVED = {"observe": {"type": "float"}}
OPTIONS = {
    "name": {"type": "str", "required": True},
    "description": {"type": "str", "required": True},
    "address": {
        "type": "str",
        "default": ADDRESS,
        "fallback": (env_fallback, ["OSDK_METRIC_ADDRESS"]),
    },
    "counter": {"type": "dict", "options": COUNTER},
    "gauge": {"type": "dict", "options": GAUGE},
    "histogram": {"type": "dict", "options": OBSERVED},
    "summary": {"type": "dict", "options": OBSERVED},
}
PATIENCE = 10


def main():
    """Read the options, send the metric, report."""
    module = AnsibleModule(
        argument_spec=OPTIONS,
        required_one_of=[KINDS],
        mutually_exclusive=[KINDS],
        supports_check_mode=True,
    )
    if not module.check_mode:
        send(module)
    module.exit_json(changed=True)


def document(params):
    """What is sent: the options that were given."""
    found = {"name": params["name"], "description": params["description"]}
    for kind in KINDS:
        if params[kind] is not None:
            found[kind] = {k: v for k, v in params[kind].items() if v is not None}
    return found


def send(module):
    """Send the metric; the task fails with what the operator answers unless that is 200."""
    address = module.params["address"]
    response, info = fetch_url(
        module,
        address,
        data=json.dumps(document(module.params)),
        headers={"Content-Type": "application/json"},
        method="POST",
        timeout=PATIENCE,
        use_proxy=False,
    )
    if info["status"] == 200:
        return
    if info["status"] == -1:
        text = "%s. Is the address right, and does the operator take metrics?" % info["msg"]
    else:
        body = info.get("body") or (response.read() if response else b"")
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
        text = "%s: %s" % (info["status"], text.strip() or info["msg"])
    module.fail_json(
        msg="metric %s could not be sent to %s: %s" % (module.params["name"], address, text),
        status_code=info["status"],
    )


if __name__ == "__main__":
    main()
