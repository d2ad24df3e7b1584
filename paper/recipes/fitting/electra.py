"""The Electra classifier of the paper: model and word pieces come from a folder that ``weights`` names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from paper.recipes.encode import Inputs
from paper.recipes.raw.data import BoolArray

MAX_PIECES = 128
"""Longer articles are cut: ours, the paper does not say."""


class ElectraClassifier(nn.Module):
    """The sequence classifier of the transformers library, as a network from arrays to logits."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Logits of a batch of texts."""
        logits: Tensor = self.model(input_ids=pieces, attention_mask=mask).logits
        return logits


class PieceEncoder:
    """Texts as word pieces, padded to the longest of the batch."""

    def __init__(self, texts: Sequence[str], tokenizer: Any) -> None:
        self.broken: dict[str, str] = {}
        self._texts = texts
        self._tokenizer = tokenizer

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Word pieces and which of them are padding."""
        texts = [self._texts[row] for row in rows]
        made = self._tokenizer(texts, padding=True, truncation=True, max_length=MAX_PIECES, return_tensors="np")
        pieces, mask = (np.asarray(made[key], np.int64) for key in ("input_ids", "attention_mask"))
        return (pieces, mask), np.ones(len(rows), bool)


def load_electra(folder: Path, texts: Sequence[str], n_classes: int) -> tuple[ElectraClassifier, PieceEncoder]:
    """The pretrained model with a new head, never from the network."""
    from transformers import AutoTokenizer, ElectraForSequenceClassification
    from transformers.utils import logging

    if not (folder / "config.json").is_file():
        raise InputError(
            f"{folder}: no config.json. weights= must name a folder with a pretrained ELECTRA: config.json, the "
            "weights (model.safetensors) and the word pieces (vocab.txt or tokenizer.json)."
        )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = ElectraForSequenceClassification.from_pretrained(
            folder, num_labels=n_classes, local_files_only=True, ignore_mismatched_sizes=True
        )
    except (OSError, ValueError, KeyError) as error:
        line = str(error).split("\n")[0]
        raise InputError(f"{folder}: not a pretrained ELECTRA that transformers can load ({line}).") from error
    return ElectraClassifier(model), PieceEncoder(texts, tokenizer)
