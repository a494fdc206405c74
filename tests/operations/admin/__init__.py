"""Tests of the operator's part."""
