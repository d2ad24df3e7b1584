"""What comes in: score matrices, class names and labels, checked once, and the transforms applied to scores."""
