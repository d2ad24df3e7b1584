"""The two shallow models: the paper's two-layer network for answers, and a linear model of hashed words."""

from torch import Tensor, nn


def two_layer_network(n_answers: int, n_classes: int, hidden: int = 64) -> nn.Sequential:
    """One hidden layer; the paper does not say how wide."""
    return nn.Sequential(nn.Linear(n_answers, hidden), nn.ReLU(), nn.Linear(hidden, n_classes))


class HashedLinear(nn.Module):
    """One weight for each bucket and class; no intercept, since the classes are equally frequent."""

    def __init__(self, n_buckets: int, n_classes: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(n_buckets, n_classes, mode="sum")
        nn.init.zeros_(self.table.weight)

    def forward(self, buckets: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Logits of a batch of texts."""
        logits: Tensor = self.table(buckets, starts, per_sample_weights=weights)
        return logits
