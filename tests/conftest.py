"""For all tests: generated examples never fail for being slow on a busy machine."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile(
    "unhurried",
    parent=hypothesis.settings.default,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")
