"""Everything that needs torch: networks, the training loop, checkpoints. Imported only for training."""
