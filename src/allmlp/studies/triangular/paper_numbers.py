"""Printed values that measures compare with: the model's sizes, and the text of Figure 6."""

from typing import Any, NamedTuple

SIZES: dict[str, Any] = {"vocabulary": 1092, "context": 430, "d_model": 768, "n_blocks": 17}
SIZES |= {"d_vocabulary": 1024, "d_mlp": 1024}


class Size(NamedTuple):
    """The sizes that decide how far information travels."""

    context: int
    d_model: int
    n_blocks: int


PRINTED = Size(SIZES["context"], SIZES["d_model"], SIZES["n_blocks"])
MULTIPLE = Size(64, 128, 4)  # the width a multiple of the context: in the published code no token reads another
READING = "two triangles, sine layer"  # the only reading of the text with the printed number of weights

# Figure 6, without its line breaks: what the fine-tuned model wrote
SAMPLE = (
    "FLORIZEL: Fortune speed us! Thus we set on, Camillo, to the sea-side. CAMILLO: The Swifter speed the better. "
    "AUTOLYCUS: I understand the business, I hear it: to have an open ear, a quick eye, and a nimble hand, is "
    "necessary for a cut-purse; a good nose is requisite also, to smell out work for the other senses. I see this is "
    "the time that the unjust man doth thrive. What an exchange had this been without boot! What a boot is here with "
    "this exchange! Sure the gods do this year connive at us, and we may do any thing extempore. The prince himself "
    "is about a piece of iniquity, stealing away from his father with this clog at his heels: if I thought it were a "
    "piece of honesty to acquaint the king withal, I would not do't: I hold it the more knavery to conceal it; and "
    "therein am I constant to my profession. Aside, aside; here is more matter for a hot brain: every lane's end, "
    "every shop, church, session, hanging, yields a careful man work. Clown: See, see; what a man you are now! There "
    "is no other way but to tell the king she's a changeling and none of your flesh and blood. Shepherd: Nay, but "
    "hear me. Clown: Nay, but hear me. Shepherd: Go to, then."
)
OF_THE_PAPER = -1  # its number among the samples
PROMPT = "FLORIZEL: Fortune"  # how a sample beside it begins, as far as the tokens have these characters
