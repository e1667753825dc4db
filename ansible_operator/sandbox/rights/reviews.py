"""Reviews: questions about identities and rights that are answered at once and stored nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.rights import access, attributes, tokens

Obj = dict[str, Any]

GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


@dataclass(frozen=True, slots=True)
class _Review:
    """An access review as errors name it: the server forgets its kind there."""

    kind: str = ""
    group: str = "authorization.k8s.io"
    plural: str = ""
    qualified: str = ""


@dataclass(frozen=True, slots=True)
class Reviews:
    """Answers reviews from rights and tokens."""

    rights: access.Access
    known: tokens.Tokens
    clock: Callable[[], datetime]

    def create(self, resource: kinds.Resource, namespace: str, body: Obj, user: access.User) -> Obj:
        """The answer to a review that ``user`` sent: the body with its status.

        Raises ApiFailure 400 and 422.
        """
        answer = {
            "TokenReview": self._token,
            "SelfSubjectReview": self._self,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectAccessReview": self._own_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._access,
        }[resource.kind]
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        meta = dict(body.get("metadata") or {})
        given = meta.pop("namespace", "")
        if resource.namespaced:
            if given and given != namespace:
                raise failure.wrong_namespace()
            meta["namespace"] = namespace
        return answer(head | {"metadata": meta, "spec": body.get("spec") or {}}, user)

    def _self(self, review: Obj, user: access.User) -> Obj:
        head = {key: review[key] for key in ("kind", "apiVersion")}
        created = {"creationTimestamp": self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")}
        return head | {"metadata": created, "status": {"userInfo": user.info()}}

    def _token(self, review: Obj, user: access.User) -> Obj:
        spec = review["spec"]
        if not spec.get("token"):
            raise failure.bad_request("token is required for TokenReview in authentication")
        audiences = spec.get("audiences") or [tokens.ISSUER]
        try:
            owner, good = self.known.authenticate(spec["token"], audiences)
        except tokens.Rejected as problem:
            return review | {"status": {"user": {}, "error": str(problem)}}
        status = {"authenticated": True, "user": owner.info(), "audiences": list(good)}
        return review | {"status": status}

    def _rules(self, review: Obj, user: access.User) -> Obj:
        namespace = review["spec"].get("namespace")
        if not namespace:
            raise failure.bad_request("no namespace on request")
        rules, problems = self.rights.rules(user, namespace)
        status: Obj = {
            "resourceRules": [dict(rule) for rule in rules if rule.get("resources")],
            "nonResourceRules": [dict(rule) for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }
        if problems:
            status["evaluationError"] = problems
        return review | {"metadata": {}, "spec": {}, "status": status}

    def _own_access(self, review: Obj, user: access.User) -> Obj:
        spec = review["spec"]
        _refuse(_of_metadata(review) or _of_spec(spec))
        return review | {"status": self._decision(spec, user)}

    def _access(self, review: Obj, user: access.User) -> Obj:
        spec = review["spec"]
        namespace = review["metadata"].get("namespace")
        causes = _of_metadata(review) or [*_of_spec(spec), *_of_subject(spec)]
        _refuse(causes or (_of_namespace(spec, namespace) if namespace else []))
        about = access.User(
            spec.get("user", ""),
            tuple(spec.get("groups") or ()),
            spec.get("uid", ""),
            spec.get("extra") or {},
        )
        return review | {"status": self._decision(spec, about)}

    def _decision(self, spec: Obj, about: access.User) -> Obj:
        decision = self.rights.decide(about, _attributes(spec))
        status: Obj = {"allowed": decision.allowed}
        return status | {"reason": decision.reason} if decision.reason else status


def _attributes(spec: Obj) -> attributes.Attributes:
    if asked := spec.get("nonResourceAttributes"):
        return attributes.Attributes(asked.get("verb", ""), asked.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    names = {"plural": "resource"}
    fields = ("verb", "group", "version", "plural", "subresource", "namespace", "name")
    return attributes.Attributes(**{key: asked.get(names.get(key, key), "") for key in fields})


def _of_metadata(review: Obj) -> list[failure.Cause]:
    aside = ("managedFields", "namespace")
    if any(value for key, value in review["metadata"].items() if key not in aside):
        return [failure.invalid_value("metadata", review["metadata"], "must be empty")]
    return []


def _of_spec(spec: Obj) -> list[failure.Cause]:
    asked = [spec.get("resourceAttributes"), spec.get("nonResourceAttributes")]
    if sum(part is not None for part in asked) != 1:
        shown = None if asked[1] is None else _in_go(asked[1])
        return [failure.invalid_value("spec", shown, _ONE_OF)]
    causes = []
    for part in ("fieldSelector", "labelSelector"):
        selector = (asked[0] or {}).get(part) or {}
        if selector.get("rawSelector") and selector.get("requirements"):
            field = f"spec.resourceAttributes.{part}.rawSelector"
            told = "may not specified at the same time as requirements"
            causes.append(failure.invalid_value(field, selector["rawSelector"], told))
    return causes


def _of_subject(spec: Obj) -> list[failure.Cause]:
    if spec.get("user") or spec.get("groups"):
        return []
    told = "at least one of user or group must be specified"
    return [failure.invalid_value("spec.user", "", told)]


def _of_namespace(spec: Obj, namespace: str) -> list[failure.Cause]:
    if (asked := spec.get("nonResourceAttributes")) is not None:
        told = "disallowed on this kind of request"
        return [failure.invalid_value("spec.nonResourceAttributes", _in_go(asked), told)]
    named = spec["resourceAttributes"].get("namespace", "")
    if named == namespace:
        return []
    field = "spec.resourceAttributes.namespace"
    return [failure.invalid_value(field, named, "must match metadata.namespace")]


def _in_go(asked: Obj) -> Obj:
    """Attributes of a path as the server's messages show them."""
    return {"Path": asked.get("path", ""), "Verb": asked.get("verb", "")}


def _refuse(causes: Sequence[failure.Cause]) -> None:
    if causes:
        refused = failure.invalid(_Review(), "", causes)
        assert refused.details is not None
        del refused.details["kind"]
        raise refused
