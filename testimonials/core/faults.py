"""One boundary for each parser: what strangers write wrongly is refused, whatever breaks by it."""

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zipfile import BadZipFile

# What a parser raises that meets bytes or values of another form than it reads: UnicodeError is a
# ValueError, KeyError and IndexError are LookupErrors, OverflowError is an ArithmeticError, and
# RecursionError and NotImplementedError are RuntimeErrors. Not MemoryError and OSError, which say
# something about this machine.
FAULTS = (
    ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, RuntimeError, TypeError,
    ValueError, struct.error, zlib.error,
)  # fmt: skip


@contextmanager
def refusing(refuse: Callable[[Exception], Exception], *more: type[Exception]) -> Iterator[None]:
    """Raise what `refuse` makes of any fault, or of an exception in `more`; also a decorator.

    Limits stay with the parser: this can only say that something is wrong.
    """
    caught: tuple[type[Exception], ...] = (*FAULTS, *more)
    try:
        yield
    except caught as fault:
        # The fault stays visible to who debugs, as the cause.
        raise refuse(fault) from fault
