"""A Label Studio server of its own on this machine, and people who use it over its API."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

PATIENCE = 900  # seconds: a first start makes the database, which takes long on a busy machine
PASSWORD = "not a secret"
HIDDEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@contextmanager
def server(command: str) -> Iterator[str]:
    """Address of a server with an empty database, which ends with the context."""
    found = shutil.which(command)
    if found is None:
        raise SystemExit(f"There is no command {command}.")
    with tempfile.TemporaryDirectory(prefix="label-studio-") as place:
        port = _free_port()
        address = f"http://127.0.0.1:{port}"
        log = Path(place) / "log"
        call = [
            str(Path(found).absolute()),
            "start",
            "--no-browser",
            "--internal-host",
            "127.0.0.1",
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*call, "--port", str(port)],
                cwd=place,
                env=_environment(place),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                _wait_for(address, process, log)
                yield address
            finally:
                process.terminate()
                process.wait(60)


def _environment(place: str) -> dict[str, str]:
    """The environment of a server that keeps everything in one place and calls nobody."""
    quiet = {
        "LABEL_STUDIO_BASE_DATA_DIR": place,
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "COLLECT_ANALYTICS": "false",
        "FRONTEND_SENTRY_DSN": "",
        "SENTRY_DSN": "",
        "SSRF_PROTECTION_ENABLED": "false",  # else no webhook may call this machine
    }
    return os.environ | quiet


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"Label Studio ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            build_opener().open(f"{address}/health", timeout=10).close()
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(1)
        else:
            return
    raise SystemExit(f"Label Studio did not start within {PATIENCE} seconds.")


class Person:
    """Somebody with an account, who signs up with an address and a password as people do."""

    def __init__(self, address: str, email: str) -> None:
        self.address, self.email = address, email
        self.cookies = CookieJar()
        self.opener: OpenerDirector = build_opener(HTTPCookieProcessor(self.cookies))
        self._sign_up()

    def _sign_up(self) -> None:
        page = self.opener.open(f"{self.address}/user/signup/").read().decode()
        token = HIDDEN.search(page)
        if token is None:
            raise SystemExit("Label Studio's page to sign up is not as expected.")
        form = {
            "email": self.email,
            "password": PASSWORD,
            "csrfmiddlewaretoken": token.group(1),
            "allow_newsletters": "false",
        }
        headers = {"Referer": f"{self.address}/user/signup/"}
        url = f"{self.address}/user/signup/"
        self.opener.open(Request(url, urlencode(form).encode(), headers)).close()

    def get(self, path: str) -> Any:
        """What the API says at this path."""
        return json.loads(self.content(path))

    def content(self, path: str) -> bytes:
        """The bytes at this path."""
        return bytes(self._call(Request(f"{self.address}{path}")))

    def post(self, path: str, body: Any) -> Any:
        """What the API answers to this body."""
        return self._send("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """What the API answers to this change."""
        return self._send("PATCH", path, body)

    def delete(self, path: str) -> Any:
        """What the API answers when this is to be gone."""
        return self._send("DELETE", path, {})

    def _send(self, method: str, path: str, body: Any) -> Any:
        token = next((c.value for c in self.cookies if c.name == "csrftoken"), None) or ""
        headers = {
            "Content-Type": "application/json",
            "X-CSRFToken": token,
            "Referer": f"{self.address}/",
        }
        data = json.dumps(body).encode()
        answer = self._call(Request(f"{self.address}{path}", data, headers, method=method))
        return json.loads(answer) if answer else None

    def _call(self, request: Request) -> bytes:
        try:
            with self.opener.open(request) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            said = error.read().decode(errors="replace")[:500]
            raise SystemExit(
                f"{request.get_method()} {request.full_url}: {error.code} {said}"
            ) from None
