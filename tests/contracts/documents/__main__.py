"""Writes the generated documents."""

from tests.contracts.documents import DOCS, write_documents

write_documents(DOCS)
