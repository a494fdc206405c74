"""Finding testimonials by words, by an index that the database keeps."""
