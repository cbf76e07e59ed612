"""001's autoencoder: how much of all earlier tokens is in a mixer's last hidden state."""

from functools import partial
from typing import ClassVar, Literal

from torch import Tensor, nn

from allmlp.models.backbone import Block
from allmlp.models.base import SequenceModel
from allmlp.models.layers import FeedForward, check_positive, mlp_width
from allmlp.models.masked_mixing import Mixing

RECIPE = 1


class MixerAutoencoder(SequenceModel):
    """tokens (B, T) -> logits (B, T, V) of the same tokens, through one vector of d_model numbers (001-26).

    encoder  embedding N(0, 1), `n_blocks` flat masked mixers (LayerNorm, mixing; LayerNorm, GELU x 4)
    code     the last position's hidden state, which has seen every token: `embedding(tokens)`, (B, D)
    decoder  the code at every position, `n_blocks` masked mixers, unembedding without bias

    As in the published code the decoder's mask is triangular too, and its rows differ by position alone. The model is
    not causal: every prediction may depend on every token. The task `autoencode` trains it with its inputs as targets.
    Every sequence must have the length of training, because the code is read at the last position.
    """

    predicts: ClassVar[Literal["all", "last"]] = "all"
    family: ClassVar[str] = "all-MLP"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight", "unembedding": "unembedding.weight"}

    def __init__(self, vocabulary: int, context: int, d_model: int, n_blocks: int, d_mlp: int | None = None) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        d_mlp = mlp_width(d_model, d_mlp)
        self.vocabulary, self.context = vocabulary, context
        norm = partial(nn.LayerNorm, d_model)

        def blocks() -> nn.Sequential:
            return nn.Sequential(
                *(Block(Mixing(d_model, context), FeedForward(d_model, d_mlp), norm) for _ in range(n_blocks))
            )

        self.wte = nn.Embedding(vocabulary, d_model)
        self.encoder, self.decoder = blocks(), blocks()
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)

    def embedding(self, tokens_BT: Tensor) -> Tensor:
        """The code, (B, D): the encoder's last hidden state."""
        self.check_length(tokens_BT.shape[1])
        return self.encoder(self.wte(tokens_BT))[:, -1]

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The input of the unembedding, (B, T, D)."""
        code_BD = self.embedding(tokens_BT)
        return self.decoder(code_BD[:, None].expand(-1, tokens_BT.shape[1], -1))

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.unembedding(self.hidden(tokens_BT))
