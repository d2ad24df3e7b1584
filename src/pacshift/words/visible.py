"""Where text from files and tables becomes words for people: names, notes, file names, what a certificate says.

A terminal obeys control characters, and others hide or turn around what stands beside them. So errors, warnings,
statements, tables and pages show such characters as escapes.
"""

JOINERS = "\u200c\u200d"
"""Invisible, yet part of Persian words and of emoji."""


def visible(text: object, *, keep: str = "") -> str:
    r"""The text with escapes for what cannot be seen; ``keep`` are other characters that stay, such as line ends.

    >>> visible("naïve \x1b[2J"), visible("two\nlines"), visible("two\nlines", keep="\n")
    ('naïve \\x1b[2J', 'two\\nlines', 'two\nlines')
    """
    kept = JOINERS + keep
    return "".join(char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in str(text))
