"""PS-T: thresholds certified by labelled target rows alone, in the order of its page (docs/methods/ps-t.md)."""
