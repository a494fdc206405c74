"""What goes in and out as files: archives of projects and accounts, tables of testimonials."""
