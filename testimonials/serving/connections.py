"""Limits on a worker's connections: how long each may take, and which is closed to make room.

Clients decide how fast they send and read. A slow one must not occupy a thread, and no number of
slow or idle ones may keep others out.
"""

from collections import Counter
from ipaddress import IPv6Address
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ThreadedTaskDispatcher

from testimonials.core.url_rules import remove_base_path

# How often connections are checked.
LOOK_SECONDS = 1.0
# A request's head may take ten seconds; its first byte is noticed within one.
HEAD_SECONDS = 10.0 - LOOK_SECONDS
# A body may take this long, and a second more for every 500 bytes received.
BODY_SECONDS, BODY_BYTES_PER_SECOND = 20.0, 500
# How long a client may go without reading any of its response.
STALLED_SECONDS = 30.0
# One network may have a tenth of a worker's connections, unless it is a proxy's.
SHARE = 10
# Each probe has its own thread, since all others may be waiting for the database.
PROBES = ("/healthz", "/readyz")


class BoundedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that is closed when it takes too long, or to make room for another."""

    # The request being read at the last check, and when it was first seen.
    _watched: object = None
    _watched_since = 0.0

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        super().__init__(server, sock, addr, adj, map=map)
        self.network = network_of(addr[0])
        if len(server.active_channels) > server.network_share:
            self._make_room()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        return not (self.requests or self.request or self.total_outbufs_len)

    def is_overdue(self, now: float) -> bool:
        """Return whether it has taken too long; call this every `LOOK_SECONDS`."""
        if self.will_close:
            # Waitress would wait until the client reads.
            return True
        if self.requests:
            return False
        if self.total_outbufs_len:
            return bool(now - self.last_activity > STALLED_SECONDS)
        request = self.request
        if request is not self._watched:
            self._watched, self._watched_since = request, now
        if request is None:
            # Idle: waitress closes it after its `channel_timeout`.
            return False
        taken = now - self._watched_since
        if not request.headers_finished:
            return taken > HEAD_SECONDS
        return bool(taken > BODY_SECONDS + request.body_bytes_received / BODY_BYTES_PER_SECOND)

    def _make_room(self) -> None:
        """If this connection is one too many, close one that has no running request."""
        server = self.server
        others = [each for each in server.active_channels.values() if each is not self]
        waiting = [each for each in others if not each.requests]
        if sum(each.network == self.network for each in others) >= server.network_share:
            victims = [each for each in waiting if each.network == self.network] or [self]
        elif len(others) >= server.most_connections:
            # From the network with the most, so that a few can't push out everyone else.
            sizes = Counter(each.network for each in (*others, self))
            fullest = max((each.network for each in (*waiting, self)), key=sizes.__getitem__)
            victims = [each for each in (*waiting, self) if each.network == fullest]
        else:
            return
        min(victims, key=lambda each: each.last_activity).handle_close()

    def _flush_outbufs_below_high_watermark(self) -> None:
        # Waitress would block the thread until the client has read. Only a client that sends many
        # requests at once and reads no response gets here.
        if self.total_outbufs_len > self.adj.outbuf_high_watermark:
            self.will_close, self.connected = True, False


class Tasks(ThreadedTaskDispatcher):  # type: ignore[misc]
    """The threads that answer requests, and one more for each probe."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.set_thread_count(threads)
        self._probes = {path: ThreadedTaskDispatcher() for path in PROBES}
        for probe in self._probes.values():
            probe.set_thread_count(1)

    def add_task(self, channel: BoundedChannel) -> None:
        # A malformed request has no path.
        path = getattr(channel.requests[0], "path", "")
        path = remove_base_path(path, channel.server.base_path)
        if path in PROBES:
            self._probes[path].add_task(channel)
        else:
            super().add_task(channel)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        for probe in self._probes.values():
            probe.shutdown(cancel_pending, timeout)
        return bool(super().shutdown(cancel_pending, timeout))


def network_of(host: str) -> str | bytes:
    """Return the network that one customer usually has: an IPv4 address, or an IPv6 /64."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped) if address.ipv4_mapped else address.packed[:8]
