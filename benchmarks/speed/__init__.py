"""Time and memory of the slow paths of the library, beside their floors and peers."""
