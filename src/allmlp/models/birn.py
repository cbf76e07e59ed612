"""The bidirectional relation network of 002 App. C, quadratic in the number of patches, as an image classifier."""

from functools import partial
from typing import ClassVar, Unpack

from torch import Tensor, nn

from allmlp.models.base import Bidirectional
from allmlp.models.bidirectional_relation import relation_sum
from allmlp.models.layers import PlainNorm, check_eps, check_positive
from allmlp.models.patches import PatchClassifier, PatchSizes

RECIPE = 1


class BidirectionalRelation(Bidirectional):
    """y_j = b_out + W_out LN0(1/T sum over all i of exp(LN0(p_i + q_j))), p = W_left x, q = W_right x + b_in.

    Equation 6 of 002 with the exact pre-activation norm of its equation 4. Shapes: x (B, T, D) -> (B, T, D), through
    d_relation features, 4 D unless given, as published: then a block has the 12 D^2 weights of a Transformer's.
    """

    def __init__(self, d_model: int, context: int, *, d_relation: int | None = None, eps: float = 1e-5) -> None:
        super().__init__(d_model, context)
        d_relation = 4 * d_model if d_relation is None else d_relation
        check_positive(d_relation=d_relation)
        self.left = nn.Linear(d_model, d_relation, bias=False)
        self.right = nn.Linear(d_model, d_relation)
        self.out = nn.Linear(d_relation, d_model)
        self.norm = PlainNorm(eps)

    def forward(self, x_BTD: Tensor) -> Tensor:
        sums_BTD = relation_sum(self.left(x_BTD), self.right(x_BTD), self.norm.eps)
        return self.out(self.norm(sums_BTD / x_BTD.shape[1]))

    def pairs_with(self, x_BTD: Tensor, j: int) -> Tensor:
        """exp(LN0(p_i + q_j)) of every position i with position j: (B, T, D_relation) (002 Fig. 8)."""
        return self.norm(self.left(x_BTD) + self.right(x_BTD[:, j, None])).exp()


class BiRN(PatchClassifier):
    """Bidirectional relation network: pre-norm residual blocks of `BidirectionalRelation`, nothing else."""

    family: ClassVar[str] = "all-MLP"
    MIXER: ClassVar[type[BidirectionalRelation]] = BidirectionalRelation

    def __init__(self, d_relation: int | None = None, eps: float = 1e-5, **sizes: Unpack[PatchSizes]) -> None:
        check_eps(eps)
        mixer = partial(type(self).MIXER, d_relation=d_relation, eps=eps)
        super().__init__(mixer=mixer, norm=partial(PlainNorm, eps), **sizes)
