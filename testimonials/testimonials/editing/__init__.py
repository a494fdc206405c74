"""One testimonial in the API: reading, editing, its photo, the trash."""
