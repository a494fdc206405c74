"""Mail: queued in a transaction, sent in the background."""
