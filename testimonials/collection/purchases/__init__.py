"""Links that prove a purchase."""
