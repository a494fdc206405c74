"""Mail: written in a transaction, sent in the background."""
