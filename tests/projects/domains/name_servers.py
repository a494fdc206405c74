"""A name server with records of the test's own: dnsmasq."""

import shutil
import socket
import subprocess
from typing import Self

from tests.support.servers import PATIENCE, free_port, wait_for


class NameServer:
    """dnsmasq on a port of 127.0.0.1, over UDP and TCP, which answers from `records` alone."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def say(self, *records: str) -> None:
        """Answer with these records from now on, written as dnsmasq's options without dashes."""
        self.stop()
        program = shutil.which("dnsmasq", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        assert program is not None, "dnsmasq is not installed; scripts/test installs it."
        here = ("listen-address=127.0.0.1", f"port={self.port}", "bind-interfaces")
        quiet = ("no-hosts", "no-resolv", "conf-file=/dev/null", "pid-file=", "user=")
        fixed = ("keep-in-foreground", "local=/example/", *here, *quiet)
        options = [f"--{each}" for each in (*fixed, *records)]
        self._process = subprocess.Popen([program, *options])
        wait_for(self._answers, what="dnsmasq")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None
        with socket.socket() as link:
            return link.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()
