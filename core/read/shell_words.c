/* A splitter for shell lines: knows words and quotes, no grammar. */
#include "core/read/shell_words.h"

#include <string.h>

struct word_state {
    struct buf text;
    bool is_open, has_variable;
    int64_t line;
};

struct list {
    struct shell_word *words;
    size_t n, capacity;
};

static void take(struct shell_reader *reader)
{
    if (reader->text.p[0] == '\n')
        reader->line++;
    reader->text = str_skip(reader->text, 1);
}

static void close_word(struct word_state *word, struct list *list, struct arena *arena)
{
    if (!word->is_open)
        return;
    if (list->n == list->capacity && list->n < SHELL_MAX_WORDS) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;

        list->words = arena_grow(arena, list->words, list->n * sizeof *list->words,
                                 capacity * sizeof *list->words);
        list->capacity = list->words ? capacity : 0;
    }
    if (list->words && list->n < list->capacity && !word->text.failed)
        list->words[list->n++] = (struct shell_word){
            arena_strndup(arena, word->text.p ? word->text.p : "", word->text.n), word->line,
            word->has_variable};
    buf_clear(&word->text);
    word->is_open = word->has_variable = false;
}

static void open_word(struct word_state *word, int64_t line)
{
    if (!word->is_open)
        word->line = line;
    word->is_open = true;
}

/* At the opening quote; ends after the closing one, or at the end of the text. */
static void take_quoted(struct shell_reader *reader, struct word_state *word)
{
    char quote = reader->text.p[0];

    open_word(word, reader->line);
    take(reader);
    while (reader->text.n && reader->text.p[0] != quote) {
        char c = reader->text.p[0];

        if (quote == '"' && c == '\\' && reader->text.n > 1 &&
            strchr("\"\\$`\n", reader->text.p[1])) {
            take(reader);
            if (reader->text.p[0] != '\n')
                buf_putc(&word->text, reader->text.p[0]);
        } else {
            word->has_variable |= quote == '"' && (c == '$' || c == '`');
            buf_putc(&word->text, c);
        }
        take(reader);
    }
    if (reader->text.n)
        take(reader);
}

static void take_escaped(struct shell_reader *reader, struct word_state *word)
{
    take(reader);
    if (reader->text.n && reader->text.p[0] == '\r')
        take(reader); /* a continuation in a file with CRLF */
    if (reader->text.n == 0)
        return;
    if (reader->text.p[0] != '\n') {
        open_word(word, reader->line);
        buf_putc(&word->text, reader->text.p[0]);
    }
    take(reader);
}

static void skip_comment(struct shell_reader *reader)
{
    while (reader->text.n && reader->text.p[0] != '\n')
        take(reader);
}

/* One step; true when the command ends here. */
static bool step(struct shell_reader *reader, struct word_state *word, struct list *list,
                 struct arena *arena)
{
    char c = reader->text.p[0];

    switch (c) {
    case '\'':
    case '"':
        take_quoted(reader, word);
        return false;
    case '\\':
        take_escaped(reader, word);
        return false;
    case '#':
        if (word->is_open)
            break;
        skip_comment(reader);
        return false;
    case ' ':
    case '\t':
    case '\r':
        close_word(word, list, arena);
        take(reader);
        return false;
    case '\n':
    case ';':
    case '&':
    case '|':
        close_word(word, list, arena);
        take(reader);
        return true;
    default:
        break;
    }
    open_word(word, reader->line);
    word->has_variable |= c == '$' || c == '`';
    buf_putc(&word->text, c);
    take(reader);
    return false;
}

bool shell_next(struct shell_reader *reader, struct arena *arena, struct shell_command *out)
{
    struct word_state word = {.line = reader->line};
    struct list list = {0};
    bool is_end = false;

    buf_init(&word.text, (size_t)1 << 20);
    while (reader->text.n && !arena_failed(arena) && !(is_end && list.n))
        is_end = step(reader, &word, &list, arena);
    close_word(&word, &list, arena);
    buf_free(&word.text);
    *out = (struct shell_command){list.words, list.n};
    return list.n > 0 && !arena_failed(arena);
}
