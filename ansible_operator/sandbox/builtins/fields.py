"""One value of an object under validation, where it stands, and what is found wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.builtins import names

_OWN: Any = object()


class Field:
    """A value and its place; ``old`` is what stood there before an update.

    Causes of all fields of one object gather in one list, in the order in which they are found.
    """

    __slots__ = ("_above", "_key", "causes", "old", "value")

    def __init__(
        self,
        value: Any,
        old: Any = None,
        above: Field | None = None,
        key: str = "",
        causes: list[failure.Cause] | None = None,
    ) -> None:
        self.value = value
        self.old = old
        self._above = above
        self._key = key
        self.causes: list[failure.Cause] = [] if causes is None else causes

    @property
    def path(self) -> str:
        """``spec.containers[0].name``."""
        above = self._above.path if self._above else ""
        if self._key.startswith("[") or not above:
            return above + self._key
        return f"{above}.{self._key}" if self._key else above

    @property
    def top(self) -> Field:
        """The whole object."""
        return self._above.top if self._above else self

    @property
    def above(self) -> Field:
        """What this is a field or an entry of."""
        assert self._above is not None
        return self._above

    def at(self, *keys: str) -> Field:
        """A field, and a field of it; its value is None where it is not given."""
        found = self
        for key in keys:
            value = found.value.get(key) if isinstance(found.value, dict) else None
            old = found.old.get(key) if isinstance(found.old, dict) else None
            found = Field(value, old, found, key, self.causes)
        return found

    def get(self, key: str) -> Any:
        """The value of a field."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def entry(self, key: str | int) -> Field:
        """An entry of a map or of a list: ``limits[cpu]``, ``containers[0]``."""
        found = self.value
        value = found.get(key) if isinstance(found, dict) else found[key]
        old = self.old.get(key) if isinstance(self.old, dict) else None
        return Field(value, old, self, f"[{key}]", self.causes)

    def entries(self) -> Iterator[Field]:
        """The entries of a list in their order, those of a map in the order of their keys."""
        keys = sorted(self.value) if isinstance(self.value, dict) else range(len(self.value or ()))
        return (self.entry(key) for key in keys)

    @property
    def key(self) -> str:
        """The name of a field, the key of an entry of a map."""
        return self._key[1:-1] if self._key.startswith("[") else self._key

    def required(self, detail: str = "") -> None:
        """It is missing."""
        self.causes.append(failure.required(self.path, detail))

    def invalid(self, detail: str, value: Any = _OWN) -> None:
        """It breaks a rule; ``value`` is what the message shows, if that is not the value."""
        shown = self.value if value is _OWN else value
        self.causes.append(failure.invalid_value(self.path, shown, detail))

    def unsupported(self, allowed: Iterable[str], value: Any = _OWN) -> None:
        """It is not one of those allowed."""
        shown = self.value if value is _OWN else value
        self.causes.append(failure.not_supported(self.path, shown, allowed))

    def forbidden(self, detail: str) -> None:
        """It must not be set, or not be changed."""
        self.causes.append(failure.forbidden_field(self.path, detail))

    def duplicate(self, value: Any = _OWN) -> None:
        """It stands twice."""
        shown = self.value if value is _OWN else value
        self.causes.append(failure.duplicate(self.path, shown))

    def too_long(self, limit: int) -> None:
        """It has more than ``limit`` bytes."""
        self.causes.append(failure.too_long(self.path, limit))

    def not_found(self) -> None:
        """It names something that is not there."""
        message = f"Not found: {failure.shown(self.value)}"
        self.causes.append(failure.Cause("FieldValueNotFound", message, self.path))

    def obeys(self, rule: names.Rule, value: Any = _OWN) -> None:
        """Note what a rule of names says of a text."""
        text = self.value if value is _OWN else value
        for told in rule(text):
            self.invalid(told, text)

    def one_of(self, *allowed: str) -> None:
        """Note it if it is none of these."""
        if self.value not in allowed:
            self.unsupported(allowed)

    def differs(self) -> bool:
        """Whether an update changes it."""
        return bool(self.value != self.old)
