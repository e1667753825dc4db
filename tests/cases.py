"""The cases of field reports that the operator must get right, and which test shows each.

A test that shows the right behaviour of a case names it: ``@pytest.mark.case("K1", "K2")``.
Every test run ends with the count; ``python tests/cases.py`` lists case by case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
MARKER = "pytest.mark.case"

CASES = {
    "E2": "a role that always changes its own children is slowed down and named",
    "E4": "an edit during the run: one more run, with the newest spec",
    "E5": "twenty edits in a second: at most two runs, the last spec wins",
    "E6": "an annotation changes: a run only where the watch asks for it",
    "E7": "force-run annotation: one run per new value",
    "E8": "failures back off within floor and ceiling, an edit resets that",
    "E10": "requeue_after in a clean-up keeps the finalizer until a plain success",
    "E11": "requeue_after with a bad or missing period: the task fails",
    "E13": "a new object is served before the periodic pass over many",
    "E14": "many kinds: one cap over all beside the caps per kind",
    "E15": "a hanging play blocks nobody else, and its time limit fires",
    "E18": "a Secret that is only named changes: exactly those that name it run",
    "E19": "a finished child is removed: no second run of that generation",
    "E20": "others write the status: a run only for chosen paths of it",
    "D1": "a clean-up that fails three times is repeated, never after it succeeded",
    "D2": "a clean-up that fails for ever: ceiling, way out by annotation, Event",
    "D4": "deleted before the finalizer was added: no clean-up, gone",
    "D5": "deleted while the operator was down: only the clean-up runs",
    "D7": "the namespace of the operator goes: grace at SIGTERM, documented",
    "D8": "held by a foreign finalizer after the clean-up: no more runs",
    "D9": "deleted without finalizer: no run, artifacts and caches dropped",
    "D10": "the watched kind is Namespace, with a finalizer: the clean-up runs",
    "D13": "a kind left watches.yaml: start reports objects that it still holds",
    "K1": "selectors of every form give what they give without the operator",
    "K2": "exec, log, cp, port-forward and watch work from a role",
    "K4": "waiting for pods that change their names is quiet and ends",
    "K5": "bodies as Helm and oc send them are taken",
    "K6": "a role that may only get one Secret: no list or watch by the operator",
    "K7": "WATCH_NAMESPACE unset, one, several, with spaces, the own one",
    "K9": "410, 500, reset and half-open connections lose no event",
    "K11": "a watched Secret of 900 KiB: nothing is written to it",
    "K12": "100 namespaces and 10 kinds: one watch per kind, or a bounded rate",
    "W15": "core kinds as primary, and kinds without status sub-resource",
    "W16": "the kinds of a blacklist never trigger and are never cached",
}


def by_case(root: Path = TESTS) -> dict[str, list[str]]:
    """The tests that name a case, as pytest names them, by case; unknown cases too."""
    found: dict[str, list[str]] = {}
    for path in sorted(root.rglob("test_*.py")):
        text = path.read_text()
        if MARKER not in text:
            continue  # to parse all of them takes a second
        for name, case in _marked(ast.parse(text)):
            found.setdefault(case, []).append(f"{path.relative_to(root)}::{name}")
    return found


def summary(root: Path = TESTS) -> str:
    """One line: how many of the cases have a test, and which have none."""
    found = by_case(root)
    missing = [case for case in CASES if case not in found]
    line = f"cases: {len(CASES) - len(missing)} of {len(CASES)} rows have a test"
    return f"{line}; none: {', '.join(missing)}" if missing else line


def _marked(
    scope: ast.Module | ast.ClassDef, prefix: str = "", outer: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """The names of tests with their cases; what marks a module or class holds for all in it."""
    shared = (*outer, *_named(_pytestmark(scope)))
    for node in scope.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        cases = (*shared, *_named(node.decorator_list))
        if isinstance(node, ast.ClassDef):
            yield from _marked(node, f"{prefix}{node.name}::", cases)
        elif node.name.startswith("test_"):
            yield from ((prefix + node.name, case) for case in cases)


def _pytestmark(scope: ast.Module | ast.ClassDef) -> list[ast.expr]:
    """What ``pytestmark`` is set to."""
    values = [n.value for n in scope.body if isinstance(n, ast.Assign) and _sets_marks(n)]
    return [e for v in values for e in (v.elts if isinstance(v, ast.List) else [v])]


def _sets_marks(node: ast.Assign) -> bool:
    return any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)


def _named(marks: list[ast.expr]) -> Iterator[str]:
    for call in marks:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == MARKER:
            yield from (ast.literal_eval(argument) for argument in call.args)


def main() -> None:
    """List the cases with their tests."""
    found = by_case()
    for case, words in CASES.items():
        print(f"{case:<4} {words}")
        print("".join(f"       tests/{name}\n" for name in found.get(case, ["none"])), end="")
    print(summary())


if __name__ == "__main__":
    main()
