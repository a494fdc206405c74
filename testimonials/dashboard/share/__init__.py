"""The Share page: embed code, links and QR codes."""
