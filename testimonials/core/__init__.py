"""What every feature builds on; knows no feature itself."""
