"""`python -m mbdfmu`: the command line; must not know any verb."""

from mbdfmu.cli import main

if __name__ == "__main__":
    main()
