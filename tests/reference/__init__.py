"""Second implementations in plain NumPy, which the package is held against; must not import its numerics."""
