"""Stand-ins for the controllers of a cluster: they make what was asked for look as if it ran."""

from ansible_operator.sandbox.standins.controllers import Controllers as Controllers
