"""A line to a server that can fall silent without being cut, as behind a router that forgot it."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Line:
    """Carries bytes both ways between its port and a server's."""

    listener: socket.socket
    server: int
    # Connections on which this has been said carry nothing any more.
    silenced: bytes | None = None
    sockets: list[socket.socket] = field(default_factory=list)
    # What the client of each has said.
    said: list[bytearray] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def silence(self, word: bytes) -> None:
        """Carry nothing more on connections on which the client says `word`, or has said it."""
        with self.changed:
            self.silenced = word

    def go_on(self) -> None:
        """Carry everything, and what was held up."""
        with self.changed:
            self.silenced = None
            self.changed.notify_all()

    def count(self, word: bytes) -> int:
        return sum(word in bytes(said) for said in self.said)

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server))
                self.sockets += [client, server]
                said = bytearray()
                self.said.append(said)
                for source, target in ((client, server), (server, client)):
                    arguments = source, target, said, source is client
                    threading.Thread(target=self._carry, args=arguments, daemon=True).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, said: bytearray, is_client: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if is_client:
                    said.extend(data)
                with self.changed:
                    self.changed.wait_for(
                        lambda: self.silenced is None or self.silenced not in bytes(said)
                    )
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.go_on()
        for each in (self.listener, *self.sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def lay_line(server: int) -> Iterator[Line]:
    line = Line(socket.create_server(("127.0.0.1", 0)), server)
    threading.Thread(target=line.run, daemon=True).start()
    try:
        yield line
    finally:
        line.close()
