"""Who may call the API: the account's key, and access tokens with scopes."""
