"""What a pyarrow table's rows are as JSON by core/read/table_value.h. For tables_oracle.py and the
samples of tests/engines/tables."""
import base64, datetime

import pyarrow as pa

PER_SECOND = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}
EPOCH = datetime.date(1970, 1, 1).toordinal()


def date_text(days):
    # Python's dates end at the year 9999 and begin with 1: eras of 400 years are put back by hand.
    era, rest = divmod(days + EPOCH - 1, 146097)
    d = datetime.date.fromordinal(rest + 1)
    year = d.year + 400 * era
    return "%s%04d-%02d-%02d" % ("-" if year < 0 else "", abs(year), d.month, d.day)


def time_text(units, per_second):
    seconds, rest = divmod(units, per_second)
    nanos = rest * (10 ** 9 // per_second)
    text = "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return text + ("" if nanos == 0 else ".%09d" % nanos if nanos % 1000 else ".%06d" % (nanos // 1000))


def moment_text(units, per_second, is_utc):
    days, rest = divmod(units, 86400 * per_second)
    return date_text(days) + "T" + time_text(rest, per_second) + ("+00:00" if is_utc else "")


def decimal_of(v, t):
    text = format(v, "f")
    if t.precision > 15:
        return text
    return int(text) if t.scale == 0 else float(text)


def raw(array, t):
    """Times as whole numbers: Python's own types hold neither nanoseconds nor all years."""
    T = pa.types
    if T.is_date32(t) or T.is_time32(t):
        return array.cast(pa.int32()).to_pylist()
    return array.cast(pa.int64()).to_pylist()


def column(array, t):
    T = pa.types
    if isinstance(array, pa.ChunkedArray):
        return [v for chunk in array.chunks for v in column(chunk, t)]
    if T.is_dictionary(t):
        entries = column(array.dictionary, t.value_type)
        # Below a parent that is null an index may point to nothing.
        return [None if i is None or i >= len(entries) else entries[i] for i in array.indices.to_pylist()]
    if T.is_null(t):
        return [None] * len(array)
    if T.is_date32(t):
        return [None if v is None else date_text(v) for v in raw(array, t)]
    if T.is_date64(t):
        return [None if v is None else date_text(v // 86400000) for v in raw(array, t)]
    if T.is_time(t):
        return [None if v is None else time_text(v, PER_SECOND[t.unit]) for v in raw(array, t)]
    if T.is_timestamp(t):
        return [None if v is None else moment_text(v, PER_SECOND[t.unit], t.tz is not None) for v in raw(array, t)]
    if T.is_duration(t):
        return raw(array, t)
    if T.is_decimal(t):
        return [None if v is None else decimal_of(v, t) for v in array.to_pylist()]
    if T.is_fixed_size_binary(t) or T.is_binary(t) or T.is_large_binary(t) or T.is_binary_view(t):
        return [None if v is None else base64.b64encode(v).decode() for v in array.to_pylist()]
    if T.is_map(t):
        return maps(array, t)
    if T.is_list(t) or T.is_large_list(t):
        return lists(array, t.value_type)
    if T.is_fixed_size_list(t):
        flat = column(array.values, t.value_type)
        n, at = t.list_size, array.offset
        return [flat[(at + i) * n:(at + i + 1) * n] if ok else None for i, ok in enumerate(array.is_valid().to_pylist())]
    if T.is_struct(t):
        parts = {f.name: column(array.field(i) if array.offset == 0 else array.flatten()[i], f.type) for i, f in enumerate(t)}
        return [{k: parts[k][i] for k in parts} if ok else None for i, ok in enumerate(array.is_valid().to_pylist())]
    return array.to_pylist()


def lists(array, t):
    flat, offsets = column(array.values, t), array.offsets.to_pylist()
    return [flat[offsets[i]:offsets[i + 1]] if ok else None for i, ok in enumerate(array.is_valid().to_pylist())]


def maps(array, t):
    keys, items, offsets = column(array.keys, t.key_type), column(array.items, t.item_type), array.offsets.to_pylist()
    out = []
    for i, ok in enumerate(array.is_valid().to_pylist()):
        pairs = list(zip(keys[offsets[i]:offsets[i + 1]], items[offsets[i]:offsets[i + 1]]))
        if not ok:
            out.append(None)
        elif pa.types.is_string(t.key_type):
            out.append(dict(pairs))
        else:
            out.append([{"key": k, "value": v} for k, v in pairs])
    return out


def expected_rows(table):
    names = table.schema.names
    columns = [column(table.column(i), table.schema.field(i).type) for i in range(len(names))]
    return [dict(zip(names, values)) for values in zip(*columns)]
