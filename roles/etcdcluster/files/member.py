"""Add a member to an etcd cluster, or remove one, through etcd's JSON gateway.

usage: member.py add|remove PEER_URL CLIENT_URL

It needs nothing but Python. A member that is there already is not added again, and one that is not
there is no error, so it can be repeated. etcd refuses a change that would put its quorum at risk,
for example while another new member has not started yet; it is asked again for a minute.
"""

import json
import sys
import time
import urllib.error
import urllib.request

TRIES = 20
PAUSE = 3  # seconds


def call(client_url, method, request):
    """Answer of one call of the Cluster service."""
    url = f"{client_url}/v3/cluster/member/{method}"
    data = json.dumps(request).encode()
    with urllib.request.urlopen(url, data, timeout=10) as answer:  # noqa: S310 - always http(s)
        return json.load(answer)


def change(action, peer_url, client_url):
    """Bring the member list to what is asked for and say what was done."""
    members = call(client_url, "list", {})["members"]
    found = [member["ID"] for member in members if peer_url in member["peerURLs"]]
    if action == "add" and not found:
        call(client_url, "add", {"peerURLs": [peer_url]})
        return f"added {peer_url} to {len(members)} members"
    if action == "remove" and found:
        call(client_url, "remove", {"ID": found[0]})
        return f"removed {peer_url} from {len(members)} members"
    return f"nothing to do, {peer_url} is {'a' if found else 'no'} member"


def main(action, peer_url, client_url):
    """Try for a minute; the exit code says whether it was done."""
    for _ in range(TRIES):
        try:
            print(change(action, peer_url, client_url))
            return 0
        except urllib.error.HTTPError as error:
            print(f"etcd answered {error.code}: {error.read().decode()}", file=sys.stderr)
        except OSError as error:
            print(f"no answer from {client_url}: {error}", file=sys.stderr)
        time.sleep(PAUSE)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
