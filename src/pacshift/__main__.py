"""``python -m pacshift``: the same as the ``pacshift`` command."""

from pacshift_command import main

if __name__ == "__main__":
    main()
