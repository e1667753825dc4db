"""Requests on behalf of somebody else: the Impersonate headers, which ``kubectl --as`` sends."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.rights import access, attributes

_PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")
_AUTHENTICATION = "authentication.k8s.io"


def effective(
    rights: access.Access,
    user: access.User,
    at: attributes.Attributes,
    headers: Iterable[tuple[str, str]],
) -> access.User:
    """Who the request counts as: the user, or whom the headers name.

    Raises ApiFailure 400 for headers without a user, 403 if the user may not do that.
    """
    given = [(name.lower(), value) for name, value in headers if name[:12].lower() == _PREFIX]
    wanted = _wanted(given)
    if not wanted.name:
        if wanted != access.User(""):
            raise failure.bad_request(f"requested {_go(wanted)} without impersonating a user name")
        return user
    _require(rights, user, wanted, at)
    return _complete(wanted)


def _wanted(given: Sequence[tuple[str, str]]) -> access.User:
    extra: dict[str, list[str]] = {}
    for name, value in given:
        if name.startswith(_EXTRA):
            extra.setdefault(unquote(name.removeprefix(_EXTRA)), []).append(value)
    first = dict(reversed(given))
    return access.User(
        name=first.get("impersonate-user", ""),
        groups=tuple(value for name, value in given if name == "impersonate-group"),
        uid=first.get("impersonate-uid", ""),
        extra=extra,
    )


def _require(
    rights: access.Access, user: access.User, wanted: access.User, at: attributes.Attributes
) -> None:
    """Allowed is who may impersonate whom for this request, or for all requests.

    The first is the newer way and its refusal the one that is told.
    """
    mode = _mode(wanted)
    here = dataclasses.replace(at, verb=f"impersonate-on:{mode}:{at.verb}")
    narrow = [here, *_parts(wanted, f"impersonate:{mode}", _AUTHENTICATION)]
    wide = _parts(wanted, "impersonate", "")
    if not all(rights.decide(user, part).allowed for part in wide):
        for part in narrow:
            rights.require(user, part)


def _mode(wanted: access.User) -> str:
    if _ACCOUNT.fullmatch(wanted.name):
        return "serviceaccount"
    return "arbitrary-node" if wanted.name.startswith("system:node:") else "user-info"


def _parts(wanted: access.User, verb: str, group: str) -> Iterator[attributes.Attributes]:
    """Every single right that it takes to be this user."""

    def part(group: str, plural: str, name: str, **more: str) -> attributes.Attributes:
        return attributes.Attributes(verb, group=group, plural=plural, name=name, **more)

    if account := _ACCOUNT.fullmatch(wanted.name):
        yield part(group, "serviceaccounts", account[2], namespace=account[1])
    else:
        node = verb == "impersonate:arbitrary-node"
        name = wanted.name.removeprefix("system:node:") if node else wanted.name
        yield part(group, "nodes" if node else "users", name)
    if wanted.uid:
        yield part(_AUTHENTICATION, "uids", wanted.uid)
    yield from (part(group, "groups", name) for name in wanted.groups)
    for key, values in wanted.extra.items():
        for value in values:
            yield part(_AUTHENTICATION, "userextras", value, subresource=key)


def _complete(wanted: access.User) -> access.User:
    groups = list(wanted.groups)
    if not groups and (account := _ACCOUNT.fullmatch(wanted.name)):
        groups = list(access.account_groups(account[1]))
    if wanted.name == access.ANONYMOUS.name:
        groups += [] if access.UNAUTHENTICATED in groups else [access.UNAUTHENTICATED]
    elif not {access.AUTHENTICATED, access.UNAUTHENTICATED} & set(groups):
        groups.append(access.AUTHENTICATED)
    return dataclasses.replace(wanted, groups=tuple(groups))


def _go(wanted: access.User) -> str:
    """The user as the server's error shows it."""
    extra = _go_map(wanted.extra) if wanted.extra else "map[string][]string(nil)"
    groups = _go_list(wanted.groups) if wanted.groups else "[]string(nil)"
    name, uid = json.dumps(wanted.name), json.dumps(wanted.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}"


def _go_map(extra: Mapping[str, Sequence[str]]) -> str:
    items = (f"{json.dumps(key)}:{_go_list(values)}" for key, values in sorted(extra.items()))
    return "map[string][]string{" + ", ".join(items) + "}"


def _go_list(values: Sequence[str]) -> str:
    return "[]string{" + ", ".join(json.dumps(value) for value in values) + "}"
