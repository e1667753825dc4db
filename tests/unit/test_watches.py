"""watches.yaml: keys, defaults, what is refused with which line, what is warned of."""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from ansible_operator import errors, fieldpath, objects, reference, selector, watches

APP = objects.GVK("app.example.com", "v1", "App")
HEAD = "- version: v1\n  group: app.example.com\n  kind: App\n"
QUIET = "  markUnsafe: false\n"


class Load(Protocol):
    """Write a watches file into the project and load it."""

    def __call__(self, text: str, environ: Mapping[str, str] | None = None) -> watches.Loaded: ...


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A working directory with two roles and two playbooks."""
    for role in ("app", "cleanup"):
        (tmp_path / "roles" / role).mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    for playbook in ("app.yml", "cleanup.yml"):
        (tmp_path / "playbooks" / playbook).touch()
    return tmp_path


@pytest.fixture
def load(project: Path) -> Load:
    """Load a text as watches.yaml of the project."""

    def load(text: str, environ: Mapping[str, str] | None = None) -> watches.Loaded:
        (project / "watches.yaml").write_text(text, encoding="utf-8")
        return watches.load(Path("watches.yaml"), environ or {}, project)

    return load


def _refused(load: Load, text: str) -> errors.WatchesError:
    with pytest.raises(errors.WatchesError) as caught:
        load(text)
    assert caught.value.place.file == "watches.yaml"
    return caught.value


def test_defaults(load: Load, project: Path) -> None:
    """An entry with only what is required has the documented defaults."""
    (watch,) = load(HEAD + "  role: app\n").watches
    assert watch == watches.Watch(
        gvk=APP, target=watches.Role(project / "roles" / "app"), place="watches.yaml:1: entry 1"
    )
    assert watch.vars == {}
    assert watch.max_runner_artifacts == 20
    assert watch.reconcile_period is None
    assert watch.run_timeout is None
    assert watch.ansible_args is None
    assert watch.manage_status is True
    assert watch.watch_dependent_resources is True
    assert watch.watch_cluster_scoped_resources is False
    assert watch.snake_case_parameters is True
    assert watch.watch_annotations_changes is False
    assert watch.mark_unsafe is False
    assert watch.cancel_on_change is False
    assert watch.blacklist == frozenset()
    assert watch.selector is None
    assert watch.finalizer is None


FULL = """\
# every key
---
- version: v1
  group: app.example.com
  kind: App
  playbook: ./playbooks/app.yml
  vars: {meta: '{{ ansible_operator_meta }}', n: 1, deep: {list: [yes]}}
  maxRunnerArtifacts: 30
  reconcilePeriod: 1h30m
  runTimeout: 10m
  ansibleArgs: --tags "a b" --forks=2
  manageStatus: False
  watchDependentResources: no
  watchClusterScopedResources: on
  snakeCaseParameters: n
  snakeCaseTopLevelOnly: on
  watchAnnotationsChanges: True
  markUnsafe: yes
  cancelOnChange: y
  runOncePerGeneration: yes
  watchStatusPaths: [status.phase, "status.conditions[*].status"]
  references:
    - {path: spec.tls.secretName, kind: Secret}
    - {path: "spec.users[*].from.name", kind: Team, group: t.example.com, version: v2,
       namespace: "spec.users[*].from.namespace"}
  blacklist:
    - {group: "", version: v1, kind: Pod}
    - {group: apps, version: v1, kind: Deployment}
  selector:
    matchLabels: {app: x, number: 1}
    matchExpressions:
      - {key: tier, operator: In, values: [a, b]}
      - {key: old, operator: DoesNotExist}
  finalizer:
    name: app.example.com/finalizer
    role: cleanup
    vars: {state: absent}
"""


def test_every_key(load: Load, project: Path) -> None:
    """Every key is read; booleans of YAML 1.1 and a comment before --- are fine."""
    loaded = load(FULL)
    (warning,) = loaded.warnings
    assert "runOncePerGeneration: with manageStatus: false nothing remembers" in warning
    assert loaded.watches == (
        watches.Watch(
            gvk=APP,
            target=watches.Playbook(project / "playbooks" / "app.yml"),
            vars={"meta": "{{ ansible_operator_meta }}", "n": 1, "deep": {"list": [True]}},
            max_runner_artifacts=30,
            reconcile_period=5400.0,
            run_timeout=600.0,
            ansible_args=("--tags", "a b", "--forks=2"),
            manage_status=False,
            watch_dependent_resources=False,
            watch_cluster_scoped_resources=True,
            snake_case_parameters=False,
            snake_case_top_level_only=True,
            watch_annotations_changes=True,
            mark_unsafe=True,
            cancel_on_change=True,
            run_once_per_generation=True,
            watch_status_paths=(
                fieldpath.parse("status.phase"),
                fieldpath.parse("status.conditions[*].status"),
            ),
            references=(
                reference.Reference(
                    fieldpath.parse("spec.tls.secretName"), objects.GVK("", "v1", "Secret")
                ),
                reference.Reference(
                    fieldpath.parse("spec.users[*].from.name"),
                    objects.GVK("t.example.com", "v2", "Team"),
                    fieldpath.parse("spec.users[*].from.namespace"),
                ),
            ),
            blacklist=frozenset(
                {objects.GVK("", "v1", "Pod"), objects.GVK("apps", "v1", "Deployment")}
            ),
            selector=selector.Selector(
                (
                    selector.Requirement("app", "In", ("x",)),
                    selector.Requirement("number", "In", ("1",)),
                    selector.Requirement("tier", "In", ("a", "b")),
                    selector.Requirement("old", "DoesNotExist"),
                )
            ),
            finalizer=watches.Finalizer(
                "app.example.com/finalizer",
                watches.Role(project / "roles" / "cleanup"),
                {"state": "absent"},
            ),
            place="watches.yaml:3: entry 1",
        ),
    )


def test_keys_match_in_any_case(load: Load) -> None:
    """As Go's decoder has it, also in nested maps."""
    text = FULL.replace("finalizer:\n", "FINALIZER:\n").replace("name:", "Name:")
    text = text.replace("manageStatus", "managestatus").replace("matchLabels", "MatchLabels")
    assert load(text) == load(FULL)


def test_every_field_has_a_key(load: Load) -> None:
    """The full example sets every field of a watch to something else than its default."""
    (watch,) = load(FULL).watches
    plain = watches.Watch(gvk=objects.GVK("", "", ""), target=watches.Role(Path("/x")))
    for field in dataclasses.fields(watches.Watch):
        assert getattr(watch, field.name) != getattr(plain, field.name), field.name


def test_numbers_for_text(load: Load) -> None:
    """A number or boolean where text is expected counts as it is written."""
    (watch,) = load("- {version: 1.10, group: 2, kind: yes, role: app}").watches
    assert watch.gvk == objects.GVK("2", "1.10", "yes")


def test_null_is_absent(load: Load) -> None:
    """A key without a value has its default."""
    keys = (
        "group", "playbook", "vars", "maxRunnerArtifacts", "reconcilePeriod", "runTimeout",
        "ansibleArgs", "manageStatus", "blacklist", "selector", "finalizer",
    )  # fmt: skip
    text = "- version: v1\n  kind: App\n  role: app\n" + "".join(f"  {key}:\n" for key in keys)
    (watch,) = load(text).watches
    assert dataclasses.replace(watch, gvk=APP) == load(HEAD + "  role: app\n").watches[0]


def test_core_group(load: Load) -> None:
    """Kinds of the core group, without status (kiali's namespaces and secrets)."""
    text = '- {group: "", version: v1, kind: Secret, role: app, manageStatus: false}\n'
    (watch,) = load(text).watches
    assert watch.gvk == objects.GVK("", "v1", "Secret")
    assert watch.manage_status is False


def test_same_kind_and_version_in_two_groups(load: Load) -> None:
    """Kinds that differ only in their group are two watches."""
    text = HEAD + "  role: app\n" + HEAD.replace("app.example.com", "b.example.com") + "  role: app"
    loaded = load(text)
    assert [watch.gvk.group for watch in loaded.watches] == ["app.example.com", "b.example.com"]
    assert not any("versions" in warning for warning in loaded.warnings)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ('"0"', 0), ("0", 0), ("-1h", 0), ("300ms", 0.3), ("10m", 600), ("1h2m", 3720)],
)
def test_reconcile_period(load: Load, text: str, seconds: float) -> None:
    """Zero (or less) means no periodic runs, which is not the same as saying nothing."""
    (watch,) = load(HEAD + f"  role: app\n  reconcilePeriod: {text}\n").watches
    assert watch.reconcile_period == seconds


@pytest.mark.parametrize(("text", "kept"), [("0", 0), ("-1", -1), ("1", 1), ("2", 2)])
def test_max_runner_artifacts(load: Load, text: str, kept: int) -> None:
    """Zero keeps none; it is not the default of 20."""
    (watch,) = load(HEAD + f"  role: app\n  maxRunnerArtifacts: {text}\n").watches
    assert watch.max_runner_artifacts == kept


def test_run_timeout_zero(load: Load) -> None:
    """Zero is no limit, which differs from saying nothing."""
    assert load(HEAD + "  role: app\n  runTimeout: 0s\n").watches[0].run_timeout == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--check", ("--check",)),
        ("[--tags, 'a b', 1]", ("--tags", "a b", "1")),
        ("''", ()),
        ("[]", ()),
    ],
)
def test_ansible_args(load: Load, text: str, words: tuple[str, ...]) -> None:
    """Text is split as by a shell, a list is taken as it is, empty is not absent."""
    (watch,) = load(HEAD + f"  role: app\n  ansibleArgs: {text}\n").watches
    assert watch.ansible_args == words


@pytest.mark.parametrize("text", ["{}", "{matchLabels: {}}", "{matchExpressions: []}", "~"])
def test_empty_selector(load: Load, text: str) -> None:
    """An empty selector is none."""
    assert load(HEAD + f"  role: app\n  selector: {text}\n").watches[0].selector is None


def test_finalizer_with_only_vars(load: Load) -> None:
    """The main role runs with the vars added; they may even be empty."""
    text = HEAD + "  role: app\n  finalizer: {name: a/b, vars: %s}\n"
    assert load(text % "{s: 1}").watches[0].finalizer == watches.Finalizer("a/b", None, {"s": 1})
    assert load(text % "{}").watches[0].finalizer == watches.Finalizer("a/b")


def test_finalizer_with_a_playbook(load: Load, project: Path) -> None:
    """A finalizer's paths are resolved as those of the watch."""
    text = HEAD + "  role: app\n  finalizer: {name: a/b, playbook: playbooks/cleanup.yml}\n"
    finalizer = load(text).watches[0].finalizer
    assert finalizer is not None
    assert finalizer.target == watches.Playbook(project / "playbooks" / "cleanup.yml")


def test_anchors_and_merges(load: Load) -> None:
    """Entries may share keys through YAML's merge; an own key wins."""
    text = (
        "- &base {version: v1, group: g.io, kind: A, role: app, markUnsafe: true}\n"
        "- {<<: *base, kind: B, MARKUNSAFE: false}\n"
    )
    first, second = load(text).watches
    assert (first.gvk.kind, second.gvk.kind) == ("A", "B")
    assert (first.mark_unsafe, second.mark_unsafe) == (True, False)


def test_environment_in_keys_and_values(load: Load) -> None:
    """Variables are put in before the text is YAML."""
    text = HEAD + "  $KEY: ${ROLE}\n  vars: {a: $N}\n" + QUIET
    loaded = load(text, {"KEY": "role", "ROLE": "app", "N": "[1]"})
    assert isinstance(loaded.watches[0].target, watches.Role)
    assert loaded.watches[0].vars == {"a": [1]}
    assert loaded.warnings == ()


def test_roles_and_collections_paths_come_from_the_environment(load: Load, tmp_path: Path) -> None:
    """The environment that is handed in says where to look, not that of the process."""
    elsewhere = tmp_path / "else"
    plain = elsewhere / "special"
    collection = elsewhere / "ansible_collections" / "ns" / "coll" / "roles" / "special"
    plain.mkdir(parents=True)
    collection.mkdir(parents=True)
    environ = {"ANSIBLE_ROLES_PATH": "else", "ANSIBLE_COLLECTIONS_PATH": str(elsewhere)}
    assert load(HEAD + "  role: special\n", environ).watches[0].target == watches.Role(plain)
    target = load(HEAD + "  role: ns.coll.special\n", environ).watches[0].target
    assert target == watches.Role(collection)


@pytest.mark.parametrize("text", ["", "---\n", "[]\n", "# nothing\n", "null\n"])
def test_empty_file(load: Load, text: str) -> None:
    """No content and an empty list are zero watches and a warning."""
    assert load(text) == watches.Loaded(
        (), ("watches.yaml: there are no watches; the operator has nothing to do",)
    )


def test_byte_order_mark(load: Load) -> None:
    """A byte order mark does no harm."""
    assert len(load("\ufeff" + HEAD + "  role: app\n").watches) == 1


APPEND = HEAD + "  role: app\n"


@pytest.mark.parametrize(
    ("text", "line", "entry", "key", "problem"),
    [
        # the incumbent's rows
        ("- version: v1\n kind: A\n", 2, 0, "", "this is not YAML"),
        ("just text\n", 1, 0, "", "the file must be a list of watches"),
        ("# c\nversion: v1\nkind: A\n", 2, 0, "", "the file must be a list of watches"),
        ("- kind: App\n  role: app\n", 1, 1, "version", "the version is missing"),
        ("- version: v1\n  kind: ''\n", 2, 1, "kind", "the kind is missing"),
        (HEAD, 1, 1, "", "App has neither a role nor a playbook"),
        (HEAD + "  role: ''\n", 1, 1, "", "App has neither a role nor a playbook"),
        (HEAD + "  playbook: no.yml\n", 4, 1, "playbook", "there is no playbook"),
        (HEAD + "  playbook: playbooks\n", 4, 1, "playbook", "{cwd}/playbooks is a directory"),
        (HEAD + "  role: no\n", 4, 1, "role", 'there is no role "no"; tried {cwd}/roles/no'),
        (HEAD + "  role: a.b.c\n", 4, 1, "role", 'there is no role "a.b.c"; tried /usr/share/'),
        (APPEND + "  reconcilePeriod: abc\n", 5, 1, "reconcilePeriod", '"abc" is not a duration'),
        (APPEND + "  reconcilePeriod: 60\n", 5, 1, "reconcilePeriod", "60 is a number without a"),
        (APPEND + "  reconcilePeriod: ''\n", 5, 1, "reconcilePeriod", '"" is not a duration'),
        (APPEND + "  reconcilePeriod: [1s]\n", 5, 1, "reconcilePeriod", "expected text, found"),
        (APPEND + "  finalizer:\n    role: app\n", 6, 1, "finalizer.name", "the name of the final"),
        (APPEND + "  finalizer:\n    name: a/b\n", 6, 1, "finalizer", "nothing to run"),
        (APPEND + "  finalizer:\n    name: a/b\n    role: no\n", 7, 1, "finalizer.role", "there"),
        (APPEND + "  finalizer: {name: a/b,\n    playbook: no.yml, vars: {a: 1}}\n", 6, 1,
         "finalizer.playbook", "there is no playbook"),
        (APPEND + "  finalizer: {name: a/b,\n    vars: {a: 1}, role: no}\n", 6, 1,
         "finalizer.role", "there is no role"),
        # ours
        ("-\n", 1, 1, "", "this entry is not a map"),
        (APPEND + "- app\n", 5, 2, "", "this entry is not a map"),
        ("- {version: g/v1, kind: A, role: app}\n", 1, 1, "version", '"g/v1" has a slash'),
        ("- {version: v1, group: g/v1, kind: A}\n", 1, 1, "group", '"g/v1" has a slash'),
        (APPEND + "  role: app\n", 5, 1, "role", "this key is given twice, first in line 4"),
        (APPEND + "  Role: app\n", 5, 1, "Role", 'this is the same key as "role"'),
        (APPEND + "---\n" + APPEND, 6, 0, "", "a second YAML document starts here"),
        (APPEND + "  vars: [a]\n", 5, 1, "vars", "expected a map, found a list"),
        (APPEND + "  vars: {a: .nan}\n", 5, 1, "vars", "nan cannot be handed to Ansible"),
        (APPEND + "  maxRunnerArtifacts: '5'\n", 5, 1, "maxRunnerArtifacts",
         'expected a whole number, found the text "5"'),
        (APPEND + "  maxRunnerArtifacts: 1.5\n", 5, 1, "maxRunnerArtifacts",
         "expected a whole number, found the number 1.5"),
        (APPEND + "  manageStatus: 'true'\n", 5, 1, "manageStatus",
         'expected true or false, found the text "true"'),
        (APPEND + "  manageStatus: 'y'\n", 5, 1, "manageStatus", "expected true or false"),
        (APPEND + "  manageStatus: 1\n", 5, 1, "manageStatus", "expected true or false"),
        (APPEND + "  manageStatus: {a: 1}\n", 5, 1, "manageStatus", "expected true or false"),
        (APPEND + "  maxRunnerArtifacts: yes\n", 5, 1, "maxRunnerArtifacts",
         "expected a whole number, found the boolean yes"),
        (APPEND + "  runTimeout: -1s\n", 5, 1, "runTimeout", "a time limit cannot be negative"),
        (APPEND + "  ansibleArgs: \"--x 'a\"\n", 5, 1, "ansibleArgs", "cannot be split into words"),
        (APPEND + "  ansibleArgs:\n    - a\n    - [b]\n", 7, 1, "ansibleArgs", "expected text"),
        (APPEND + "  blacklist: {a: b}\n", 5, 1, "blacklist", "expected a list, found a map"),
        (APPEND + "  blacklist: [pods]\n", 5, 1, "blacklist", "expected a map, found"),
        (APPEND + "  watchStatusPaths: status.phase\n", 5, 1, "watchStatusPaths",
         "expected a list"),
        (APPEND + "  watchStatusPaths: [spec.size]\n", 5, 1, "watchStatusPaths",
         '"spec.size" is not in the status'),
        (APPEND + "  watchStatusPaths: ['status..a']\n", 5, 1, "watchStatusPaths",
         '"status..a" cannot be read from "..a" on'),
        (APPEND + "  runOncePerGeneration: once\n", 5, 1, "runOncePerGeneration",
         "expected true or false"),
        (APPEND + "  references: {a: b}\n", 5, 1, "references", "expected a list, found a map"),
        (APPEND + "  references:\n    - kind: Secret\n", 6, 1, "references[0].path",
         "the path is missing"),
        (APPEND + "  references:\n    - path: spec.a\n", 6, 1, "references[0].kind",
         "the kind is missing"),
        (APPEND + "  references:\n    - {kind: Secret, path: '[*].a'}\n", 6, 1,
         "references[0].path", '"[*].a" does not begin with the name of a field'),
        (APPEND + "  references:\n    - kind: Secret\n      path: spec.a[*].b\n"
         "      namespace: spec.c[*].d\n", 8, 1, "references[0].namespace",
         '"spec.c[*].d" goes through another list than "spec.a[*].b"'),
        (APPEND + "  finalizer: a/b\n", 5, 1, "finalizer", 'expected a map, found the text "a/b"'),
        (APPEND + "  selector:\n    matchLabels: {a: [b]}\n", 6, 1, "selector.matchLabels.a",
         "expected text, found a list"),
        (APPEND + "  selector:\n    matchLabels: {a: no good}\n", 6, 1, "selector.matchLabels",
         '"no good" cannot be the value of a label'),
        (APPEND + "  selector:\n    matchExpressions:\n      - key: a\n        operator: X\n", 8, 1,
         "selector.matchExpressions[0].operator", '"X" is not an operator'),
        (APPEND + "  selector:\n    matchExpressions:\n      - {key: a, operator: In}\n", 7, 1,
         "selector.matchExpressions[0].values", "In needs at least one value"),
        (APPEND + "  selector:\n    matchExpressions: [{operator: Exists}]\n", 6, 1,
         "selector.matchExpressions[0].key", '"" cannot be the key of a label'),
    ],
)  # fmt: skip
def test_refused(
    load: Load, project: Path, text: str, line: int, entry: int, key: str, problem: str
) -> None:
    """Each error names line, entry, key and problem, and shows the way out."""
    error = _refused(load, text)
    place = error.place
    assert (place.line, place.entry, place.key) == (line, entry, key)
    assert error.problem.startswith(problem.format(cwd=project) if "{cwd}" in problem else problem)
    assert error.hint or "expected text" in error.problem


def test_missing_file(tmp_path: Path) -> None:
    """A missing file names itself and the flag."""
    with pytest.raises(errors.WatchesError) as caught:
        watches.load(Path("none.yaml"), {}, tmp_path)
    assert str(caught.value) == (
        "none.yaml: cannot be read: No such file or directory. Name the file with --watches-file; "
        f"relative paths are looked up in {tmp_path}"
    )


def test_a_directory_for_a_file(tmp_path: Path) -> None:
    """A directory cannot be read as a file."""
    with pytest.raises(errors.WatchesError, match="cannot be read: Is a directory"):
        watches.load(tmp_path, {}, tmp_path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are an error, not a traceback."""
    (tmp_path / "watches.yaml").write_bytes(b"- \xff\n")
    with pytest.raises(errors.WatchesError, match="this is not UTF-8 text"):
        watches.load(Path("watches.yaml"), {}, tmp_path)


def test_full_text_of_an_error(load: Load, project: Path) -> None:
    """File, line, entry, key, problem with every place tried, and the way out."""
    assert str(_refused(load, HEAD + "  role: no\n")) == (
        f'watches.yaml:4: entry 1: role: there is no role "no"; tried {project}/roles/no, '
        f"{project}/no. Create the role, correct its name, or set ANSIBLE_ROLES_PATH "
        "(--ansible-roles-path) to the directory that holds it"
    )


def test_duplicate_gvk_names_both_entries(load: Load) -> None:
    """The second of two equal kinds is refused with the place of the first."""
    error = _refused(load, APPEND + HEAD.replace("App", "Other") + "  role: app\n" + APPEND)
    assert str(error) == (
        "watches.yaml:9: entry 3: app.example.com/v1, Kind=App is watched twice, first by entry 1 "
        "in line 1. Keep one of the two entries"
    )


@pytest.mark.parametrize(
    "text",
    [
        "- <<: 5\n",
        "- <<: [1, 2]\n",
        APPEND + "  manageStatus: !!bool foo\n",
        APPEND + "  vars: {a: !!timestamp foo}\n",
        APPEND + "  vars: {a: !!bool foo}\n",
        APPEND + "  maxRunnerArtifacts: !!int ''\n",
        APPEND + "  vars: {a: !!float ''}\n",
        APPEND + "  vars: " + "{a: " * 400 + "1" + "}" * 400 + "\n",
        "- {version: v1, kind: A, role: " + "x" * 300 + "}\n",
        "- {version: v1, kind: A, playbook: " + "x" * 5000 + "}\n",
    ],
)
def test_hostile_text_is_an_error_with_its_place(load: Load, text: str) -> None:
    """Tags that do not fit, merges of no map and endless depth or paths are plain errors."""
    assert str(_refused(load, text)).startswith("watches.yaml:")


def test_all_problems_of_an_entry_are_told_and_its_typos(load: Load) -> None:
    """Several problems of one entry come at once, with the unknown key that explains one."""
    text = "- version: v1\n  kind: App\n  rol: app\n  reconcilePeriod: 60\n"
    lines = str(_refused(load, text)).splitlines()
    assert len(lines) == 3
    assert "App has neither a role nor a playbook" in lines[0]
    assert lines[1].startswith("watches.yaml:4: entry 1: reconcilePeriod: ")
    assert lines[2] == "watches.yaml:3: entry 1: rol: unknown key, ignored; did you mean role?"


def test_all_entries_are_checked(load: Load) -> None:
    """One load tells the problems of all entries, each on its line."""
    text = HEAD + "- version: v1\n" + APPEND + APPEND
    lines = str(_refused(load, text)).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["watches.yaml:1", "entry 1"],
        ["watches.yaml:4", "entry 2"],
        ["watches.yaml:4", "entry 2"],
        ["watches.yaml:9", "entry 4"],
    ]


def test_a_hint_shows_how_to_write_a_period(load: Load) -> None:
    """A bare number is answered with the form that works."""
    error = _refused(load, APPEND + "  reconcilePeriod: 60\n")
    assert "for example 10m" in error.hint


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("  dependentWatches: true\n",
         "watches.yaml:6: entry 1: dependentWatches: unknown key, ignored; did you mean watchD"),
        ("  reconcilePeriode: 1h\n", "unknown key, ignored; did you mean reconcilePeriod?"),
        ("  manageStatuss: true\n", "unknown key, ignored; did you mean manageStatus?"),
        ("  zzz: 1\n", "watches.yaml:6: entry 1: zzz: unknown key, ignored; known are version, "),
        ("  finalizer: {name: a/b, vars: {}, rolle: app}\n",
         "entry 1: finalizer.rolle: unknown key, ignored; did you mean role?"),
        ("  selector:\n    matchLabel: {a: b}\n",
         "watches.yaml:7: entry 1: selector.matchLabel: unknown key, ignored; did you mean match"),
        ("  selector: {matchExpressions: [{key: a, operator: Exists, value: b}]}\n",
         "entry 1: selector.matchExpressions[0].value: unknown key, ignored; did you mean values?"),
        ("  blacklist: [{version: v1, kind: Pod, groups: ''}]\n",
         "entry 1: blacklist[0].groups: unknown key, ignored; did you mean group?"),
        ("  blacklist: [{group: apps}]\n",
         "entry 1: blacklist[0]: matches nothing, because version or kind is missing"),
        ("  playbook: playbooks/app.yml\n",
         "watches.yaml:4: entry 1: role: ignored, because there is a playbook too"),
        ("  vars:\n    a: $UNSET\n",
         "watches.yaml:7: the environment variable UNSET is not set; the text ${UNSET} stays"),
        ("  maxConcurrentReconciles: 3\n", "unknown key, ignored; set the environment "
         "variable MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP> or --max-concurrent-reconciles"),
        ("  ansibleVerbosity: 3\n", "ANSIBLE_VERBOSITY_<KIND>_<GROUP> or --ansible-verbosity"),
        ("  references: [{path: spec.a, kind: Secret, name: x}]\n",
         "references[0].name: unknown key, ignored; did you mean namespace?"),
    ],
)  # fmt: skip
def test_warned_of(load: Load, text: str, warning: str) -> None:
    """What is odd is warned of with its place, and the file still loads."""
    loaded = load(APPEND + QUIET + text)
    assert len(loaded.watches) == 1
    (found,) = loaded.warnings
    assert warning in found


def test_playbook_wins_over_role(load: Load, project: Path) -> None:
    """With both the playbook runs, as the incumbent has it."""
    (watch,) = load(APPEND + "  playbook: playbooks/app.yml\n").watches
    assert watch.target == watches.Playbook(project / "playbooks" / "app.yml")


def test_an_unset_variable_stays(load: Load) -> None:
    """The text of an unset variable reaches Ansible as it stands."""
    (watch,) = load(APPEND + "  vars:\n    a: $UNSET\n    b: '${UNSET}'\n").watches
    assert watch.vars == {"a": "${UNSET}", "b": "${UNSET}"}


def test_two_versions_are_warned_of(load: Load) -> None:
    """Two versions of a kind load; the warning says that objects run once."""
    text = APPEND + QUIET + APPEND.replace("v1\n", "v1beta1\n") + QUIET
    loaded = load(text)
    assert len(loaded.watches) == 2
    assert loaded.warnings == (
        "watches.yaml: App.app.example.com is watched in the versions v1, v1beta1; each object "
        "runs once, with the newest of them that the cluster serves",
    )


def test_mark_unsafe_unset_is_warned_of(load: Load) -> None:
    """One line names all kinds that did not decide; a decision either way silences it."""
    text = "".join(
        f"- {{version: v1, group: g.io, kind: {kind}, role: app{extra}}}\n"
        for kind, extra in (
            ("A", ""),
            ("B", ", markUnsafe: false"),
            ("C", ", markUnsafe: true"),
            ("D", ""),
        )
    )
    (warning,) = load(text).warnings
    assert warning.startswith("watches.yaml: markUnsafe is not set for A, D: Ansible evaluates")
    assert "set 'markUnsafe: true'" in warning


def test_the_environment_of_the_process_is_not_read(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the environment that is handed in counts."""
    monkeypatch.setitem(os.environ, "ROLE_OF_THE_PROCESS", "app")
    error = _refused(load, HEAD + "  role: $ROLE_OF_THE_PROCESS\n")
    assert "${ROLE_OF_THE_PROCESS}" in error.problem


def test_values_are_plain_data(load: Load) -> None:
    """Vars hold nothing but JSON types, so that they can be written for Ansible."""
    text = textwrap.indent("vars:\n  1: 2024-01-01\n  yes: [~, 1.5, a]\n", "  ")
    assert load(APPEND + text).watches[0].vars == {"1": "2024-01-01", "true": [None, 1.5, "a"]}
