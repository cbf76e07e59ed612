"""A corpus streamed from the Hugging Face Hub by the `datasets` library: not stored, none of its code run.

    corpora:
      tinystories:
        source: hub
        name: roneneldan/TinyStories
        split: train
        revision: <the 40 digits of the commit>

The revision is a commit, so that these fields determine the bytes: they are the corpus's identity.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from allmlp.common.errors import UserError, error_line, format_value, redact_secrets
from allmlp.common.schema import StrictModel
from allmlp.data.corpora.rows import say_left_out

RECIPE = 1
COMMIT = re.compile(r"[0-9a-f]{40}")


class Place(NamedTuple):
    """Between two rows: the number of a file, the rows of it that are before the place, and those of all files."""

    file: int
    row: int
    rows: int


class HubCorpus(StrictModel):
    """One split of one data set of the Hub at one commit."""

    source: Literal["hub"] = "hub"
    name: str = Field(pattern=r"^\w[\w.-]*/\w[\w.-]*$", description="owner/name on the Hub")
    config: str | None = Field(None, description="configuration, for a data set that has several")
    split: str = Field("train", min_length=1)
    revision: str = Field(description="the commit: 40 hexadecimal digits")
    column: str = Field("text", min_length=1, description="the column that holds the text")
    limit: int | None = Field(None, ge=1, description="use only the first so many documents")

    @field_validator("revision")
    @classmethod
    def _check_revision(cls, revision: str) -> str:
        if not COMMIT.fullmatch(revision):
            raise ValueError(
                "is not a commit: a branch or tag may come to mean other data. Give the 40 digits of "
                "https://huggingface.co/datasets/<name>/commits/main"
            )
        return revision

    def documents(self, root: Path) -> Iterator[str]:
        """The documents in the Hub's order, streamed; blank and null ones are left out. `root` is not used."""
        return (text for _, text in self.resume_documents())

    def resume_documents(self, place: dict[str, Any] | None = None) -> Iterator[tuple[dict[str, Any], str]]:
        """The documents after a place, each with the place after it. Files before that place are not fetched again.

        UserError without a network, for a data set, split, configuration or column that is not there, a damaged file, a
        row without text, and for a corpus without any text.
        """
        found, at = (place["documents"], Place(**place["at"])) if place else (0, Place(0, 0, 0))
        for after, text in islice(self._texts(at), None if self.limit is None else self.limit - found):
            found += 1
            yield {"documents": found, "at": after._asdict()}, text
        if not found:
            raise UserError(f"{self._source_name()}: no text arrived. Correct `split:` or `column:`.")

    def _source_name(self) -> str:
        config = f", config {self.config}" if self.config else ""
        return f"hub corpus {self.name} (split {self.split}{config}, revision {self.revision[:12]})"

    def _texts(self, at: Place) -> Iterator[tuple[Place, str]]:
        """The texts of rows after a place. Rows that are null there are left out, like blank ones, and counted."""
        lacking = 0
        for after, row in self._rows(at):
            if self.column not in row:
                raise UserError(
                    f"{self._source_name()}: no column {format_value(self.column)}; it has "
                    f"{', '.join(map(repr, row))}. Correct `column:`."
                )
            value = row[self.column]
            if value is None:
                lacking += 1
                say_left_out(f"{self._source_name()}: row {after.rows - 1:,} of column {self.column!r}", lacking)
                continue
            if not isinstance(value, str):
                raise UserError(
                    f"{self._source_name()}: row {after.rows - 1:,} of column {self.column!r} is {type(value).__name__}"
                    ", not text. Correct `column:`."
                )
            if value and not value.isspace():
                yield after, value

    def _rows(self, at: Place) -> Iterator[tuple[Place, dict[str, Any]]]:
        """The rows after a place, each with the place after it. Errors of the network or the library: UserError."""
        import datasets

        if Path(self.name).exists():
            raise UserError(
                f"{self._source_name()}: the folder {self.name} here would be read in its place. Rename it."
            )
        try:
            # no trust_remote_code: the library refuses data sets that are scripts
            of = {"split": self.split, "revision": self.revision, "streaming": True}
            rows = datasets.load_dataset(self.name, self.config, **of)
        except datasets.exceptions.DatasetNotFoundError as error:
            raise UserError(
                f"{self._source_name()}: not on the Hub, or private ({_error_line(error)}). Correct it."
            ) from error
        except Exception as error:
            raise self._fault(error) from error
        file, first, number = at
        while file < rows.num_shards:  # each is a file
            try:
                of_file = rows.shard(rows.num_shards, file)
                for row_number, row in enumerate(islice(of_file, first, None), first + 1):
                    number += 1
                    yield Place(file, row_number, number), row
            except Exception as error:
                raise self._fault(error, file) from error
            file, first = file + 1, 0

    def _fault(self, error: Exception, file: int | None = None) -> UserError:
        """The error for a fault of the network or the library, while it read a file or before."""
        if isinstance(error, ConnectionError):
            return UserError(
                f"{self._source_name()}: the Hub cannot be reached ({_error_line(error)}). Try again with a network, "
                "or download the files and use `source: local`."
            )
        said = f"{type(error).__name__}: {_error_line(error)}"
        if file is None:
            return UserError(f"{self._source_name()}: {said}")
        return UserError(
            f"{self._source_name()}: {self._name(file)} cannot be read: {said}. Run again. If it says the same, the "
            "file is damaged on the Hub: name another `revision:`, or download the other files and use `source: local`."
        )

    def _name(self, file: int) -> str:
        import datasets

        try:
            files = datasets.load_dataset_builder(self.name, self.config, revision=self.revision).config.data_files
            return str(files[self.split][file])
        except Exception:  # the fault to be reported is the first one
            return f"file {file + 1:,}"


def _error_line(error: Exception) -> str:
    """Its message in one line, without the token of the Hub, which a server may send back."""
    from huggingface_hub import get_token

    return redact_secrets(error_line(error), get_token())[:300]
