"""One residual backbone for every architecture that differs only in its token mixer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from allmlp.errors import UserError
from allmlp.models.base import SequenceModel, TokenMixer
from allmlp.models.layers import FeedForward, check_positive, initialise_normal

Norm = Callable[[], nn.Module]
# (d_model, context) -> mixer: a mixer's class with its options bound
Mixer = Callable[[int, int], TokenMixer]


@dataclass(frozen=True)
class State:
    """The memory of a model that has read `position` tokens: one entry per block."""

    position: int
    blocks: tuple[Any, ...]


class Block(nn.Module):
    """x + mixer(norm(x)), then, where there is one, x + feed_forward(norm(x)): (B, T, D) -> (B, T, D)."""

    def __init__(self, mixer: TokenMixer, feed_forward: FeedForward | None, norm: Norm) -> None:
        super().__init__()
        self.norm, self.mixer = norm(), mixer
        self.feed_forward = feed_forward
        self.feed_forward_norm = norm() if feed_forward is not None else None

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self._feed(x_BTD + self.mixer(self.norm(x_BTD)))

    def start(self, like_BD: Tensor) -> Any:
        return self.mixer.start(like_BD)

    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        mixed_BD, state = self.mixer.step(self.norm(x_BD), state)
        return self._feed(x_BD + mixed_BD), state

    def _feed(self, x: Tensor) -> Tensor:
        if self.feed_forward is None or self.feed_forward_norm is None:
            return x
        return x + self.feed_forward(self.feed_forward_norm(x))


class Backbone(SequenceModel):
    """Token and position embedding, residual blocks, final norm, unembedding without bias.

    Weights: linear maps N(0, 0.02), those that write into the residual stream divided by the square root of
    the number of residual connections, biases zero, embeddings N(0, embedding_std) (002 App. D; GPT-2).
    """

    predicts: ClassVar[Literal["all", "last"]] = "all"
    EMBEDDINGS: ClassVar[dict[str, str]] = {
        "token_embedding": "wte.weight",
        "positions": "wpe.weight",
        "unembedding": "unembedding.weight",
    }

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        n_blocks: int,
        *,
        mixer: Mixer,
        norm: Norm,
        feed_forward: Callable[[], FeedForward] | None = None,
        embedding_std: float = 1.0,
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        self.vocabulary, self.context = vocabulary, context
        self.wte, self.wpe = nn.Embedding(vocabulary, d_model), nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(
            Block(mixer(d_model, context), feed_forward() if feed_forward else None, norm) for _ in range(n_blocks)
        )
        self.norm = norm()
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)
        initialise_normal(self, std=0.02, residual_connections=n_blocks * (2 if feed_forward else 1))
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=embedding_std)

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The residual stream after the final norm: (B, T, D); (B, D) if only the last token is predicted."""
        T = tokens_BT.shape[1]
        self.check_length(T)
        x_BTD = self.wte(tokens_BT) + self.wpe.weight[:T]
        for block in self.blocks:
            x_BTD = block(x_BTD)
        return self.norm(x_BTD[:, -1] if self.predicts == "last" else x_BTD)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.unembedding(self.hidden(tokens_BT))

    def _chain(self) -> list[Block]:  # a ModuleList does not know the type of its items
        return [block for block in self.blocks if isinstance(block, Block)]

    def start(self, batch: int) -> State:
        """The memory before the first token of `batch` sequences. UserError if the model is not causal."""
        if not self.causal:
            raise UserError(f"{type(self).__name__} is not causal: it cannot generate token after token")
        like_BD = self.wte.weight.new_empty(batch, self.wte.embedding_dim)
        return State(0, tuple(block.start(like_BD) for block in self._chain()))

    def step(self, tokens_B: Tensor, state: State) -> tuple[Tensor, State]:
        """One more token each: logits (B, V), equal to the last row of the full pass, and the new memory."""
        self.check_length(state.position + 1)
        x_BD = self.wte(tokens_B) + self.wpe.weight[state.position]
        memories = []
        for block, memory in zip(self._chain(), state.blocks, strict=True):
            x_BD, memory = block.step(x_BD, memory)
            memories.append(memory)
        return self.unembedding(self.norm(x_BD)), State(state.position + 1, tuple(memories))
