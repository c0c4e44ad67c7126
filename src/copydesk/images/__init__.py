"""Images: accepted formats, download, storage, generation, and conversion to what a platform accepts."""
