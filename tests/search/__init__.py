"""The standing search: random models, and ways to run each that must agree."""
