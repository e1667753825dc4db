#!/usr/bin/python
# Copyright: the ansible-operator authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
# SPDX-License-Identifier: Apache-2.0
"""Ask the operator to reconcile the same object again after a time."""

from __future__ import annotations

DOCUMENTATION = r"""
module: requeue_after
short_description: Reconcile the same object again after a time
version_added: 0.6.0
author: The ansible-operator authors (!UNKNOWN)
description:
  - Tells the operator that runs this role or playbook to reconcile the object again after O(time).
  - The module itself does nothing. The operator notices its result when the task has ended well,
    lets the play go on, and counts the time from the end of the run.
  - Outside an operator the task has no effect.
options:
  time:
    description:
      - How long to wait, as numbers with the units V(h), V(m) and V(s), such as V(90s) or V(1h30m).
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: The task is the same in check mode.
"""

EXAMPLES = r"""
- name: Look again soon while the database is starting
  operator_sdk.util.requeue_after:
    time: 30s
  when: not database_is_ready
"""

RETURN = r"""
period:
  description: The time as it was given.
  returned: success
  type: str
  sample: 30s
"""

import re

from ansible.module_utils.basic import AnsibleModule

PERIOD = re.compile(r"0|(?:[0-9]+[hms])+")


def main():
    """Check the time and hand it back."""
    module = AnsibleModule(
        argument_spec={"time": {"type": "str", "required": True}}, supports_check_mode=True
    )
    period = module.params["time"]
    if not PERIOD.fullmatch(period):
        module.fail_json(
            msg="time: %r is no duration. Write numbers followed by h, m or s without spaces, "
            "such as 30s, 5m or 1h30m." % period
        )
    module.exit_json(changed=False, period=period)


if __name__ == "__main__":
    main()
