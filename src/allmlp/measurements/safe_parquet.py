"""Parquet of measurements within bounds: neither a damaged nor a made-up file takes all memory.

Both the footer and the pages may lie. The footer's counts choose how much room pyarrow makes, and a page of a few bytes
may hold a billion equal values. So the footer is checked first; then rows are decoded some at a time, and counted.
"""

import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as types

MOST_BYTES = 1 << 28  # of rows in memory; the largest part in git takes 7 MB
AT_ONCE = 1 << 20  # values decoded at once
AS_OBJECT = 64  # bytes of a text of Python beside its letters
NUMBERS = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)


def read(source: Path | bytes, encoded: Collection[str] = (), names: Collection[str] | None = None) -> pa.Table:
    """All rows of a file of numbers and texts. The texts of the columns `encoded` stay encoded by a dictionary.

    `names`: only these columns, if the file has them.

    ValueError or an error of pyarrow for a file that is damaged, or whose rows take more than MOST_BYTES.
    """
    about = pq.read_metadata(_open_source(source))
    found = about.schema.to_arrow_schema()
    schema = pa.schema([_output_field(field, field.name in encoded) for field in found], found.metadata)
    if names is not None:
        schema = pa.schema([field for field in schema if field.name in names], found.metadata)
    declared = _declared_rows(about)
    texts = [field.name for field in schema if not _is_number(field.type)]  # encoded: a long one is in memory once
    batches, rows, size = [], 0, 0
    with pq.ParquetFile(_open_source(source), metadata=about, read_dictionary=texts, pre_buffer=False) as file:
        for batch in file.iter_batches(max(1, AT_ONCE // max(1, len(schema))), columns=schema.names, use_threads=False):
            batch.validate(full=True)  # texts are UTF-8, and codes have a text
            rows += len(batch)
            size += sum(_size(column, to.type) for column, to in zip(batch.columns, schema, strict=True))
            if size > MOST_BYTES:
                raise ValueError(f"its rows take more than {MOST_BYTES >> 20:,} MiB")
            batches.append(batch.cast(schema))
    if rows != declared:
        raise ValueError(f"its footer counts {declared:,} rows, its pages hold {rows:,}")
    return pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()


def _open_source(source: Path | bytes) -> Path | io.BytesIO:
    return source if isinstance(source, Path) else io.BytesIO(source)


def _is_number(kind: pa.DataType) -> bool:
    return any(of(kind) for of in NUMBERS)


def _output_field(field: pa.Field, encoded: bool) -> pa.Field:
    """The column as it is returned. ValueError for lists and others, of which a single row may have no end."""
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if not (_is_number(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise ValueError(f"column {field.name!r} holds {field.type}, not numbers or texts")
    if encoded and not _is_number(kind):
        return field.with_type(pa.dictionary(pa.int32(), kind))
    return field.with_type(kind)


def _declared_rows(about: Any) -> int:
    """The rows that the footer counts. ValueError if its counts differ, or if they cannot fit."""
    groups = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
    if about.num_rows != sum(groups) or min(groups, default=0) < 0:
        raise ValueError(f"its footer counts {about.num_rows:,} rows, and {sum(groups):,} in its groups")
    if not 0 < about.num_columns * max(about.num_rows, 1) <= MOST_BYTES:
        raise ValueError(f"its footer counts {about.num_rows:,} rows of {about.num_columns:,} columns")
    return int(about.num_rows)


def _size(column: pa.Array, to: pa.DataType) -> int:
    """The bytes of a column in memory, with each text as often as it stands there."""
    size: int = max(column.nbytes, len(column))
    if types.is_dictionary(column.type):
        letters = pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
        size += letters + (0 if types.is_dictionary(to) else AS_OBJECT * len(column))
    return size
