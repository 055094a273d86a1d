"""One file per verb, each with a click command named `command`; imported by mbdfmu/cli/__init__.py when asked for."""
