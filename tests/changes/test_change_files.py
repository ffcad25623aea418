"""A change by its files: what an overlay can follow is laid over by itself, in whatever form the diff comes, and nothing is passed over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.builds.overlays.unified_diff import read_diff, touched
from perfproof.changes.change_files import Files, of_branch, of_diff
from perfproof.model.base.errors import BadInput
from tests.builds.overlays.test_git_changes import commit, run

PYTHON = "vllm/a.py"
PLAIN = "--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n"


def headed(path: str, body: str = "", more: str = "") -> str:
    hunk = body or f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    return f"diff --git a/{path} b/{path}\n{more}{hunk}"


def added(path: str, mode: str = "100644") -> str:
    return headed(path, f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+a = 1\n", f"new file mode {mode}\n")


OURS = headed(PYTHON, PLAIN)
STRAY = "Python of a folder that nobody knows"
BESIDE = {
    "text": (added("vllm/notes.txt"), "beyond"),
    "kernel": (headed("csrc/a.cu"), "beyond"),
    "name with a blank": (added("vllm/a b.txt"), "beyond"),
    "quoted name": (headed("x").replace("a/x", '"a/csrc/\\303\\244.cu"').replace("b/x", '"b/csrc/\\303\\244.cu"'), "beyond"),
    "library": (headed("vllm/_C.so", "Binary files a/vllm/_C.so and b/vllm/_C.so differ\n"), "beyond"),
    "link": (added("vllm/link.py", "120000"), "beyond"),
    "submodule": (added("vllm/third", "160000"), "beyond"),
    "mode of Python": (headed("vllm/b.py", "old mode 100644\nnew mode 100755\n"), "modes"),
    "benchmark": (added("vllm/benchmarks/serve.py"), "measures"),
    STRAY: (headed("mine/a.py"), "astray"),
    "test": (headed("./tests/v1/test_a.py"), "other"),
    "document": (headed("docs/a.md"), "other"),
    "document, plain": ("--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-a\n+b\n", "other"),
}
"""What comes with the Python, and as what it is told."""


def parted(folder: Path, text: str | bytes) -> tuple[Files, Path]:
    (folder / "my.diff").write_bytes(text if isinstance(text, bytes) else text.encode())
    return of_diff(folder / "my.diff", folder / "keep")


def followed(only: Path) -> tuple[str, ...]:
    return touched(read_diff(only.read_bytes(), only.name))


@pytest.mark.parametrize("ours", [OURS, PLAIN], ids=["git", "plain"])
@pytest.mark.parametrize("order", [1, -1], ids=["before", "behind"])
@pytest.mark.parametrize("what", BESIDE)
def test_python_is_followed_whatever_comes_with_it(tmp_path: Path, what: str, order: int, ours: str) -> None:
    """With git's headers, without, or one of each: the Python is laid over alone, and the rest is told as what it is."""
    text, kind = BESIDE[what]
    if (what, order, ours) == ("mode of Python", -1, PLAIN):
        with pytest.raises(BadInput, match="not a readable unified diff"):  # as one whose header names another file than its lines
            parted(tmp_path, text + ours)
        return
    found, only = parted(tmp_path, "".join([ours, text][::order]))
    assert found.python == (PYTHON,)
    assert len(getattr(found, kind)) == 1
    assert followed(only) == (PYTHON,)


@pytest.mark.parametrize(
    "shape",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-16"),
        lambda text: f"From 12 Mon\nSubject: [PATCH] diff --git a/b\n\n---\n vllm/a.py | 2 +-\n\n{text}-- \n2.39\n".encode(),
        lambda text: text.replace(" a/", " ").replace(" b/", " ").encode(),
        lambda text: f"Index: vllm/a.py\n=====\n{text}".encode(),
        lambda text: text.replace("a.py\n@@", "a.py\t2026-01-01 00:00:00\n@@").encode(),
    ],
    ids=["Windows", "UTF-16", "mail", "no prefix", "svn", "dates"],
)
@pytest.mark.parametrize("ours", [OURS, PLAIN], ids=["git", "plain"])
def test_however_a_diff_was_written_its_python_is_seen(tmp_path: Path, shape: object, ours: str) -> None:
    """Line ends, encodings, mail and prefixes hide no file: what could be measured is never passed for what can't."""
    assert callable(shape)
    found, only = parted(tmp_path, shape(ours))
    assert (found.python, found.whole) == ((PYTHON,), True)
    assert followed(only) == (PYTHON,)


@pytest.mark.parametrize("path", ["docs/a.md", "csrc/a.cu", "vllm/notes.txt", "vllm/b.py"])
def test_a_header_that_names_another_file_than_its_lines_hides_none(tmp_path: Path, path: str) -> None:
    """The lines say what changes: such a diff is refused, or its Python is followed."""
    try:
        found, only = parted(tmp_path, f"diff --git a/{path} b/{path}\n{PLAIN}")
    except BadInput:
        return
    assert PYTHON in found.python
    assert PYTHON in followed(only)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.lists(st.sampled_from(["ours", "plain", *BESIDE]), unique=True, min_size=1))
def test_no_piece_of_any_diff_is_lost(tmp_path: Path, names: list[str]) -> None:
    """However pieces are put together, each file is told once, and the Python of all is followed."""
    plain = {"plain", "document, plain"} & set(names)  # behind a header that has no lines they are refused, as the test above says
    names = [name for name in names if name != "mode of Python" or not plain]
    texts = {"ours": OURS, "plain": PLAIN.replace("a.py", "z.py"), **{name: text for name, (text, _) in BESIDE.items()}}
    whole = "".join(texts[name] for name in names)
    if STRAY in names and {BESIDE[name][1] for name in names if name in BESIDE} <= {"astray", "other"} and not {"ours", "plain"} & {*names}:
        with pytest.raises(BadInput, match=r"mine/a\.py lies in no folder of vLLM's repository"):
            parted(tmp_path, whole)
        return
    found, only = parted(tmp_path, whole)
    python = {name: path for name, path in (("ours", PYTHON), ("plain", "vllm/z.py")) if name in names}
    assert set(found.python) == set(python.values())
    every = [*found.python, *found.beyond, *found.measures, *found.modes, *found.astray, *found.other]
    assert len(set(every)) == len({"document" if name.startswith("document") else name for name in names})
    if python:
        assert set(followed(only)) == set(python.values())


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    commit(folder, "first", vllm__a_dot_py="A = 1\n" * 30, vllm__b_dot_py="B = 1\n", vllm__data_dot_txt="a\n" * 30)
    run(folder, "checkout", "-q", "-b", "mine")
    return folder


def branch(repo: Path, keep: Path) -> tuple[Files, tuple[str, ...]]:
    run(repo, "add", "-A")
    run(repo, "commit", "-q", "-m", "mine")
    found, only = of_branch(repo, "main", "mine", keep)
    return found, () if only is None else followed(only)


def test_of_a_branch_modes_links_and_renames_are_parted_too(repo: Path, tmp_path: Path) -> None:
    """A Python file that becomes data is gone, data that becomes Python has come; a mode alone is nothing, a link can't be followed."""
    (repo / "vllm" / "b.py").chmod(0o755)
    (repo / "vllm" / "link.py").symlink_to("/etc/passwd")
    subprocess.run(["git", "-C", repo, "mv", "vllm/a.py", "vllm/a.txt"], check=True)
    subprocess.run(["git", "-C", repo, "mv", "vllm/data.txt", "vllm/data.py"], check=True)
    found, followed = branch(repo, tmp_path)
    assert (set(found.python), found.modes) == ({"vllm/a.py", "vllm/data.py"}, ("vllm/b.py",))
    assert set(found.beyond) == {"vllm/a.txt", "vllm/data.txt", "vllm/link.py"}
    assert set(followed) == {"vllm/a.py", "vllm/data.py"}


def test_a_branch_that_changes_a_mode_alone_has_nothing_to_measure(repo: Path, tmp_path: Path) -> None:
    """It is no fault of the change, and nothing that an overlay would refuse."""
    (repo / "vllm" / "a.py").chmod(0o755)
    found, _ = branch(repo, tmp_path)
    assert (found.python, found.modes, found.whole) == ((), ("vllm/a.py",), True)


@pytest.mark.parametrize(
    "place",
    ["v1/core/", "./vllm/", "../vllm/", "/home/u/vllm/vllm/", "third_party/vllm/vllm/", "src/vllm/", "VLLM/", "vllm\\v1\\"],
    ids=["relative", "dot", "two dots", "absolute", "monorepo", "src", "capitals", "backslashes"],
)
@pytest.mark.parametrize("beside", ["", "docs/a.md"])
def test_code_of_vllm_below_another_folder_is_refused(tmp_path: Path, place: str, beside: str) -> None:
    """A diff that was not made at the top of vLLM's repository holds code that nothing would measure, and must not pass."""
    path = f"{place}a.py"
    lines = f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-A = 1\n+A = 2\n"
    with pytest.raises(BadInput, match=r"make the diff there: git diff main -- vllm > my\.diff"):
        parted(tmp_path, (headed(beside) if beside else "") + lines)


def test_a_repository_that_has_vllm_in_a_folder_is_refused(repo: Path, tmp_path: Path) -> None:
    """A branch of a monorepo changes vLLM's code below another folder; Python of a folder that nobody knows is told, and not refused."""
    (repo / "mine").mkdir()
    (repo / "mine" / "a.py").write_text("A = 1\n")
    commit(repo, "mine")
    assert of_branch(repo, "HEAD~1", "HEAD", tmp_path)[0].astray == ("mine/a.py",)
    (repo / "third_party" / "vllm" / "vllm").mkdir(parents=True)
    (repo / "third_party" / "vllm" / "vllm" / "a.py").write_text("A = 1\n")
    commit(repo, "third party")
    with pytest.raises(BadInput, match=r"third_party/vllm/vllm/a\.py lies in no folder of vLLM's repository"):
        of_branch(repo, "HEAD~1", "HEAD", tmp_path)
