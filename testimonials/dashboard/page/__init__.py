"""The page editor: how the collection page looks, what it asks, what comes after; and its forms."""
