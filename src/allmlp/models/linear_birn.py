"""The linear bidirectional relation network of 002 App. C as an image classifier."""

from typing import ClassVar

from torch import Tensor

from allmlp.models.bidirectional_relation import linear_relation_sum
from allmlp.models.birn import BidirectionalRelation, BiRN

RECIPE = 1


class LinearBidirectionalRelation(BidirectionalRelation):
    """y_j = b_out + W_out LN0(exp(LN0(q_j)) * sum over all i of exp(LN0(p_i))), p = W_left x, q = W_right x + b_in.

    Equation 6 of 002 with the approximate pre-activation norm, as in Figure 5: O(T). Shapes and weights as in
    `BidirectionalRelation`.
    """

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.out(self.norm(linear_relation_sum(self.norm(self.left(x_BTD)), self.norm(self.right(x_BTD)))))

    def pairs_with(self, x_BTD: Tensor, j: int) -> Tensor:
        """exp(LN0(p_i) + LN0(q_j)) of every position i with position j: (B, T, D_relation) (002 Fig. 8)."""
        return (self.norm(self.left(x_BTD)) + self.norm(self.right(x_BTD[:, j, None]))).exp()


class LinearBiRN(BiRN):
    """Linear bidirectional relation network; weights as in `BiRN`."""

    MIXER: ClassVar[type[BidirectionalRelation]] = LinearBidirectionalRelation
