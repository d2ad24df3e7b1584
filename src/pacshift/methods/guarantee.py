"""What a guarantee promises."""


def promises_target(guarantee: str) -> bool:
    """Whether anything is promised about the target."""
    return guarantee in ("pac-target", "marginal")
