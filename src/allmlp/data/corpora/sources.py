"""The sources of documents, images and pairs: `source:` of a corpus -> its keys."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from allmlp.common.schema import StrictModel
from allmlp.data.corpora.gutenberg import GutenbergCorpus
from allmlp.data.corpora.hub import HubCorpus
from allmlp.data.corpora.images.digits import DigitsCorpus
from allmlp.data.corpora.images.files import ImageFilesCorpus
from allmlp.data.corpora.images.npz import NpzCorpus
from allmlp.data.corpora.local import LocalCorpus
from allmlp.data.corpora.pairs.local import LocalPairs
from allmlp.data.corpora.pairs.stories import StoriesPairs
from allmlp.data.corpora.pairs.summaries import SummaryPairs


class StoriesCorpus(StrictModel):
    """The project's own story grammar: `documents` stories of one seed."""

    source: Literal["stories"]
    documents: int = Field(gt=0)
    seed: int = 0

    def texts(self) -> Iterator[str]:
        """The stories, in order."""
        from allmlp.data.corpora import stories

        return stories.documents(self.seed, self.documents)


TEXT: dict[str, type[StrictModel]] = {"stories": StoriesCorpus, "local": LocalCorpus}
TEXT |= {"hub": HubCorpus, "gutenberg": GutenbergCorpus}
IMAGES: dict[str, type[StrictModel]] = {"digits": DigitsCorpus, "images": ImageFilesCorpus, "npz": NpzCorpus}
PAIRS: dict[str, type[StrictModel]] = {
    "stories-pairs": StoriesPairs,
    "local-pairs": LocalPairs,
    "summaries": SummaryPairs,
}
SOURCES = TEXT | IMAGES | PAIRS
OF_TEXT = ("tokenizer", "shuffle", "deduplicate")  # keys of an entry that are not its source's
TextSource = StoriesCorpus | LocalCorpus | HubCorpus | GutenbergCorpus
ImageSource = DigitsCorpus | ImageFilesCorpus | NpzCorpus
PairsSource = StoriesPairs | LocalPairs | SummaryPairs
Source = Annotated[TextSource | ImageSource | PairsSource, Field(discriminator="source")]
