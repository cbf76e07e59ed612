"""Texts from tables, row by row: one field of a .jsonl file, one column of a .parquet, .csv or .tsv file."""

import csv
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from allmlp.common import formats
from allmlp.common.errors import UserError, error_line, format_value
from allmlp.data.corpora.reading import LONGEST, chunks, refuse_bomb, text, utf8_error

QUESTIONED = 1000  # values of a table's column that are asked whether they are text


def say_left_out(where: str, count: int, found: str = "null") -> None:
    """Say that the row at `where` is null or empty, at the 1st, 2nd, 4th, 8th one: who reads may stop anywhere."""
    if count & (count - 1) == 0:
        print(f"{where} is {found}; {count:,} such rows are left out", file=sys.stderr, flush=True)


def json_rows(path: Path, field: str) -> Iterator[str]:
    """The `field` of every line of a .jsonl file, null ones left out. UserError with file:line for a row without it."""
    lacking = 0
    for place, row in json_objects(path):
        if row.get(field, "") is None:
            lacking += 1
            say_left_out(f"{place}: field {field!r}", lacking)
        else:
            yield field_text(place, row, field)


def json_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every line of a .jsonl file, with its place as file:line. UserError for a line that is not a JSON object."""
    rest, number, offset = bytearray(), 0, 0
    for piece in chain(chunks(path), [b"\n"]):
        *lines, after = piece.split(b"\n")
        if lines:
            lines[0], rest = bytes(rest) + lines[0], bytearray(after)
        else:
            rest += after
        for line in lines:
            number += 1
            if line.strip():
                yield f"{path}:{number}", _object(path, number, offset, line)
            offset += len(line) + 1
        if len(rest) > LONGEST:
            raise UserError(
                f"{path}:{number + 1}: a line of more than {LONGEST:,} bytes. A .jsonl file has one document per line: "
                f"write each on a line of its own."
            )


def _object(path: Path, number: int, offset: int, line: bytes) -> dict[str, Any]:
    where = f"{path}:{number}"
    try:
        row = formats.parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise utf8_error(path, offset + error.start, line[error.start]) from None
    except ValueError as error:
        raise UserError(f"{where}: not JSON ({error}). Mend or remove this line.") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: a {type(row).__name__}, but each line must be an object, of fields.")
    return row


def field_text(where: str, row: dict[str, Any], field: str, key: str = "field") -> str:
    """The text in a row's `field`, which the parameter `key` names. UserError, at `where`, for a row without one."""
    if field not in row:
        raise UserError(
            f"{where}: no field {format_value(field)}. This row has {', '.join(map(repr, row)) or 'none'}. "
            f"Correct `{key}:`, or mend or remove the row."
        )
    value = row[field]
    if not isinstance(value, str):
        raise UserError(f"{where}: field {field!r} is {type(value).__name__}, not text. Mend or remove the row.")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{where}: field {field!r} holds half of a surrogate pair, which is not text. Mend the row.")
    if "\0" in value:
        raise UserError(f"{where}: field {field!r} holds a NUL character, which is not text. Mend or remove the row.")
    return value


def csv_rows(path: Path, column: str, delimiter: str) -> Iterator[str]:
    """The `column` of every row of a .csv or .tsv file whose first line names the columns. UserError with file:line."""
    csv.field_size_limit(LONGEST)
    table = csv.reader(_lines(path), delimiter=delimiter, strict=True)
    try:
        names = next(table, [])
        if (count := names.count(column)) != 1:
            there = format_value(", ".join(map(repr, names)))
            raise UserError(
                f"{path}:1: {count or 'no'} column{'s' * (count > 1)} {format_value(column)}; the first line names "
                f"{there}. {_way_out(names, delimiter)}"
            )
        place, rows, lacking, numbers = names.index(column), 0, 0, 0
        for row in table:
            if len(row) != len(names) and row:
                raise UserError(
                    f"{path}:{table.line_num}: {len(row)} values, and the first line names {len(names)} columns. Mend "
                    "the row: text with a delimiter, a quote or a line's end stands in double quotes."
                )
            if row and row[place] == "":
                lacking += 1
                say_left_out(f"{path}:{table.line_num}: column {column!r}", lacking, "empty")
            elif row:
                rows += 1
                numbers += numbers == rows - 1 and _is_number(row[place])
                if numbers == rows == QUESTIONED:
                    _question(path, column, rows)
                yield row[place]
        if 0 < numbers == rows < QUESTIONED:
            _question(path, column, rows)
    except csv.Error as error:
        raise UserError(f"{path}:{table.line_num}: not a table ({error}). Mend the row.") from None


def _way_out(names: list[str], delimiter: str) -> str:
    """What to do about a first line without the column."""
    others = {";": "semicolons", "\t": "tabs", ",": "commas"}
    for other, name in others.items():
        if len(names) == 1 and other in names[0]:
            return f"It is separated by {name}: write it with {others[delimiter]}."
    return "Correct `column:` or that line."


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _question(path: Path, column: str, rows: int) -> None:
    said = f"the first {rows:,} values of column {column!r} are all numbers"
    print(f"{path}: {said}. If they are not the text, correct `column:`.", file=sys.stderr, flush=True)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text with their ends."""
    rest = ""
    for piece in text(path):
        *lines, rest = (rest + piece).split("\n")
        yield from (f"{line}\n" for line in lines)
        if len(rest) > LONGEST:
            raise UserError(f"{path}: a line of more than {LONGEST:,} characters. Is it a table?")
    if rest:
        yield rest


def parquet_rows(path: Path, column: str) -> Iterator[str]:
    """The `column` of every row of a .parquet file, a thousand rows at a time, null ones left out."""
    import pyarrow.types as types

    row = size = lacking = 0
    try:
        for batch in parquet_batches(path, {"column": column}, 1000):
            (found,) = batch.schema.types
            of = found.value_type if types.is_dictionary(found) else found
            if not (types.is_string(of) or types.is_large_string(of) or types.is_string_view(of)):
                raise UserError(f"{path}: column {column!r} holds {found}, not text. Correct `column:`.")
            for value in batch.column(0):
                if not value.is_valid:
                    lacking += 1
                    say_left_out(f"{path}: row {row:,} of column {column!r}", lacking)
                    row += 1
                    continue
                text = field_text(f"{path}: row {row:,}", {column: value.as_py()}, column)
                size += len(text)
                refuse_bomb(path, size)
                yield text
                row += 1
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: row {row:,} of column {column!r} is not UTF-8 ({error}).") from None


def parquet_batches(path: Path, columns: dict[str, str], rows: int) -> Iterator[Any]:
    """Record batches of these columns, given by the key of params.yaml that names each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(path)
        leaves = {about.schema.column(number).path for number in range(about.num_columns)}
        once = leaves & {name for column in columns.values() for name in (column, f"{column}.bytes")}
        with pq.ParquetFile(path, metadata=about, read_dictionary=once) as file:  # a repeated text or image, once
            names = file.schema_arrow.names
            for key, column in columns.items():
                if column not in names:
                    raise UserError(
                        f"{path}: no column {format_value(column)}; it has {', '.join(map(repr, names))}. "
                        f"Correct `{key}:`."
                    )
                if names.count(column) > 1:
                    raise UserError(f"{path}: has {names.count(column)} columns {column!r}. Keep one of them.")
            refuse_bomb(path, _uncompressed_bytes(file.metadata))
            for batch in file.iter_batches(batch_size=rows, columns=list(columns.values())):
                refuse_bomb(path, batch.nbytes)  # a row's list may hold a billion equal numbers
                _check_codes(batch)
                yield batch
    except (pa.ArrowException, OSError, ValueError) as error:  # of letters and codes, too
        said = error_line(error)
        raise UserError(f"{path}: truncated or corrupt .parquet file ({said}). Fetch or write it again.") from error


def _check_codes(batch: Any) -> None:
    """ValueError if a text is encoded by a code that its dictionary has not: pyarrow does not look."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    inner = [child for column in batch.columns if types.is_struct(column.type) for child in column.flatten()]
    for column in [*batch.columns, *inner]:
        if types.is_dictionary(column.type) and len(column) > column.null_count:
            ends = pc.min_max(column.indices)
            if ends["min"].as_py() < 0 or ends["max"].as_py() >= len(column.dictionary):
                raise ValueError("a code without a text")


def _uncompressed_bytes(metadata: Any) -> int:
    """The bytes of all pages without compression, by the file's own account.

    Those of a column stand beside its statistics, and damaged ones abort the process in pyarrow 26.
    """
    return sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
