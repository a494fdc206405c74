"""What is inside a recording's file, read from the file itself."""
