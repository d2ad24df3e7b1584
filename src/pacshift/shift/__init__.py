"""What the boxes say about the shift: weights by elimination or linear programs, and point estimates."""
