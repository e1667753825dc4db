"""A Kubernetes API in memory, for trying and testing operators: what it answers, a real one would.

One process, one event loop. The logic is synchronous and runs on the loop, so every request is one
step that nothing can come between; docs/sandbox.md says what is served and what is not.
"""
