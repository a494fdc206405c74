"""Writes the documents that are made from the program into a folder."""

import sys
from pathlib import Path

from tests.contracts.documents import write_documents

write_documents(Path(sys.argv[1]))
