"""One run's measurement: its description, and its file, which a job writes.

The files lie in work/measurements/<study>/<measure>/<run>-r<recipe>.parquet. `allmlp select` takes their rows into the
store (`allmlp.measurements.store`), which git keeps.
"""

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from allmlp.common import formats
from allmlp.common.errors import UserError
from allmlp.measurements import safe_parquet


class Measurement(NamedTuple):
    """The description of a measurement. `recipes`: of the architecture, the task, the training loop and the measure.
    `since`: the first commit with a measurement of these settings, if the store records it.
    """

    run: str
    settings: str
    recipes: tuple[int, ...]
    since: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Run and recipe of the measure: two measurements of one key are the same measurement."""
        return self.run, self.recipes[-1]


def file_bytes(measured: Measurement, rows: pa.Table) -> bytes:
    """The content of a run's own file."""
    about = {"run": measured.run, "settings": measured.settings, "recipes": list(measured.recipes)}
    return parquet(rows, {"allmlp": json.dumps({**about, "digest": _digest(about, rows)})})


def _digest(about: dict[str, Any], rows: pa.Table) -> str:
    """Of a description and of rows. Parquet's pages have no digest: a flipped bit may read as another number."""
    digest = sha256(json.dumps(about).encode())
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        values = column.to_numpy()
        digest.update(name.encode() + b"\0")
        digest.update("\0".join(map(str, values)).encode() if values.dtype == object else values.tobytes())
    return digest.hexdigest()


def read(file: Path) -> tuple[Measurement, pa.Table]:
    """The description and the rows in a run's own file. UserError if it is damaged."""
    try:
        table = safe_parquet.read(file)
        table, about = table.replace_schema_metadata(None), formats.parse_json(table.schema.metadata[b"allmlp"])
        about = formats.check_format("measurement", file, about)
        digest = about.pop("digest", None)  # what an earlier release wrote has none
        if digest not in (None, _digest(about, table)):
            raise ValueError("its rows are not those that were written")
        measured = Measurement(about["run"], about["settings"], tuple(about["recipes"]))
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{file}: cannot be read as a measurement ({error!r}). Delete it, and measure the run again."
        ) from error
    return measured, table


def parquet(table: pa.Table, about: dict[str, str] | None = None) -> bytes:
    """A table as Parquet: the same bytes for the same rows, without statistics, Arrow's schema or pandas' notes.

    Only texts have a dictionary, which makes numbers longer.
    """
    table = table.replace_schema_metadata(None).combine_chunks()
    texts = [column.name for column in table.schema if column.type in (pa.string(), pa.large_string())]
    buffer = io.BytesIO()
    small = {"write_statistics": False, "store_schema": False, "compression": "zstd", "compression_level": 9}
    with pq.ParquetWriter(buffer, table.schema, use_dictionary=texts, **small) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(about or {})
    return buffer.getvalue()
