"""Plans and the payment provider's events."""
