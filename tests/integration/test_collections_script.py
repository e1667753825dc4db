"""scripts/collections: the collection is taken out of a wheel, atomically and only once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/collections"
CORE = "ansible_collections/kubernetes/core"


class Checkout:
    """A checkout with the script, and a folder of wheels that is all that pip may use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.core = root / ".collections" / CORE
        self.wheels = root / "wheels"
        self.wheels.mkdir()
        (root / "scripts").mkdir()
        shutil.copy(SCRIPT, root / "scripts/collections")

    def pin(self, text: str) -> None:
        """Write constraints.txt."""
        (self.root / "constraints.txt").write_text(text)

    def publish(self, version: str, *files: str) -> None:
        """Make a wheel of the package ansible; each file's text is the version."""
        info = f"ansible-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: ansible\nVersion: {version}\n"
        wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        with zipfile.ZipFile(self.wheels / f"ansible-{version}-py3-none-any.whl", "w") as archive:
            archive.writestr(f"{info}/METADATA", metadata)
            archive.writestr(f"{info}/WHEEL", wheel)
            archive.writestr(f"{info}/RECORD", "")
            for name in files:
                archive.writestr(name, version)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the script as make does."""
        env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        command = [sys.executable, str(self.root / "scripts/collections")]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def files(self) -> set[str]:
        """What is in the collection directory."""
        return {str(p.relative_to(self.core)) for p in self.core.rglob("*") if p.is_file()}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout that pins a version which is there."""
    found = Checkout(tmp_path)
    found.pin("ansible-core==2.0\nansible==1.2.0\n")
    wanted = [f"{CORE}/{name}" for name in ("MANIFEST.json", "LICENSE", "plugins/modules/k8s.py")]
    unwanted = [f"{CORE}/tests/unit/x.py", f"{CORE}/docs/x.rst", "ansible_collections/other/x/y.py"]
    found.publish("1.2.0", *wanted, *unwanted)
    return found


def test_only_the_collection_is_kept(checkout: Checkout) -> None:
    """Modules, licence and metadata stay; other collections, tests, docs and the wheel do not."""
    done = checkout.run()
    assert done.returncode == 0, done.stderr
    assert checkout.files() == {"MANIFEST.json", "LICENSE", "plugins/modules/k8s.py", ".taken-from"}
    listed = {path.name for path in (checkout.root / ".collections").iterdir()}
    assert listed == {"ansible_collections", ".lock", ".installed"}


def test_a_version_in_place_is_not_taken_again(checkout: Checkout) -> None:
    """The second call needs no package index."""
    checkout.run()
    shutil.rmtree(checkout.wheels)
    done = checkout.run()
    assert done.returncode == 0, done.stderr
    assert "is in place" in done.stdout


def test_another_pin_replaces_the_whole_collection(checkout: Checkout) -> None:
    """Files that the new version does not have are gone."""
    checkout.run()
    checkout.publish("1.3.0", f"{CORE}/MANIFEST.json")
    checkout.pin("ansible==1.3.0\n")
    assert checkout.run().returncode == 0
    assert checkout.files() == {"MANIFEST.json", ".taken-from"}
    assert (checkout.core / "MANIFEST.json").read_text() == "1.3.0"


@pytest.mark.parametrize(
    ("pin", "words"),
    [
        ("ansible-core==2.0\n", "no line 'ansible==X.Y.Z'"),
        ("ansible==9.9.9\n", "pip could not download ansible==9.9.9"),
        ("ansible==1.0.0\n", "holds no ansible_collections/kubernetes/core"),
    ],
    ids=["no pin", "no such version", "no such collection"],
)
def test_a_failure_says_why_and_keeps_what_is_there(
    checkout: Checkout, pin: str, words: str
) -> None:
    """The old collection stays usable, nothing half-made is left, the exit code is 1."""
    checkout.run()
    checkout.publish("1.0.0", "ansible/__init__.py")
    checkout.pin(pin)
    done = checkout.run()
    assert done.returncode == 1
    assert words in done.stderr
    assert (checkout.core / "MANIFEST.json").read_text() == "1.2.0"
    assert not list((checkout.root / ".collections").glob(".new-*"))
