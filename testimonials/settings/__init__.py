"""The settings: typed, checked when the program starts."""
