"""The schema's history, and how it is carried out; shipped inside the package."""
