"""What the stand-in controllers use where real ones use HTTP: the registry, in the same process."""

from __future__ import annotations

import copy
from typing import Any

from ansible_operator.sandbox import deletion, failure, kinds, options, registry
from ansible_operator.sandbox.rights import access

Obj = dict[str, Any]
Objects = list[Obj]
Resources = list[kinds.Resource]
CONTROLLER = access.User("system:kube-controller-manager", (access.MASTERS,))


class Local:
    """Requests of one controller. Resources are named ``deployments.apps``, ``pods``.

    Objects that are read belong to the storage and must not be changed; those that are written
    are copied. Everything raises ApiFailure as the server would answer.
    """

    def __init__(self, store: registry.Registry, manager: str) -> None:
        self._registry = store
        self._manager = manager

    def get(self, resource: str, namespace: str, name: str) -> Obj | None:
        """An object, None where there is none."""
        return self._registry.storage.get(self._find(resource).key, namespace, name)

    def list(self, resource: str, namespace: str = "") -> Objects:
        """The objects of a namespace, or of all."""
        return list(self._registry.storage.list(self._find(resource).key, namespace))

    def create(self, resource: str, obj: Obj) -> Obj:
        """Create an object in the namespace of its metadata."""
        return self._registry.create(
            self._find(resource),
            obj["metadata"].get("namespace", ""),
            copy.deepcopy(obj),
            self._how,
        )

    def update(self, resource: str, obj: Obj, subresource: str = "") -> Obj:
        """Put an object in the place of the one that is there."""
        meta = obj["metadata"]
        where = (meta.get("namespace", ""), meta["name"])
        found = self._find(resource)
        # What is stored may be in another version than the one that is preferred.
        body = copy.deepcopy({**obj, "apiVersion": found.api_version})
        return self._registry.replace(found, *where, body, self._how, subresource)[0]

    def update_status(self, resource: str, obj: Obj) -> Obj:
        """Put the status of an object in the place of the one that is there."""
        return self.update(resource, obj, "status")

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        propagation: str | None = None,
        uid: str | None = None,
        grace: int | None = None,
    ) -> None:
        """Delete an object; it is fine if there is none."""
        how = options.Delete(propagation=propagation or "", uid=uid or "", grace=grace)
        try:
            deletion.delete(self._registry, self._find(resource), namespace, name, how)
        except failure.ApiFailure as refused:
            if refused.code != 404:
                raise

    def finish(self, namespace: Obj) -> None:
        """Take the finalizers out of the spec of a namespace, so that it may go."""
        spec = {key: value for key, value in namespace["spec"].items() if key != "finalizers"}
        emptied = {**namespace, "spec": spec}
        self._registry.finish(self._find("namespaces"), emptied)

    def resources(self) -> Resources:
        """Everything that is served and can be deleted."""
        return [found for found in self._registry.kinds.all() if "delete" in found.verbs]

    @property
    def _how(self) -> options.Write:
        return options.Write(manager=self._manager, warnings=[], user=CONTROLLER)

    def _find(self, resource: str) -> kinds.Resource:
        found = self._registry.kinds.named(resource)
        if found is None:
            raise failure.no_such_path()
        return found
