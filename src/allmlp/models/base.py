"""The interface of every architecture, and of every token mixer in a backbone."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

from torch import Tensor, nn

from allmlp.common.errors import UserError
from allmlp.models.ragged import RaggedLayout, select_rows


class LinearHead(NamedTuple):
    """A linear map to logits, h -> W h + b: weight (V, D), bias (V,) or none."""

    weight: Tensor
    bias: Tensor | None = None


class SequenceModel(nn.Module, ABC):
    """tokens (B, T) int64 -> logits: (B, T, V) if it predicts "all" positions, (B, V) if only the "last".

    If `features` is a number, the input is T patches of that many floats: (B, T, features).
    EMBEDDINGS: part ("token_embedding", "positions", "unembedding") -> the weights that grow with vocabulary or
    context, so that counts can leave them out. If `pad` is a token, padding at the left of a row changes no prediction
    for the rest. LEAKS: the audit's checks that an architecture fails as published, and why.
    """

    causal: ClassVar[bool] = False  # True: a position's prediction depends on no later one, and the model generates
    predicts: ClassVar[Literal["all", "last"]]
    family: ClassVar[str]
    EMBEDDINGS: ClassVar[dict[str, str]]
    LEAKS: ClassVar[dict[str, str]] = {}

    vocabulary: int
    context: int
    features: int | None = None
    pad: int | None = None

    @abstractmethod
    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The input of the unembedding: (B, T, D), or (B, D) where only the last token is predicted."""

    def select_hidden_states(self, tokens_BT: Tensor, at: Tensor) -> Tensor:
        """`hidden(tokens)[at]`: (N, D), for `at` bool, (B, T) or (B,). An architecture may compute no others."""
        return select_rows(self.hidden(tokens_BT), at)

    def linear_head(self) -> LinearHead | None:
        """The linear map from `hidden` to logits, by the model's own weights; None if logits are made in another way.

        By default the nn.Linear named `unembedding`: an architecture whose logits are not its output overrides this.
        """
        unembedding = getattr(self, "unembedding", None)
        return LinearHead(unembedding.weight, unembedding.bias) if isinstance(unembedding, nn.Linear) else None

    def check_length(self, length: int, exactly: bool = False) -> None:
        """UserError unless a sequence of `length` tokens fits the context (fills it, with `exactly`)."""
        if length > self.context or (exactly and length != self.context):
            needs = "exactly" if exactly else "at most"
            raise UserError(
                f"{type(self).__name__} reads {needs} {self.context} tokens and was given {length}: "
                f"build it with context={length}, or give it other sequences"
            )


class TokenMixer(nn.Module, ABC):
    """A layer through which one position reads others: x (B, T, D) -> (B, T, D), T <= context.

    Every mixer is built as `Mixer(d_model, context, **options)`. Its last linear map is named `out`: the backbone
    initialises it smaller. A causal mixer also generates: `state = start(x_BD)`, then `step` once a token.
    """

    causal: bool = True

    @abstractmethod
    def __init__(self, d_model: int, context: int, **options: Any) -> None:
        super().__init__()
        self.d_model, self.context = d_model, context

    @abstractmethod
    def forward(self, x_BTD: Tensor) -> Tensor:
        """All positions at once."""

    def mix_rows(self, x_ND: Tensor, ragged: RaggedLayout) -> Tensor:
        """The same where only some positions are computed; a mixer may do a part of it on the rows alone."""
        return ragged.rows(self(ragged.lay_out_rows(x_ND)))

    @abstractmethod
    def start(self, like_BD: Tensor) -> Any:
        """The memory of an empty past, for the batch size, device and type of `like_BD`."""

    @abstractmethod
    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One more token: (output (B, D) equal to the last row of `forward`, the memory that follows)."""


class BidirectionalMixer(TokenMixer):
    """A mixer in which every position reads all positions; it cannot generate."""

    causal = False

    def start(self, like_BD: Tensor) -> Any:
        raise UserError(f"{type(self).__name__} is not causal: it cannot generate token after token")

    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self.start(x_BD)
