"""Many visitors of one collection page at once, each with an address of their own."""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from tests.support.finding import find

Work = Callable[[http.client.HTTPConnection, int], None]


def form_token(page: str) -> str:
    return find(r'name="token" value="([^"]+)"', page)


@dataclass
class Visitors:
    """So many people before the page at `url`, behind one trusted proxy; numbers name them."""

    url: str
    count: int
    threads: int
    tokens: dict[int, str] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)

    def open_forms(self) -> float:
        return self._share(self._open, list(range(self.count)))

    def send_forms(self, times: int = 1) -> float:
        numbers = [number for number in range(self.count) for _ in range(times)]
        return self._share(self._send, numbers)

    def _open(self, connection: http.client.HTTPConnection, number: int) -> None:
        connection.request("GET", urlsplit(self.url).path, headers=_address(number))
        page = connection.getresponse().read().decode()
        self.tokens[number] = form_token(page)

    def _send(self, connection: http.client.HTTPConnection, number: int) -> None:
        form = {
            "text": words_of(number), "name": f"Visitor {number}", "consent": "yes",
            "token": self.tokens[number],
        }  # fmt: skip
        headers = _address(number) | {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", urlsplit(self.url).path, urlencode(form), headers)
        answer = connection.getresponse()
        answer.read()
        self.statuses.append(answer.status)

    def _share(self, work: Work, numbers: list[int]) -> float:
        """Share the numbers among the threads, in order; return how many were done in a second."""
        waiting, lock, problems = iter(numbers), threading.Lock(), []

        def run() -> None:
            host = urlsplit(self.url).netloc
            connection = http.client.HTTPConnection(host, timeout=60)
            try:
                while True:
                    with lock:
                        number = next(waiting, None)
                    if number is None:
                        return
                    work(connection, number)
            except Exception as error:
                problems.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=run) for _ in range(self.threads)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        return len(numbers) / (time.perf_counter() - begun)


def words_of(number: int) -> str:
    return f"Visitor number {number} was content with every single thing."


def _address(number: int) -> dict[str, str]:
    return {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
