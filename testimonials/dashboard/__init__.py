"""The owner's pages; thin, since they call the features' services."""
