"""The paper's importance weights: boxes around them, point estimates, and rejection sampling with them."""
