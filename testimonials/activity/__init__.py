"""The one record of what happened: who did what to an account, from where, and when."""
