"""Tests of the Integrations page."""
