"""Setting texts of any script in lines, with fonts of our own."""
