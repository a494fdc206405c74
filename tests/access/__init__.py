"""Access tokens, requests for them, and what they allow."""
