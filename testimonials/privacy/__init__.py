"""What is kept of people, for how long, and that what was erased stays so."""
