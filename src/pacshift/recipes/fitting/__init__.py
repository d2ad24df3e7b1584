"""Everything that needs torch: networks, the training loop, checkpoints. Imported only by ``pacshift train``."""
