"""How an account remembers an address that wants no mail: by a hash alone."""

import hashlib


def hash_email(account_id: str, email: str) -> str:
    """Return the hash under which an account keeps an address; other accounts keep another."""
    return hashlib.sha256(f"{account_id}:{email}".encode("utf-8", "surrogatepass")).hexdigest()
