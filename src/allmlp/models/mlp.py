"""The vanilla MLP of 000: a window of T tokens in, the next token out."""

from typing import ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.base import SequenceModel
from allmlp.models.layers import check_eps, check_positive

RECIPE = 1


class NormedLinear(nn.Module):
    """LayerNorm(W x + b), norm and bias optional: 000 puts a norm after every linear layer."""

    def __init__(self, linear: nn.Linear, norm: bool, eps: float) -> None:
        super().__init__()
        self.linear = linear
        self.norm = nn.LayerNorm(linear.out_features, eps=eps) if norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.linear(x))


class MLPBlock(nn.Module):
    """x + norm(W_2 ReLU(norm(W_1 x))): (B, D) -> (B, D) through d_mlp hidden neurons."""

    def __init__(self, d_model: int, d_mlp: int, bias: bool, norm: bool, eps: float) -> None:
        super().__init__()
        self.expand = NormedLinear(nn.Linear(d_model, d_mlp, bias=bias), norm, eps)
        self.contract = NormedLinear(nn.Linear(d_mlp, d_model, bias=bias), norm, eps)

    def forward(self, x_BD: Tensor) -> Tensor:
        return x_BD + self.contract(F.relu(self.expand(x_BD)))


class LastTokenMLP(SequenceModel):
    """Embeddings side by side, a linear layer to d_model neurons, residual blocks, unembedding (000 Fig. 2).

    tokens (B, T) -> logits (B, V) of token T + 1, T = context exactly. `first.weight[j].reshape(T, D)` is
    neuron j of the first hidden layer, which 000-5 to 000-11 analyse; its ReLU makes it a hidden layer, of
    which 000 counts three. PyTorch's default initial weights, also for embeddings (N(0, 1)) unless
    `embedding_std` is given. At T 15, d_model 512 and d_mlp 16,384 it has 37,589,504 weights without
    embeddings, 37,520,896 with `norm=False`, and 37,486,592 with `bias=False` too.
    """

    predicts: ClassVar[Literal["all", "last"]] = "last"
    family: ClassVar[str] = "all-MLP"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "embedding.weight", "unembedding": "unembedding.weight"}

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        d_mlp: int,
        n_blocks: int = 2,
        bias: bool = True,
        norm: bool = True,
        eps: float = 1e-5,
        embedding_std: float | None = None,
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, d_mlp=d_mlp, n_blocks=n_blocks)
        check_eps(eps)
        self.vocabulary, self.context = vocabulary, context
        self.embedding = nn.Embedding(vocabulary, d_model)
        if embedding_std is not None:
            nn.init.normal_(self.embedding.weight, std=embedding_std)
        self.first = nn.Linear(context * d_model, d_model, bias=bias)
        self.first_norm = nn.LayerNorm(d_model, eps=eps) if norm else nn.Identity()
        self.blocks = nn.Sequential(*(MLPBlock(d_model, d_mlp, bias, norm, eps) for _ in range(n_blocks)))
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The input of the unembedding, (B, D)."""
        self.check_length(tokens_BT.shape[1], exactly=True)
        return self._hidden_of_embeddings(self.embedding(tokens_BT))

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.unembedding(self.hidden(tokens_BT))

    def from_embeddings(self, x_BTD: Tensor) -> Tensor:
        """Logits (B, V) for arbitrary embeddings, such as zeros and a neuron's slice (000-11)."""
        self.check_length(x_BTD.shape[1], exactly=True)
        return self.unembedding(self._hidden_of_embeddings(x_BTD))

    def _hidden_of_embeddings(self, x_BTD: Tensor) -> Tensor:
        return self.blocks(F.relu(self.first_norm(self.first(x_BTD.flatten(1)))))
