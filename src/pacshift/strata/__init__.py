"""Label shift within strata, for users who know that their composition changed (docs/methods/strata.md)."""
