"""Diffs: every form that git and pull requests give is read, and applied exactly or not at all."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.builds.overlays.hunks import split
from perfproof.builds.overlays.patched_files import Changed, changed
from perfproof.builds.overlays.unified_diff import read_diff, touched
from perfproof.model.base.errors import BadInput

LINES = "".join(f"line {n}\n" for n in range(1, 41))
EDITED = LINES.replace("line 20\n", "line twenty\n")


def unified(before: str, after: str, old: str = "a/vllm/x.py", new: str = "b/vllm/x.py", context: int = 3) -> str:
    """What difflib says, with the mark that it leaves out where a file ends without a line feed."""
    told = []
    for line in difflib.unified_diff(split(before), split(after), old, new, n=context):
        told.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(told)


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / "vllm" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def run(diff: str | bytes, root: Path) -> Changed:
    return changed(
        read_diff(diff if isinstance(diff, bytes) else diff.encode("utf-8", "surrogateescape"), "my.diff"), root, "my.diff", "base"
    )


def faults(diff: str | bytes, root: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        run(diff, root)
    return list(caught.value.faults)


# --- what is taken -------------------------------------------------------------------------------------------


def test_an_edit_is_applied(tmp_path: Path) -> None:
    """A plain unified diff gives the edited file, whatever its prefixes are."""
    root = tree(tmp_path, x=LINES)
    for old, new in (("a/vllm/x.py", "b/vllm/x.py"), ("vllm/x.py", "vllm/x.py"), ("i/vllm/x.py", "w/vllm/x.py")):
        assert run(unified(LINES, EDITED, old, new), root).files == {"vllm/x.py": EDITED.encode()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_edit_of_any_file_survives_the_way_through_a_diff(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever two texts differ in, and however much context there is, the diff of one and the other applied to one gives the other."""
    line = st.sampled_from(["", "x", "y", "    return 1", "é", "\x0c", "+++ b", "--- a", "@@ -1 +1 @@", "\\ No newline", "a\rb"])
    before = data.draw(st.lists(line, min_size=1, max_size=30).map("\n".join)) + data.draw(st.sampled_from(["", "\n"]))
    after = data.draw(st.lists(line, max_size=30).map("\n".join)) + data.draw(st.sampled_from(["", "\n"]))
    if before == after or not before:
        return
    root = tree(tmp_path, x=before)
    assert run(unified(before, after, context=data.draw(st.sampled_from([0, 1, 3]))), root).files == {"vllm/x.py": after.encode()}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(above=st.integers(0, 30), place=st.integers(5, 37))
def test_a_hunk_is_found_where_its_lines_have_moved_to(tmp_path: Path, above: int, place: int) -> None:
    """Lines added above a hunk move it, as git apply has it, and the move is reported."""
    wanted = LINES.replace(f"line {place}\n", "changed\n")
    more = "".join(f"more {n}\n" for n in range(above))
    root = tree(tmp_path, x=more + LINES)
    found = run(unified(LINES, wanted), root)
    assert found.files == {"vllm/x.py": (more + wanted).encode()}
    assert bool(found.moved) == bool(above)


def test_a_hunk_of_the_first_or_last_line_is_not_moved(tmp_path: Path) -> None:
    """As git has it: where the file begins or ends is part of what such a hunk expects."""
    for wanted, there in ((LINES.replace("line 1\n", "x\n"), "more\n" + LINES), (LINES.replace("line 40\n", "x\n"), LINES + "more\n")):
        assert "first or last line" in faults(unified(LINES, wanted), tree(tmp_path, x=there))[0]


def test_a_pull_requests_patch_is_taken(tmp_path: Path) -> None:
    """Several mails of format-patch in a row, two of them touching one file, are applied one after the other."""
    first, second = EDITED, EDITED.replace("line 22\n", "line twenty-two\n")
    head = "From {n} Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nDate: Mon, 1 Jun 2026\nSubject: [PATCH {n}/2] x\n\nWords.\n---\n"
    stat = " vllm/x.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
    two = ((1, LINES, first), (2, first, second))
    mails = [
        head.format(n=n) + stat + git("vllm/x.py", "index 1111111..2222222 100644", body=unified(a, b)) + "-- \n2.39.5\n\n"
        for n, a, b in two
    ]
    assert run("".join(mails), tree(tmp_path, x=LINES)).files == {"vllm/x.py": second.encode()}


def git(path: str, *header: str, body: str = "") -> str:
    """What git prints of one file."""
    return "".join(f"{line}\n" for line in (f"diff --git a/{path} b/{path}", *header)) + body


GIT_NEW = git("vllm/new.py", "new file mode 100644", "index 0000000..1111111", body=unified("", "A = 1\n", "/dev/null", "b/vllm/new.py"))
GIT_GONE = git("vllm/x.py", "deleted file mode 100644", "index 1111111..0000000", body=unified("A = 1\n", "", new="/dev/null"))
GIT_RENAME = "diff --git a/vllm/x.py b/vllm/y.py\nsimilarity index 100%\nrename from vllm/x.py\nrename to vllm/y.py\n"
GIT_COPY = "diff --git a/vllm/x.py b/vllm/y.py\nsimilarity index 100%\ncopy from vllm/x.py\ncopy to vllm/y.py\n"
GIT_EMPTY = "diff --git a/vllm/p/__init__.py b/vllm/p/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n"


def test_new_deleted_renamed_and_copied_files(tmp_path: Path) -> None:
    """Git's headers make, delete, rename and copy files; an empty file that is new is one."""
    root = tree(tmp_path, x="A = 1\n")
    assert run(GIT_NEW, root).files == {"vllm/new.py": b"A = 1\n"}
    assert run(GIT_GONE, root).files == {"vllm/x.py": None}
    assert run(GIT_RENAME, root).files == {"vllm/x.py": None, "vllm/y.py": b"A = 1\n"}
    assert run(GIT_COPY, root).files == {"vllm/y.py": b"A = 1\n"}
    assert run(GIT_EMPTY, root).files == {"vllm/p/__init__.py": b""}
    renamed = GIT_RENAME.replace("100%", "50%") + "--- a/vllm/x.py\n+++ b/vllm/y.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n"
    assert run(renamed, root).files == {"vllm/x.py": None, "vllm/y.py": b"A = 2\n"}


def test_diff_without_gits_headers_makes_and_deletes_files(tmp_path: Path) -> None:
    """`diff -ruN` says by the date of a file that it is not there."""
    root, never = tree(tmp_path, x="A = 1\n"), "1970-01-01 00:00:00.000000000 +0000"
    assert run(f"--- a/vllm/new.py\t{never}\n+++ b/vllm/new.py\t2026-01-01\n@@ -0,0 +1 @@\n+A = 1\n", root).files == {
        "vllm/new.py": b"A = 1\n"
    }
    assert run(f"--- a/vllm/x.py\t2026-01-01\n+++ b/vllm/x.py\t{never}\n@@ -1 +0,0 @@\n-A = 1\n", root).files == {"vllm/x.py": None}


def test_an_empty_file_that_is_there_gets_its_lines(tmp_path: Path) -> None:
    """A hunk that begins at line 0 fills a file that is empty in the base."""
    assert run(unified("", "A = 1\n"), tree(tmp_path, x="")).files == {"vllm/x.py": b"A = 1\n"}


def test_a_mode_is_not_a_change(tmp_path: Path) -> None:
    """A file made executable stays what it is beside a real change, and a diff of modes alone is refused."""
    mode = "diff --git a/vllm/x.py b/vllm/x.py\nold mode 100644\nnew mode 100755\n"
    root = tree(tmp_path, x=LINES)
    assert run(mode + unified(LINES, EDITED), root).files == {"vllm/x.py": EDITED.encode()}
    assert faults(mode, root) == ["my.diff: it changes no line of any file, only modes"]


def test_windows_line_ends(tmp_path: Path) -> None:
    """Line ends of Windows in a diff, in UTF-16 too, or in the file that it is applied to do not matter; the file keeps its own."""
    plain = unified(LINES, EDITED)
    root = tree(tmp_path, x=LINES)
    for diff in (plain.replace("\n", "\r\n").encode(), plain.replace("\n", "\r\n").encode("utf-16"), b"\xef\xbb\xbf" + plain.encode()):
        assert run(diff, root).files == {"vllm/x.py": EDITED.encode()}
    windows = tree(tmp_path / "w", x=LINES.replace("\n", "\r\n"))
    for diff in (plain, plain.replace("\n", "\r\n"), unified(LINES.replace("\n", "\r\n"), EDITED.replace("\n", "\r\n"))):
        assert run(diff, windows).files == {"vllm/x.py": EDITED.replace("\n", "\r\n").encode()}


def test_bytes_that_are_no_utf8_survive(tmp_path: Path) -> None:
    """A source in another encoding comes out as it went in."""
    before = b"# -*- coding: latin-1 -*-\nA = '\xe9'\nB = 1\n".decode("utf-8", "surrogateescape")
    found = run(unified(before, before.replace("B = 1", "B = 2")), tree(tmp_path, x=before))
    assert found.files == {"vllm/x.py": b"# -*- coding: latin-1 -*-\nA = '\xe9'\nB = 2\n"}


def test_what_a_diff_touches_is_known_without_a_base() -> None:
    """The files that a diff writes or removes are reported before anything is made."""
    assert touched(read_diff((GIT_NEW + GIT_RENAME).encode(), "my.diff")) == ("vllm/new.py", "vllm/x.py", "vllm/y.py")


# --- what does not apply -------------------------------------------------------------------------------------


def test_a_hunk_that_does_not_apply_says_where_it_nearly_would(tmp_path: Path) -> None:
    """The fault names diff, file and hunk, the line near which it would fit, and the first line that is otherwise."""
    other = LINES.replace("line 21\n", "line 21 changed here\n")
    (told,) = faults(unified(LINES, EDITED), tree(tmp_path, x="more\n" * 5 + other))
    assert told == (
        "my.diff: vllm/x.py: hunk 1 (line 17) does not apply: near line 22 there are 6 of the 7 lines that it expects; "
        "line 26 is 'line 21 changed here', expected 'line 21' (against base)"
    )


def test_a_change_that_is_there_already_is_reported(tmp_path: Path) -> None:
    """Where the base has the change, the fault says so, with the line."""
    (told,) = faults(unified(LINES, EDITED), tree(tmp_path, x=EDITED))
    assert told == "my.diff: vllm/x.py: hunk 1 (line 17) does not apply: its result is already at line 17 (against base)"


def test_a_file_that_is_not_what_the_diff_takes_it_for(tmp_path: Path) -> None:
    """A file that is missing, there already, or deleted in another state than it is in is reported; all of them at once."""
    root = tree(tmp_path, x=LINES, new="A = 3\n")
    missing = unified(LINES, EDITED, "a/vllm/none.py", "b/vllm/none.py")
    told = faults(missing + GIT_NEW + GIT_GONE.replace("A = 1", "line 1"), root)
    assert told == [
        "my.diff: vllm/none.py: vllm/none.py is not in this base (against base)",
        "my.diff: vllm/new.py: the diff creates this file, but the base has it already (against base)",
        "my.diff: vllm/x.py: the diff deletes this file, but not every line of it: the file differs here (against base)",
    ]


def test_nothing_of_another_file_fits(tmp_path: Path) -> None:
    """A hunk of which no line stands in the file says just that."""
    (told,) = faults(unified(LINES, EDITED), tree(tmp_path, x="a\nb\n"))
    assert "none of the 7 lines that it expects is in the file (2 lines)" in told


# --- what is refused -----------------------------------------------------------------------------------------


def test_files_outside_of_vllms_python_are_refused_by_name(tmp_path: Path) -> None:
    """C++, build files, data and tests are listed, with what to do instead."""
    outside = ["csrc/ops.cu", "CMakeLists.txt", "vllm/config.json", "tests/test_x.py", "vllm/_C.abi3.so", "myvllm/x.py", "vllm.py"]
    (told,) = faults("".join(unified("a\n", "b\n", f"a/{path}", f"b/{path}") for path in outside), tmp_path)
    assert all(path in told for path in outside)
    assert "kind 'editable'" in told
    (told,) = faults("".join(unified("a\n", "b\n", f"a/csrc/{n}.cu", f"b/csrc/{n}.cu") for n in range(50)), tmp_path)
    assert told.count(".cu") == 12
    assert "and 38 more" in told


@pytest.mark.parametrize(
    "path",
    [
        "../vllm/x.py",
        "vllm/../../x.py",
        "/etc/x.py",
        "vllm//x.py",
        "vllm/./x.py",
        "C:/vllm/x.py",
        "vllm\\..\\..\\x.py",
        "~/x.py",
        '"vllm/\\056\\056/x.py"',
        "vllm/..py/../x.py",
        "vllm/.hidden.py",
        "vllm/a b.py",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    """Dots, roots, drives, homes, backslashes and quoted names never get as far as a file."""
    for old, new in ((f"a/{path}", f"b/{path}"), (path, path)):
        assert (
            path.strip('"')[:5] in faults(unified("a\n", "b\n", old, new), tmp_path)[0]
            or "not a readable unified diff" in faults(unified("a\n", "b\n", old, new), tmp_path)[0]
        )
    assert faults(f"diff --git a/vllm/x.py b/{path}\nsimilarity index 100%\nrename from vllm/x.py\nrename to {path}\n", tmp_path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (f"vllm/{'a' * 300}.py", "is longer than a file system allows: 250 bytes a name"),
        (f"vllm/{'abcdefghij/' * 200}x.py", "is longer than a file system allows: 250 bytes a name, 1,000 in all"),
        ("vllm/v1.py/x.py", "leads through a folder that is named like a Python file"),
    ],
)
def test_a_path_that_no_file_can_have_is_refused_before_anything_is_made(tmp_path: Path, path: str, told: str) -> None:
    """It would only fail when the file is written, in the words of the file system, with a place of this machine."""
    (fault,) = faults(unified("a\n", "b\n", f"a/{path}", f"b/{path}"), tmp_path)
    assert told in fault
    assert len(fault) < 250


@settings(max_examples=200, deadline=None)
@given(path=st.text(st.sampled_from("vlm./\\~:ab\0 \"'"), min_size=1, max_size=24))
def test_no_path_of_a_diff_leads_out_of_vllm(path: str) -> None:
    """Whatever a path reads, a diff that is taken names only files that lie below vllm/."""
    for name in (path, f"vllm/{path}", f"vllm/{path}.py"):
        try:
            found = touched(read_diff(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n".encode(), "d"))
        except BadInput:
            continue
        assert all((Path("/base") / one).resolve().is_relative_to("/base/vllm") for one in found)


def test_links_submodules_and_binary_patches_are_refused(tmp_path: Path) -> None:
    """What an overlay can't do is reported for what it is."""
    new = unified("", "/etc/passwd", "/dev/null")
    link = git("vllm/x.py", "new file mode 120000", "index 0000000..1111111", body=new)
    edit = git("vllm/x.py", "index 0000000..1111111 120000", body=unified("a\n", "b\n"))
    module = git("vllm/x.py", "new file mode 160000", "index 0000000..1111111", body=new)
    binary = git("vllm/x.py", "index 1111111..2222222 100644", "Binary files a/vllm/x.py and b/vllm/x.py differ")
    literal = git("vllm/x.py", "index 1111111..2222222 100644", "GIT binary patch", "literal 3", "KcmZQz00000", "")
    root = tree(tmp_path, x="a\n")
    for diff, words in ((link, "symbolic link"), (edit, "symbolic link"), (module, "submodule"), (binary, "binary"), (literal, "binary")):
        assert words in faults(diff, root)[0]


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("", "it has no change"),
        ("Hello, this is no diff.\n", "this is no diff: expected a unified diff"),
        ("diff --cc vllm/x.py\nindex 1,2..3\n--- a/vllm/x.py\n+++ b/vllm/x.py\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined diff"),
        ("\x1b[1mdiff --git a/vllm/x.py b/vllm/x.py\x1b[m\n", "--no-color"),
        ("Content-Transfer-Encoding: base64\n\nZGlmZg==\n", "encoded mail"),
        ("--- a/vllm/x.py\n+++ b/vllm/x.py\n@@ -1,5 +1,5 @@\n-a\n+b\n", "not a readable unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "not a readable unified diff"),
        ("+++ b/vllm/x.py\n@@ -1 +1 @@\n-a\n+b\n", "not a readable unified diff"),
        ("\0\0\0\0", "this is no diff"),
    ],
)
def test_what_is_no_diff_is_reported(tmp_path: Path, diff: str, words: str) -> None:
    """A text that is no unified diff, or a cut one, is refused for what it is."""
    assert words in faults(diff, tmp_path)[0]


@settings(max_examples=300, deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=200), st.lists(st.sampled_from(split(GIT_NEW + GIT_GONE + GIT_RENAME)), max_size=20).map("".join).map(str.encode)
    )
)
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """Whatever a file holds, it is read or refused in words."""
    try:
        found = read_diff(data, "d")
    except BadInput:
        return
    assert found


def test_a_diff_of_thirty_megabytes_is_read(tmp_path: Path) -> None:
    """A large diff is taken in seconds, not minutes."""
    lines = "".join(f"+    value_{n} = {n}  # {'x' * 280}\n" for n in range(17_000))
    head = "diff --git a/vllm/big{n}.py b/vllm/big{n}.py\nnew file mode 100644\n--- /dev/null\n+++ b/vllm/big{n}.py\n@@ -0,0 +1,17000 @@\n"
    diff = "".join(head.format(n=n) + lines for n in range(6))
    assert len(diff) > 30_000_000
    assert len(run(diff, tmp_path).files) == 6


def test_a_diff_larger_than_any_that_is_meant_is_refused_before_it_is_read() -> None:
    """For a file of more than 64 MB the fault gives its size and how to make a smaller one."""
    with pytest.raises(BadInput) as told:
        read_diff(b"x" * 64_000_001, "my.diff")
    (fault,) = told.value.faults
    assert fault == (
        "my.diff: a diff may have up to 64 MB, this one has 64: limit it to vLLM's Python files (git diff BASE -- 'vllm/*.py')"
    )
