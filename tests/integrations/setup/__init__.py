"""Tests of PUT /v1/setup."""
