"""The Model Context Protocol: the service's operations as tools for language models."""
