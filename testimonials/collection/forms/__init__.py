"""A project's further forms, each with an address, words, questions and a tag of its own."""
