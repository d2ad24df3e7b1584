"""PS-LP, module by module in the order of its proof page (docs/methods/ps-lp.md)."""
