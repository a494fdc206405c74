"""Repeated faults: logged once a minute, with a count."""

import logging
import threading

SECONDS = 60.0
# More kinds at once are not counted, because each has a timer, which is a thread.
MAX_FAULTS = 50


class RepeatFilter(logging.Filter):
    """Passes a fault on, counts those like it for a minute, and then logs their number.

    Otherwise an outage of the database would fill the disk with a traceback for each request.
    """

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler
        self._counts: dict[object, int] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        fault = _fault_of(record)
        if fault is None:
            return True
        with self._lock:
            if fault in self._counts:
                self._counts[fault] += 1
                return False
            if len(self._counts) >= MAX_FAULTS:
                return True
            self._counts[fault] = 0
        timer = threading.Timer(SECONDS, self._tell, (fault, record))
        timer.daemon = True
        timer.start()
        return True

    def _tell(self, fault: object, record: logging.LogRecord) -> None:
        with self._lock:
            count = self._counts.pop(fault)
        if count:
            words = f"{count} more like this within {SECONDS:g} s: {record.getMessage()}"
            values = {"name": record.name, "levelno": record.levelno, "msg": words}
            told = logging.makeLogRecord(values | {"levelname": record.levelname})
            self._handler.handle(told)


def _fault_of(record: logging.LogRecord) -> object:
    """Return what identifies a fault, None for a record that is not one."""
    if fault := getattr(record, "fault", None):
        return record.name, record.msg, fault
    if not record.exc_info or record.exc_info[1] is None:
        return None
    error = record.exc_info[1]
    return record.name, record.msg, type(error), str(error).partition("\n")[0]
