"""A kind by its name, as the API server serves it."""

from __future__ import annotations

from ansible_operator import children, errors, objects
from ansible_operator.kube import asking, discovery


def resolve(client: asking.Asks, gvk: objects.GVK) -> children.ChildKind:
    """Ask how a kind is served; raises NotFoundError while it is not, and other KubeErrors."""
    found = discovery.resolve(client, gvk)
    if found is None:
        raise errors.NotFoundError(f"{client.server} does not serve {gvk}", status=404)
    return children.ChildKind(gvk, found.plural, found.namespaced)
