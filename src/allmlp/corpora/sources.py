"""The sources of documents, images and pairs: `source:` of a corpus -> its keys."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from allmlp.corpora.gutenberg import GutenbergCorpus
from allmlp.corpora.hub import HubCorpus
from allmlp.corpora.images.digits import DigitsCorpus
from allmlp.corpora.images.files import ImageFilesCorpus
from allmlp.corpora.images.npz import NpzCorpus
from allmlp.corpora.local import LocalCorpus
from allmlp.corpora.pairs.local import LocalPairs
from allmlp.corpora.pairs.stories import StoriesPairs
from allmlp.corpora.pairs.summaries import SummaryPairs
from allmlp.strict import Strict


class StoriesCorpus(Strict):
    """The project's own story grammar: `documents` stories of one seed."""

    source: Literal["stories"]
    documents: int = Field(gt=0)
    seed: int = 0

    def texts(self) -> Iterator[str]:
        """The stories, in order."""
        from allmlp.corpora import stories

        return stories.documents(self.seed, self.documents)


TEXT: dict[str, type[Strict]] = {"stories": StoriesCorpus, "local": LocalCorpus}
TEXT |= {"hub": HubCorpus, "gutenberg": GutenbergCorpus}
IMAGES: dict[str, type[Strict]] = {"digits": DigitsCorpus, "images": ImageFilesCorpus, "npz": NpzCorpus}
PAIRS: dict[str, type[Strict]] = {"stories-pairs": StoriesPairs, "local-pairs": LocalPairs, "summaries": SummaryPairs}
SOURCES = TEXT | IMAGES | PAIRS
OF_TEXT = ("tokenizer", "shuffle", "deduplicate")  # keys of an entry that are not its source's
TextSource = StoriesCorpus | LocalCorpus | HubCorpus | GutenbergCorpus
ImageSource = DigitsCorpus | ImageFilesCorpus | NpzCorpus
PairsSource = StoriesPairs | LocalPairs | SummaryPairs
Source = Annotated[TextSource | ImageSource | PairsSource, Field(discriminator="source")]
