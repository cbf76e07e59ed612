"""Chains of blocks, and the residual backbone of every architecture that differs only in its token mixer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from torch import Tensor, nn

from allmlp.common.errors import UserError
from allmlp.models.base import SequenceModel, TokenMixer
from allmlp.models.layers import check_positive, initialise_normal
from allmlp.models.ragged import RaggedLayout, select_rows

Norm = Callable[[], nn.Module]
# one token alone, (..., D) -> (..., D); its linear map into the residual stream is named `out`
Feed = Callable[[], nn.Module]
# (d_model, context) -> mixer: a mixer's class with its options bound
Mixer = Callable[[int, int], TokenMixer]
Given = RaggedLayout | Tensor | None  # beside x, blocks take: which rows x has if not all, else which are left padding
Places = slice | Tensor  # positions in their sequence: of all (T,), or of the rows of a `RaggedLayout` (N,)


def ragged_layout(given: tuple[Given, ...]) -> RaggedLayout | None:
    """The layout of a block's rows, if it does not compute all positions."""
    return given[0] if given and isinstance(given[0], RaggedLayout) else None


@dataclass(frozen=True)
class State:
    """The memory of a model that has read `position` tokens: one entry per block; which were left padding, (B, t)."""

    position: int
    blocks: tuple[Any, ...]
    padding: Tensor | None = None


class Block(nn.Module):
    """x + mixer(norm(x)), then, where there is one, x + feed_forward(norm(x)): (B, T, D) -> (B, T, D).

    With a `RaggedLayout` only its rows: (N, D) -> (N, D). Otherwise `given` is what the mixer takes beside x.
    """

    def __init__(self, mixer: TokenMixer, feed_forward: nn.Module | None, norm: Norm) -> None:
        super().__init__()
        self.norm, self.mixer = norm(), mixer
        self.feed_forward = feed_forward
        self.feed_forward_norm = norm() if feed_forward is not None else None

    def forward(self, x: Tensor, *given: Given) -> Tensor:
        return self._feed(x + self._mix(x, *given))

    def start(self, like_BD: Tensor) -> Any:
        return self.mixer.start(like_BD)

    def step(self, x_BD: Tensor, state: Any, *given: Tensor | None) -> tuple[Tensor, Any]:
        mixed_BD, state = self.mixer.step(self.norm(x_BD), state, *given)
        return self._feed(x_BD + mixed_BD), state

    def _mix(self, x: Tensor, *given: Given) -> Tensor:
        ragged, x = ragged_layout(given), self.norm(x)
        if ragged is None:
            return self.mixer(x, *given)
        if isinstance(self.mixer, TokenMixer):
            return self.mixer.mix_rows(x, ragged)
        return ragged.rows(self.mixer(ragged.lay_out_rows(x)))  # a module of a user's own

    def _feed(self, x: Tensor) -> Tensor:
        if self.feed_forward is None or self.feed_forward_norm is None:
            return x
        return x + self.feed_forward(self.feed_forward_norm(x))


class Sizes(TypedDict):
    """The hyperparameters that every `Backbone` takes; an architecture passes them on as `**sizes: Unpack[Sizes]`."""

    vocabulary: int
    context: int
    d_model: int
    n_blocks: int


class Chain(SequenceModel):
    """Embedding, blocks one after the other, unembedding: of a whole sequence, or token after token. Causal.

    A block is a module with `start(like_BD)` and `step(x_BD, memory)`. Without `position_embedding` there is no `wpe`,
    and a model overrides EMBEDDINGS.
    """

    causal: ClassVar[bool] = True
    predicts: ClassVar[Literal["all", "last"]] = "all"
    EMBEDDINGS: ClassVar[dict[str, str]] = {
        "token_embedding": "wte.weight",
        "positions": "wpe.weight",
        "unembedding": "unembedding.weight",
    }

    wte: nn.Embedding
    wpe: nn.Embedding
    blocks: nn.ModuleList
    norm: nn.Module
    unembedding: nn.Module
    d_block: int  # the width of the blocks
    position_embedding: bool = True

    def embed(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        """The input of the first block for tokens at positions `first` and after: (B, T, D)."""
        x_BTD = self.wte(tokens_BT)
        return x_BTD + self.wpe.weight[first : first + tokens_BT.shape[1]] if self.position_embedding else x_BTD

    def next_block_input(self, x: Tensor, places: Places) -> Tensor:
        """A block's output -> the input of the next block, or of `read`: (B, T, D) or (N, D), at these positions."""
        return x

    def read(self, x: Tensor) -> Tensor:
        """The last block's output -> the input of the unembedding: (..., D)."""
        return self.norm(x)

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The input of the unembedding: (B, T, D); (B, D) if only the last token is predicted."""
        self.check_length(tokens_BT.shape[1])
        return self.run_blocks(self.embed(tokens_BT), *self.shared_inputs(tokens_BT))

    def shared_inputs(self, tokens_BT: Tensor) -> tuple[Given, ...]:
        """What every block takes beside x: nothing, unless an architecture overrides it."""
        return ()

    def run_blocks(self, x: Tensor, *given: Given) -> Tensor:
        """The same from the input of the first block; `given`: a further input of every block."""
        ragged = ragged_layout(given)
        places = ragged.places_N if ragged else slice(x.shape[1])
        for block in self.blocks:
            x = self.next_block_input(block(x, *given), places)
        return self.read(x[:, -1] if self.predicts == "last" else x)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.unembedding(self.hidden(tokens_BT))

    def chain(self) -> list[Any]:
        """The blocks, in order; a ModuleList does not know their type."""
        return list(self.blocks)

    def start(self, batch: int) -> State:
        """The memory before the first token of `batch` sequences. UserError if the model is not causal."""
        if not self.causal:
            raise UserError(f"{type(self).__name__} is not causal: it cannot generate token after token")
        like_BD = self.wte.weight.new_empty(batch, self.d_block)
        return State(0, tuple(block.start(like_BD) for block in self.chain()))

    def step(self, tokens_B: Tensor, state: State) -> tuple[Tensor, State]:
        """One more token each: logits (B, V), equal to the last row of the full pass, and the new memory."""
        return self._step(tokens_B, state)

    def _step(self, tokens_B: Tensor, state: State, *given: Tensor | None) -> tuple[Tensor, State]:
        self.check_length(state.position + 1)
        place = slice(state.position, state.position + 1)
        x_BD = self.embed(tokens_B[:, None], state.position)[:, 0]
        memories = []
        for block, memory in zip(self.chain(), state.blocks, strict=True):
            x_BD, memory = block.step(x_BD, memory, *given)
            x_BD = self.next_block_input(x_BD[:, None], place)[:, 0]
            memories.append(memory)
        return self.unembedding(self.read(x_BD)), State(state.position + 1, tuple(memories))


class Backbone(Chain):
    """Token and position embedding, residual blocks, final norm, unembedding without bias.

    Weights: linear maps N(0, linear_std), those that write into the residual stream divided by the square root of the
    number of residual connections where `scaled`, biases zero (002 App. D; GPT-2); with `linear_std=None` each layer's
    own, which are PyTorch's. Embeddings N(0, embedding_std).
    """

    BLOCK: ClassVar[type[Block]] = Block

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        n_blocks: int,
        *,
        mixer: Mixer,
        norm: Norm,
        feed_forward: Feed | None = None,
        embedding_std: float = 1.0,
        position_embedding: bool = True,
        final_norm: bool = True,
        linear_std: float | None = 0.02,
        scaled: bool = True,
        d_block: int | None = None,
    ) -> None:
        """`d_block`: the width of the blocks, d_model unless `embed` widens their input."""
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        d_block = d_model if d_block is None else d_block
        self.vocabulary, self.context, self.d_block = vocabulary, context, d_block
        self.wte, self.position_embedding = nn.Embedding(vocabulary, d_model), position_embedding
        if position_embedding:
            self.wpe = nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(
            self.BLOCK(mixer(d_block, context), feed_forward() if feed_forward else None, norm) for _ in range(n_blocks)
        )
        self.norm = norm() if final_norm else nn.Identity()
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)
        if linear_std is not None:
            connections = n_blocks * (2 if feed_forward else 1)
            initialise_normal(self, std=linear_std, residual_connections=connections if scaled else 1)
        for embedding in (self.wte, self.wpe) if position_embedding else (self.wte,):
            nn.init.normal_(embedding.weight, std=embedding_std)

    def select_hidden_states(self, tokens_BT: Tensor, at: Tensor) -> Tensor:
        """`hidden(tokens)[at]`: (N, D). A position on which none of these depends is not computed.

        Where an architecture overrides `hidden`, all are.
        """
        read_BT = self._positions_read(at, tokens_BT) if type(self).hidden is Chain.hidden else None
        if read_BT is None or read_BT.all() or not read_BT.any():
            return super().select_hidden_states(tokens_BT, at)
        self.check_length(tokens_BT.shape[1])
        ragged = RaggedLayout(read_BT)
        return select_rows(self.run_blocks(ragged.take_rows(self.embed(tokens_BT)), ragged), at[read_BT])

    def _positions_read(self, at_BT: Tensor, tokens_BT: Tensor) -> Tensor | None:
        """The positions (B, T) on which those in `at` depend, without gaps in a row; None for all."""
        if not self.causal or self.predicts == "last":
            return None
        return at_BT.flip(1).cumsum(1).flip(1) > 0  # up to the last one
