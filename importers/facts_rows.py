"""What flatline's facts form says of one row (FORMATS.md B25), in pure Python with numpy and xxhash.

facts_duckdb.py and facts_spark.py stand on this file: put the three beside each other, next to the
data. It gives to the byte what `flatline facts` writes. Nothing here reads a configuration, opens a
connection or runs what it finds in the data.

Needs Python 3.11 or newer (the letters of Unicode 14), numpy, xxhash.

What the rows of a file are:
  .jsonl .ndjson .json   one JSON object a line, or one array of objects (also .gz)
  .csv .tsv              a header and rows; every cell is a text, an empty one without quotes is null
  .parquet               by the engine that reads it: numbers, texts, lists and objects as they are,
                         dates and times as ISO texts, binary as base64, a missing member as null
Lines are parsed here and by no engine's inference: that would make null of a missing key, and a number
of a text.
"""
import argparse
import base64
import datetime
import decimal
import gzip
import json
import re
import sys
import unicodedata
import uuid

import numpy
import xxhash

if sys.version_info < (3, 11):
    raise SystemExit("facts_rows.py: Python %d.%d knows too few letters; expected 3.11 or newer"
                     % sys.version_info[:2])

VERSION = "1"
FORMAT = "flatline-facts/1"
CROWD = 10000               # a band of more rows gives no candidates
LINE_BYTES = 64 << 20       # a longer line is not readable
DEPTH = 200
OPENINGS, GROUPS, GROUP_BYTES, CLASS_BYTES, MOST_COLUMNS = 12, 64, 512, 64, 4096
BANDS, BAND_ROWS = 42, 6
EMPTY_INPUT, EMPTY_TARGET, NULL_FIELD, NOT_READABLE = 1, 2, 4, 8
BLANKS = " \t\n\r\x0b\x0c"


# ---- JSON as it stands ----

class Number(str):
    """A number by its text in the file: 1.50 stays 1.50."""
    __slots__ = ()

    def value(self):
        return float(self)


class Float(Number):
    """A float of a table, which has no text of its own."""

    def __new__(cls, value):
        self = Number.__new__(cls, "")
        self.number = value
        return self

    def value(self):
        return self.number


_decoder = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number, strict=False)


def _is_too_deep(text):
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    depth = 0
    in_string = is_escaped = False
    for c in text:
        if in_string:
            if is_escaped:
                is_escaped = False
            elif c == "\\":
                is_escaped = True
            elif c == '"':
                in_string = False
        elif c == '"':
            in_string = True
        elif c in "[{":
            depth += 1
            if depth > DEPTH:
                return True
        elif c in "]}":
            depth -= 1
    return False


def parse(text):
    """A JSON value, None when it is none (a JSON null is None, too: no row is one)."""
    if text.startswith("\ufeff"):
        text = text[1:]
    try:
        return None if _is_too_deep(text) else _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def parse_line(line):
    """The object of a line (bytes), or None: not readable."""
    if len(line) > LINE_BYTES:
        return None
    try:
        row = parse(line.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    return row if type(row) is dict else None


def is_text(value):
    return type(value) is str


# ---- The rows of a file ----

def lines_of(stream):
    """The lines of a binary stream that are not blank, without a mark at the file's beginning."""
    first = True
    for line in stream:
        line = line[:-1] if line.endswith(b"\n") else line
        if first and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        first = False
        if line.strip(BLANKS.encode()):
            yield line


def is_array(head):
    """Do the first bytes say that the file is one array of rows?"""
    head = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    return head.lstrip(b" \t\r\n").startswith(b"[")


def rows_of_array(data):
    text = data.decode("utf-8-sig")
    at = re.compile(r"[ \t\r\n]*\[[ \t\r\n]*").match(text).end()
    blanks = re.compile(r"[ \t\r\n]*")
    while not text.startswith("]", at):
        row, end = _decoder.raw_decode(text, at)
        yield None if type(row) is not dict or _is_too_deep(text[at:end]) else row
        at = blanks.match(text, end).end()
        if text.startswith(",", at):
            at = blanks.match(text, at + 1).end()
        elif not text.startswith("]", at):
            raise ValueError("no ',' or ']' after a row")


def rows_of_csv(data):
    """Cells as texts by the header; what is wrong with a row makes it None."""
    data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    first = data[:data.find(b"\n")] if b"\n" in data else data
    separator = b"\t" if first.count(b"\t") > first.count(b",") else b","
    cell = re.compile(rb'"((?:[^"]|""|"(?=[^"%s\r\n]))*)("|\Z)|([^%s\r\n]*)' % (separator, separator))
    header, at = None, 0
    while at < len(data):
        if data[at] in b"\r\n":
            at += 1
            continue
        cells, is_unclosed = [], False
        while True:
            match = cell.match(data, at)
            at = match.end()
            if match.group(1) is not None:
                cells.append(match.group(1).replace(b'""', b'"'))
                is_unclosed = match.group(2) != b'"'
            else:
                cells.append(match.group(3) or None)
            if data[at:at + 1] != separator:
                break
            at += 1
        if header is None:
            header = [(name or b"").decode("utf-8", "replace") for name in cells]
            continue
        if is_unclosed or len(cells) > len(header):
            yield None
            continue
        cells += [None] * (len(header) - len(cells))
        try:
            yield {name: value if value is None else value.decode("utf-8")
                   for name, value in zip(header, cells)}
        except UnicodeDecodeError:
            yield None


def is_whole(path):
    """Is it read as a whole, not line by line?"""
    return re.search(r"\.(csv|tsv)(\.gz)?$", path, re.I) is not None


def is_table(path):
    return path.lower().endswith(".parquet")


def rows_of_bytes(path, data):
    """Of a file that is read as a whole: lines (bytes), objects, None for what is not readable."""
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    if is_whole(path):
        return rows_of_csv(data)
    if is_array(data[:65536]):
        return rows_of_array(data)
    return lines_of(data.split(b"\n"))


def check_lines(path, line):
    """The first line of a .json file tells whether it is a document that is no array."""
    if re.search(r"\.json(\.gz)?$", path, re.I) and parse_line(line) is None:
        raise ValueError("%s: one JSON document; expected one object a line, or an array of them" % path)


def rows_of_file(path):
    """The rows of a local file, in their order: lines (bytes), objects, None for what is not readable."""
    with open(path, "rb") as plain:
        head = plain.read(65536)
    opened = gzip.open if head.startswith(b"\x1f\x8b") else open
    with opened(path, "rb") as stream:
        head = stream.read(65536)
    with opened(path, "rb") as stream:
        if is_whole(path):
            yield from rows_of_csv(stream.read())
        elif is_array(head):
            yield from rows_of_array(stream.read())
        else:
            for n, line in enumerate(lines_of(stream)):
                if n == 0:
                    check_lines(path, line)
                yield line


def value_of(value):
    """A value of a table, as flatline's own reader of Parquet gives it."""
    if value is None or value is True or value is False or type(value) is str:
        return value
    if isinstance(value, dict):
        return {str(key): value_of(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return [value_of(item) for item in value]
    if isinstance(value, (bool, numpy.bool_)):
        return bool(value)
    if isinstance(value, (int, numpy.integer)):
        return Number(int(value))
    if isinstance(value, (float, numpy.floating)):
        return Float(float(value))
    if isinstance(value, decimal.Decimal):
        text = format(value, "f")
        digits = len(text.replace("-", "").replace(".", "").lstrip("0"))
        return Number(text) if digits <= 15 else text
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc)
        return value.isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    return str(value)


def row_of(item):
    """The object of what rows_of_file gave, or None."""
    return parse_line(item) if isinstance(item, (bytes, bytearray)) else item


# ---- Turns ----

def usual_role(role):
    return {"human": "user", "gpt": "assistant"}.get(role, role)


def turn_role(turn):
    role = turn.get("role")
    if not is_text(role):
        role = turn.get("from")
    if not is_text(role):
        return ""
    return "assistant" if role in ("gpt", "model", "bot", "chatgpt") else usual_role(role)


def turn_text(turn):
    content = turn["content"] if "content" in turn else turn.get("value")
    if is_text(content):
        return content
    if type(content) is not list:
        return None
    texts = [part.get("text") if type(part) is dict else part for part in content]
    texts = [text for text in texts if is_text(text)]
    return "".join(texts) if texts else None


def list_of(value):
    """A list, or a text that holds one as JSON."""
    if type(value) is list:
        return value
    if not is_text(value) or not value.strip(BLANKS).startswith("["):
        return None
    parsed = parse(value)
    return parsed if type(parsed) is list else None


def keys_of(turn):
    role = "from" if "role" not in turn and "from" in turn else "role"
    content = "value" if "content" not in turn and "value" in turn else "content"
    return role, content


def renamed(turn):
    role, content = keys_of(turn)
    out = {key: value for key, value in turn.items() if key not in (role, content, "role", "content")}
    if role in turn:
        value = turn[role]
        out["role"] = usual_role(value) if role == "from" and is_text(value) else value
    if content in turn:
        out["content"] = turn[content]
    return out


def turns_of(value):
    turns = list_of(value)
    if turns is None or any(type(turn) is not dict for turn in turns):
        return None
    if all(keys_of(turn) == ("role", "content") for turn in turns):
        return turns
    return [renamed(turn) for turn in turns]


def is_same(a, b, depth=0):
    """As flatline compares: numbers by value, objects without regard to order, to a bounded depth."""
    if isinstance(a, Number) or isinstance(b, Number):
        if not (isinstance(a, Number) and isinstance(b, Number)) or depth == 64:
            return False
        is_integer = [re.fullmatch(r"-?\d+", n, re.A) is not None for n in (a, b)]
        return a.value() == b.value() and (not all(is_integer) or str(a) == str(b))
    if type(a) is not type(b) or depth == 64:
        return False
    if type(a) is list:
        return len(a) == len(b) and all(is_same(x, y, depth + 1) for x, y in zip(a, b))
    if type(a) is not dict:
        return a == b
    if len(a) != len(b):
        return False
    for (key, value), other in zip(a.items(), b):
        if other != key and (len(b) > 64 or key not in b):
            return False
        if not is_same(value, b[key], depth + 1):
            return False
    return True


# ---- Input and target of a row (core/text/conversation.c, core/text/row_parts.c) ----

TURNS = ("messages", "conversations", "conversation")
QUESTIONS = ("question", "query", "problem", "prompt")
ANSWERS = ("answer", "response", "output")
OUTPUTS = ("output", "response")
CLASSES = ("label", "labels", "class", "category", "intent", "emotion", "sentiment")
NAMES = {"id", "idx", "index", "uid", "uuid", "guid", "split", "source", "url", "label_text",
         "label_name", "lang", "language"}


class Row:
    """A row on its way to input and target."""

    def __init__(self, row):
        self.row = row
        self.nulls_count = False
        self.form = self.find_form()
        if self.form == "other":
            self.nulls_count = True
            self.form = self.find_form()
        self.texts, self.target = [], ""
        self.flags, self.has_input, self.has_target = 0, False, False

    # -- columns --

    def has(self, name):
        return name in self.row and (self.nulls_count or self.row[name] is not None)

    def column(self, name):
        return self.row.get(name)

    def first(self, names):
        for name in names:
            if self.has(name):
                return name
        return None

    def find_form(self):
        has = self.has
        turns = self.first(TURNS)
        if has("chosen") and has("rejected"):
            return "preference"
        if has("input_ids"):
            return "tokens"
        if has("prompt") and has("completion"):
            return "pair"
        if turns:
            return "turns"
        if has("instruction") and self.first(OUTPUTS):
            return "alpaca"
        if has("text"):
            return "text"
        if "label" in self.row or "labels" in self.row:
            return "other"
        return "qa" if self.first(QUESTIONS) and self.first(ANSWERS) else "other"

    def text(self, name):
        value = self.column(name)
        return value if is_text(value) else None

    def side(self, name):
        """A text, a list of turns or one turn: (text, turns)."""
        value = self.column(name)
        if type(value) is dict and ("content" in value or "value" in value):
            value = [value]
        if type(value) is list:
            return None, turns_of(value)
        return (value if is_text(value) else None), None

    # -- filling --

    def add(self, text):
        self.has_input = True
        if text:
            self.texts.append(text)

    def add_turn(self, turn):
        text = turn_text(turn)
        if text is None and not self.calls_tools(turn):
            self.flags |= NULL_FIELD
        self.add(text)

    @staticmethod
    def calls_tools(turn):
        calls = turn.get("tool_calls")
        return (type(calls) is list and len(calls) > 0) or type(turn.get("function_call")) is dict

    def set_target(self, text):
        self.has_target = True
        if text is None:
            self.flags |= NULL_FIELD
        else:
            self.target = text

    def put_turns(self, turns):
        answer = max((i for i, turn in enumerate(turns) if turn_role(turn) == "assistant"), default=None)
        for turn in turns[:answer]:
            self.add_turn(turn)
        self.has_input = True
        if answer is None:
            return
        text = turn_text(turns[answer])
        if (text is None or not text.strip(BLANKS)) and self.calls_tools(turns[answer]):
            return
        self.set_target(text)

    @staticmethod
    def starts_with_system(turns):
        return bool(turns) and turn_role(turns[0]) == "system"

    def put_system(self, turns):
        system = self.text("system")
        if system and not (turns is not None and self.starts_with_system(turns)):
            self.add(system)

    def put_conversation(self):
        self.has_input = True
        name = self.first(TURNS)
        turns = turns_of(self.column(name)) if name else None
        if turns is None:
            self.flags |= NULL_FIELD
            return
        self.put_system(turns)
        self.put_turns(turns)

    def put_prompt(self, prompt, turns):
        self.put_system(turns)
        for turn in turns or ():
            self.add_turn(turn)
        if turns is None and prompt is None and self.form != "preference":
            self.flags |= NULL_FIELD
        if turns is None:
            self.add(prompt)

    def put_answer(self, text, turns):
        if turns is not None:
            self.put_turns(turns)
        else:
            self.set_target(text)

    def put_preference(self):
        has_prompt = self.has("prompt")
        prompt, turns = self.side("prompt") if has_prompt else (None, None)
        chosen, chosen_turns = self.side("chosen")
        _, rejected_turns = self.side("rejected")
        name = self.first(TURNS)
        messages = turns_of(self.column(name)) if name else None
        if not has_prompt and messages is not None and chosen_turns is not None and \
                rejected_turns is not None and len(chosen_turns) == 1 == len(rejected_turns) and \
                not (messages and turn_role(messages[-1]) == "assistant"):
            turns = messages
        if chosen_turns is not None and rejected_turns is not None and turns is None:
            n = 0
            while n + 1 < len(chosen_turns) and n + 1 < len(rejected_turns) and \
                    is_same(chosen_turns[n], rejected_turns[n]):
                n += 1
            if n:
                turns, chosen_turns = chosen_turns[:n], chosen_turns[n:]
        self.put_prompt(prompt, turns)
        if turns is None and prompt is None:
            for name in ("instruction", "question", "query", "problem", "input"):
                if self.text(name):
                    self.add(self.text(name))
        self.has_input = turns is not None or prompt is not None or any(self.texts)
        self.put_answer(chosen, chosen_turns)

    def put_alpaca(self):
        self.add(self.text("system"))
        for pair in list_of(self.column("history")) or ():
            items = pair if type(pair) is list else pair.values() if type(pair) is dict else ()
            for item in items:
                if is_text(item):
                    self.add(item)
        instruction = self.text("instruction") if self.has("instruction") else None
        if instruction is None:
            self.flags |= NULL_FIELD
        self.add(instruction)
        self.add(self.text("input"))
        name = self.first(OUTPUTS)
        self.set_target(self.text(name) if name else None)

    def class_name(self):
        for name in CLASSES:
            if name in self.row and not isinstance(self.row[name], (list, dict)):
                return name
        return None

    def class_text(self, name):
        value = self.row[name]
        if value is True or value is False:
            return "true" if value else "false"
        return None if value is None else str(value)

    def put_class(self, name, prompt, turns):
        self.has_input = True
        if self.form == "text":
            self.add(self.text("text"))
        elif turns is not None or prompt is not None:
            self.put_prompt(prompt, turns)
        else:
            for key, value in self.row.items():
                if key != name and is_text(value) and key not in NAMES and not key.endswith("_id"):
                    self.add(value)
        self.set_target(self.class_text(name))

    def put(self):
        form = self.form
        if form == "turns":
            self.put_conversation()
        elif form in ("pair", "qa"):
            names = ("prompt", "completion") if form == "pair" else \
                    (self.first(QUESTIONS), self.first(ANSWERS))
            self.put_prompt(*self.side(names[0]))
            self.put_answer(*self.side(names[1]))
        elif form == "preference":
            self.put_preference()
        elif form == "alpaca":
            self.put_alpaca()
        elif form == "text":
            name = self.class_name()
            if name:
                self.put_class(name, None, None)
            else:
                self.set_target(self.text("text"))
        elif form == "other":
            prompt, turns = self.side("prompt") if self.has("prompt") else (None, None)
            name = self.class_name()
            if name:
                self.put_class(name, prompt, turns)
            elif turns is not None or prompt is not None:
                self.put_prompt(prompt, turns)


def parts(row):
    """(input, target, flags) of an object."""
    filled = Row(row)
    filled.put()
    text = "\n".join(filled.texts)
    if filled.has_input and not text.strip(BLANKS):
        filled.flags |= EMPTY_INPUT
    if filled.has_target and not filled.target.strip(BLANKS):
        filled.flags |= EMPTY_TARGET
    return text, filled.target, filled.flags


# ---- Normal texts ----

# Code points unassigned in Unicode 14: how many are assigned, then how many are not, and so on, in
# hexadecimal. A newer Python would change some of them.
_UNASSIGNED = """
378 2 6 4 7 1 1 1 14 1 18d 1 26 2 32 2 3 1 37 8 1b 4 6 b 10e 1 3c 2 65 e 3b 2 31 2 f 1 1c 2 1 1 b 5
1f 1 2 6 ec 1 8 2 2 2 16 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 19 2 3 1 6 4 2 2 16 1 7 1 2 1 2 1 2 2
1 1 5 4 2 2 3 3 1 7 4 1 1 7 11 a 3 1 9 1 3 1 16 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7 1 3 1 8 2 2
2 16 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 12 a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2
1 6 1 e 15 5 d 1 3 1 17 1 10 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 16 1 3 1 17 1 a 1 5 2 9 1 3 1 4 7 2 6
2 1 4 2 a 1 2 d d 1 3 1 33 1 3 1 6 4 10 2 1a 1 3 1 12 3 18 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 c 3a
4 1d 25 2 1 1 1 5 1 18 1 1 1 17 2 5 1 1 1 6 2 a 2 4 20 48 1 24 4 27 1 24 1 f 1 d 25 c6 1 1 5 1 2 179
1 4 2 7 1 1 1 4 2 29 1 4 2 21 1 4 2 7 1 1 1 4 2 f 1 39 1 4 2 43 2 20 3 1a 6 56 2 6 2 29d 3 59 7 16 9
18 9 14 c d 1 3 1 2 c 5e 2 a 6 a 6 1a 6 59 7 2b 5 46 a 1f 1 c 4 c 4 1 3 2a 2 5 b 2c 4 1a 6 b 3 3e 2
41 1 1d 2 b 6 a 6 e 2 1f 31 4d 3 2f 1 74 8 3c 3 f 3 3c 7 2b 2 b 8 2b 5 216 2 6 2 26 2 6 2 8 1 1 1 1
1 1 1 1f 2 35 1 f 1 e 2 6 1 13 2 3 1 9 1 65 1 c 2 1b 1 d 3 21 f 21 f 8c 4 297 19 b 15 714 2 20 1 15d
5 2d 1 1 5 1 2 38 7 2 e 18 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7e 22 1a 1 59 c d6 1a c 4 40 1 56 2 67
5 2b 1 5e 1 54 c 2f 1 726d 3 37 9 15c 14 b8 8 cb 5 2 1 1 1 5 18 3b 3 a 6 38 8 46 8 c 6 74 b 1e 3 4e
1 b 4 21 1 37 9 e 2 a 2 67 18 1c a 6 2 6 2 6 9 7 1 7 1 3c 4 7e 2 a 6 2ba4 c 17 4 31 4 226e 2 6a 26 7
c 5 5 1a 1 5 1 1 1 2 1 2 1 7d 10 1bd 2 36 7 1 20 2a 6 33 1 13 1 4 4 5 1 87 2 1 1 be 3 6 2 6 2 6 2 3
3 7 1 7 a 5 2 c 1 1a 1 13 1 2 1 f 2 e 22 7b 5 3 4 2d 3 58 1 d 3 1 2f 2e 82 1d 3 31 f 1c 4 24 9 1e 5
2b 5 1e 1 25 4 e 2a 9e 2 a 6 24 4 24 4 28 8 34 b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 43 137 9 16 a 8 18 6
1 2a 1 9 45 6 2 1 1 2c 1 2 3 1 2 17 1 48 8 9 30 13 1 2 5 21 3 1b 5 1 40 38 4 14 2 32 1 2 5 8 1 3 1
1d 2 3 4 a 7 9 7 40 20 27 4 c 9 36 3 1d 2 1b 5 1a 7 4 c 7 50 49 37 33 d 33 7 2e 8 a 126 1f 1 2a 1 3
2 2 4e 28 8 2a 16 1a 26 1c 14 17 9 4e 4 24 9 44 a 1 2 19 7 a 6 35 1 12 8 27 9 60 1 14 b 12 1 2c 41 7
1 1 1 4 1 f 1 b 6 3b 5 a 6 4 1 8 2 2 2 16 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 8b 5c 1 5 1e
48 8 a a6 36 2 26 22 45 b a 6 d 13 3a 6 a 36 1b 2 f 4 17 b9 3c 64 53 c 8 2 1 2 8 1 2 1 1e 1 2 2 c 9
a 46 8 2 2e 2 b 1b 48 8 53 d 49 107 9 1 2d 1 e a 1d 3 20 2 16 1 e 49 7 1 2 1 2c 3 1 1 2 1 9 8 a 6 6
1 2 1 25 1 2 1 6 7 a 136 19 b7 1 f 32 d 39b 66 6f 1 5 b c4 a4c 63 d 42f 1 9 fc7 247 21b9 239 7 1f 1
a 4 51 1 a 6 1e 2 6 a 46 a a 1 7 1 15 5 13 2b0 5b 65 4b 4 39 7 11 40 5 b 2 e 17f8 8 4d6 2a 9 22e7 4
1 7 1 2 1 123 2d 3 11 4 8 18c 904 6b 5 d 3 9 7 a 2 8 125c 2e 2 17 9 74 3c f6 a 27 2 c2 15 46 9a 14 c
57 9 19 87 55 1 47 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 41 1 4 2 8 1 7 1 1c 1 4 1 5 1 1 3 7 1 154 2 124 2
2be f 5 1 f 450 1f e1 7 1 11 2 7 1 2 1 5 d5 2d 3 e 2 a 4 2 140 1f 11 3a 5 1 4e0 7 1 4 1 2 1 f 1 c5 2
10 29 4c 4 a 4 2 311 44 4c 3d c2 4 1 1b 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1
1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 11 5 3 1 5 1 11 34 2 10e 2c 4 64 c f 2 f 1 f 1 25
a ae 38 1d d 2c 4 9 7 2 e 6 9a 3d8 5 10 3 d 3 74 c 59 7 c 4 1 f c 4 38 8 a 6 28 8 1e 2 2 4e 154 c e
2 5 3 5 3 7 9 1d 3 b 5 6 a a 6 8 8 7 9 93 1 37 25 a 406 a6e0 20 1039 7 de 2 1682 e 1d31 c1f 21e 5e2
134b aecb6 1 1e 60 80 f0 fe10 fffe 2 fffe 2
"""


def _unassigned():
    ranges, at = [], 0
    for i, n in enumerate(int(word, 16) for word in _UNASSIGNED.split()):
        if i % 2:
            ranges.append("\\U%08x-\\U%08x" % (at, at + n - 1))
        at += n
    return re.compile("([%s]+)" % "".join(ranges))


_new = None if unicodedata.unidata_version == "14.0.0" else _unassigned()
_surrogate = re.compile("[\ud800-\udfff]")


def valid(text):
    """Each byte of a lone surrogate, as surrogatepass writes it, becomes U+FFFD."""
    return _surrogate.sub("\ufffd\ufffd\ufffd", text)


def _fold(text):
    # one code point at a time: str.lower alone would know a final sigma
    return unicodedata.normalize("NFKC", text).replace("\u03a3", "\u03c3").lower()


def normal(text):
    if text.isascii():
        return " ".join(text.lower().split())
    text = valid(text)
    if _new is not None and _new.search(text):
        text = "".join(part if i % 2 else _fold(part) for i, part in enumerate(_new.split(text)))
    else:
        text = _fold(text)
    return " ".join(text.split())


def joined(a, b):
    return a + " " + b if a and b else a or b


def text_of(item):
    """The normal text of a row, None when it is not readable."""
    row = row_of(item)
    if row is None:
        return None
    source, target, _ = parts(row)
    return joined(normal(source), normal(target))


def utf8(text):
    return text.encode("utf-8", "surrogatepass")


# ---- Common text: what half of all rows share, half of the rows of some part share ----

def _word(text, is_suffix):
    return text.rpartition(" ")[2] if is_suffix else text.partition(" ")[0]


def _without(text, is_suffix):
    return text.rpartition(" ")[0] if is_suffix else text.partition(" ")[2]


def _ways(left, n_part, is_suffix):
    """What half of a part's rows begin (end) with: lists of words, two at most."""
    ways, open_ways = [], [([], left)]
    while open_ways:
        way, left = open_ways.pop()
        while True:
            counts = {}
            if 2 * len(left) >= n_part:
                for text in left:
                    if text:
                        word = _word(text, is_suffix)
                        counts[word] = counts.get(word, 0) + 1
            words = [word for word, n in counts.items() if 2 * n >= n_part and "\0" not in word]
            if not words:
                break
            for word in words[1:]:
                open_ways.append((way + [word], [_without(text, is_suffix) for text in left
                                                 if text and _word(text, is_suffix) == word]))
            way = way + [words[0]]
            left = [_without(text, is_suffix) for text in left
                    if text and _word(text, is_suffix) == words[0]]
        if way:
            ways.append(way)
    return ways


def common_ways(texts):
    """Of the normal texts of a part: (prefixes, suffixes, rows)."""
    texts = [text for text in texts if text is not None]
    if not texts:
        return [], [], 0
    return _ways(texts, len(texts), False), _ways(texts, len(texts), True), len(texts)


class Trie:
    """Beginnings (ends) that may be common, and how many rows have them."""

    def __init__(self, ways, is_suffix):
        self.is_suffix = is_suffix
        self.nodes = {}
        n = 1
        for way in ways:
            at = 0
            for word in way:
                if (at, word) not in self.nodes:
                    self.nodes[at, word] = n
                    n += 1
                at = self.nodes[at, word]
        self.n = n

    def count(self, texts):
        """Rows by node."""
        counts, nodes, is_suffix = [0] * self.n, self.nodes, self.is_suffix
        for text in texts:
            at = 0
            while text:
                at = nodes.get((at, _word(text, is_suffix)))
                if at is None:
                    break
                counts[at] += 1
                text = _without(text, is_suffix)
        return counts

    def choose(self, counts, n_rows):
        """The longest way, word by word the commonest while half of all rows share it."""
        children = {}
        for (parent, word), node in self.nodes.items():
            children.setdefault(parent, []).append((-counts[node], word, node))
        words, at = [], 0
        while True:
            best = min(((n, utf8(word), word, node) for n, word, node in children.get(at, ())
                        if -2 * n >= n_rows), default=None)
            if best is None:
                return words[::-1] if self.is_suffix else words
            words.append(best[2])
            at = best[3]


def strip_front(text, prefix):
    if prefix and text.startswith(prefix):
        if len(text) == len(prefix):
            return ""
        if text[len(prefix)] == " ":
            return text[len(prefix) + 1:]
    return text


def strip_back(text, suffix):
    if suffix and text.endswith(suffix):
        if len(text) == len(suffix):
            return ""
        if text[-len(suffix) - 1] == " ":
            return text[:-len(suffix) - 1]
    return text


# ---- Hashes ----

hash_of = xxhash.xxh3_64_intdigest


def shingles(text):
    """Hashes of a normal text's shingles: a set."""
    data = text.encode("utf-8")
    n_words = data.count(b" ") + 1 if data else 0
    if n_words >= 5:
        begins = [0] + [i + 1 for i, c in enumerate(data) if c == 32] + [len(data) + 1]
        return {hash_of(data[begins[i]:begins[i + 5] - 1]) for i in range(n_words - 4)}
    if len(text) >= 5:
        return {hash_of(text[i:i + 5].encode("utf-8")) for i in range(len(text) - 4)}
    return {hash_of(data)} if data else set()


def _split_mix(seed, n):
    mask, out = (1 << 64) - 1, []
    for _ in range(n):
        seed = (seed + 0x9e3779b97f4a7c15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
        out.append((z ^ (z >> 31)) & 0xffffffff)
    return out


_draws = _split_mix(1, 2 * BANDS * BAND_ROWS)
_factor = numpy.array([a | 1 for a in _draws[0::2]], dtype=numpy.uint32)[:, None]
_summand = numpy.array(_draws[1::2], dtype=numpy.uint32)[:, None]
_AT_ONCE = 2048


def minimums(sets):
    """MinHash of several sets that are not empty: an array of 252 numbers each."""
    out = numpy.empty((len(sets), BANDS * BAND_ROWS), dtype="<u4")
    first = 0
    while first < len(sets):
        n, end = 0, first
        while end < len(sets) and (end == first or n + len(sets[end]) <= _AT_ONCE):
            n += len(sets[end])
            end += 1
        x = numpy.fromiter((s & 0xffffffff for one in sets[first:end] for s in one),
                           dtype=numpy.uint32, count=n)
        if end == first + 1:
            least = numpy.full(BANDS * BAND_ROWS, 0xffffffff, dtype=numpy.uint32)
            for at in range(0, n, _AT_ONCE):
                part = _factor * x[None, at:at + _AT_ONCE] + _summand
                numpy.minimum(least, part.min(axis=1), out=least)
            out[first] = least
        else:
            starts = numpy.cumsum([0] + [len(one) for one in sets[first:end - 1]])
            out[first:end] = numpy.minimum.reduceat(_factor * x[None, :] + _summand, starts, axis=1).T
        first = end
    return out


def bands_of(sets):
    """The 42 bands of each set, None of an empty one."""
    full = [one for one in sets if one]
    data = minimums(full).tobytes() if full else b""
    out, at = [], 0
    for one in sets:
        if not one:
            out.append(None)
            continue
        out.append([hash_of(data[at + 24 * j:at + 24 * j + 24], seed=j) for j in range(BANDS)])
        at += 4 * BANDS * BAND_ROWS
    return out


# ---- Groups (CHECKS.md C6.2) ----

CONTENT = set("""messages conversations conversation prompt completion chosen rejected label labels class
    target targets text content input inputs output outputs instruction system history question answer
    answers query response context passage sentence sentence1 sentence2 premise hypothesis assistant
    expected reference solution summary tools tool_calls images label_text label_name score""".split())
RECURS = set("""language lang locale category subcategory topic task task_name type kind tag tags domain
    split level difficulty model date year month day time source dataset license format version status
    country role style""".split())
KEYS = """user author customer doc page session conversation thread url host template source_id sourceid
    patient case group""".split()
_capitals = {ord(c): ord(c) + 32 for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_number = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_kinds = {}


def _kind_of(name):
    """(is a key, is meant to recur)"""
    if name not in _kinds:
        if len(_kinds) > 100000:
            _kinds.clear()
        low = name.translate(_capitals)
        _kinds[name] = any(key in low for key in KEYS), low.rpartition(".")[2] in RECURS
    return _kinds[name]


def _is_value(name, value):
    if type(value) is not str and not isinstance(value, Number):
        return False
    if not 0 < len(value) <= GROUP_BYTES or len(utf8(value)) > GROUP_BYTES:
        return False
    is_key, recurs = _kind_of(name)
    return is_key or (type(value) is str and not recurs and not _number.fullmatch(value))


def groups(row):
    found = []
    for key, value in row.items():
        if key.translate(_capitals) in CONTENT or len(utf8(key)) > GROUP_BYTES:
            continue
        if type(value) is dict:
            for member, inner in value.items():
                name = key + "." + member
                if len(utf8(name)) < 128 and _is_value(name, inner):
                    found.append((name, inner))
        elif _is_value(key, value):
            found.append((key, value))
        if len(found) >= GROUPS:
            break
    out = {}
    for name, value in found[:GROUPS]:
        if name not in out:
            out[name] = hash_of(utf8(value))
    return out


# ---- Rows of the form ----

ROW = ("split", "row", "exact", "input", "target", "n_words", "n_target_words", "n_shingles", "n_bytes",
       "n_tokens", "class", "opening", "bands", "groups", "flags")


class Facts:
    """The facts of rows, given the common text (lists of words)."""

    def __init__(self, prefix, suffix):
        self.prefix, self.suffix = " ".join(prefix), " ".join(suffix)

    def of(self, split, first, items):
        """(rows as dictionaries, names of columns, names of group columns) of what rows_of_file gave."""
        out, sets, columns, group_columns = [], [], set(), set()
        for number, item in enumerate(items, first):
            row = row_of(item)
            made = dict.fromkeys(ROW, 0)
            made.update({"split": split, "row": number, "n_tokens": None, "class": None, "opening": [],
                         "bands": None, "groups": {}})
            out.append(made)
            if row is None:
                made["flags"] = NOT_READABLE
                sets.append(())
                continue
            sets.append(self._fill(made, row))
            columns.update(row)
            group_columns.update(made["groups"])
        for made, bands in zip(out, bands_of(sets)):
            made["bands"] = bands
        return out, columns, group_columns

    def _fill(self, made, row):
        source, target, made["flags"] = parts(row)
        normal_source, normal_target = normal(source), normal(target)
        source_bytes, target_bytes = normal_source.encode(), normal_target.encode()
        made["exact"] = hash_of(source_bytes + b"\n" + target_bytes)
        made["input"], made["target"] = hash_of(source_bytes), hash_of(target_bytes)
        made["n_words"] = source_bytes.count(b" ") + 1 if source_bytes else 0
        made["n_target_words"] = target_bytes.count(b" ") + 1 if target_bytes else 0
        raw_target = utf8(target)
        made["n_bytes"] = len(utf8(source)) + len(raw_target)
        trimmed = raw_target.strip(BLANKS.encode())
        if 0 < len(trimmed) <= CLASS_BYTES and not _surrogate.search(target):
            made["class"] = trimmed.decode()
        at = -1
        while at < len(source_bytes) and len(made["opening"]) < OPENINGS and source_bytes:
            at = source_bytes.find(b" ", at + 1)
            at = len(source_bytes) if at < 0 else at
            made["opening"].append(hash_of(source_bytes[:at]))
        made["groups"] = groups(row)
        text = joined(normal_source, normal_target)
        found = shingles(strip_back(strip_front(text, self.prefix), self.suffix))
        made["n_shingles"] = len(found)
        return found


def _quoted(text):
    return json.dumps(valid(text), ensure_ascii=False)


def row_line(made):
    """A row as its line, without the line feed."""
    bands, name = made["bands"], made["class"]
    return ('{"split":%s,"row":%d,"exact":"%d","input":"%d","target":"%d","n_words":%d,'
            '"n_target_words":%d,"n_shingles":%d,"n_bytes":%d,"n_tokens":null,"class":%s,"opening":[%s],'
            '"bands":%s,"groups":{%s},"flags":%d}') % (
        _quoted(made["split"]), made["row"], made["exact"], made["input"], made["target"],
        made["n_words"], made["n_target_words"], made["n_shingles"], made["n_bytes"],
        "null" if name is None else _quoted(name),
        ",".join('"%d"' % h for h in made["opening"]),
        "null" if bands is None else "[%s]" % ",".join('"%d"' % h for h in bands),
        ",".join('%s:"%d"' % (_quoted(key), h) for key, h in made["groups"].items()), made["flags"])


def candidate_texts(item):
    """(input, target) of a row, as they are."""
    source, target, _ = parts(row_of(item))
    return valid(source), valid(target)


def candidate_line(split, number, item):
    source, target = candidate_texts(item)
    return '{"split":%s,"row":%d,"input":%s,"target":%s}' % (
        _quoted(split), number, json.dumps(source, ensure_ascii=False),
        json.dumps(target, ensure_ascii=False))


def first_names(names):
    """The names that facts.json lists."""
    names = [name for name in names if len(utf8(name)) <= GROUP_BYTES and "\0" not in name]
    return sorted(names, key=utf8)[:MOST_COLUMNS]


def head(made_by, splits, prefix, suffix, columns, group_columns, crowded):
    """The text of facts.json. splits: (name, rows, files); crowded: (band, hash, rows)."""
    return json.dumps({
        "format": FORMAT, "version": VERSION, "made_by": made_by,
        "splits": [{"name": name, "rows": n, "files": files} for name, n, files in splits],
        "prefix": prefix, "suffix": suffix,
        "columns": [valid(name) for name in first_names(columns)],
        "group_columns": [valid(name) for name in first_names(group_columns)],
        "crowded": [{"band": band, "hash": str(h), "rows": n} for band, h, n in sorted(crowded)],
    }, ensure_ascii=False) + "\n"


def summary(path, n_rows, n_candidates):
    return ("%s: %d rows\ncandidates: %d rows with their texts\nnext: flatline check RUN %s (the run's folder "
            "and this one, side by side)" % (path, n_rows, n_candidates, path))


def arguments(program, description, more=None):
    """What both programs take; (options, splits as (name, patterns), training first). more: adds to the
    parser."""
    parser = argparse.ArgumentParser(prog=program, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", action="append", required=True, metavar="NAME=FILES",
                        help="a split and its files, separated by commas, * and ? allowed; repeatable; "
                             "several under one name are one split")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="a folder, which is made")
    parser.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl",
                        help="of the rows that are written (jsonl)")
    if more:
        more(parser)
    options, splits = parser.parse_args(), {}
    for text in options.split:
        name, equals, patterns = text.partition("=")
        if not equals or not name or not patterns:
            parser.error("--split %s: expected NAME=FILES" % text)
        splits.setdefault(name, []).extend(patterns.split(","))
    return options, sorted(splits.items(), key=lambda item: item[0] != "train")
