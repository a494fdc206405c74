"""The owner's side of proposals: comparing them with what is, and deciding."""
