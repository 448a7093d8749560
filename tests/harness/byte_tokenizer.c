/* A tokenizer of bytes. See byte_tokenizer.h. */
#include "tests/harness/byte_tokenizer.h"

#include <string.h>

#include "core/base/unicode.h"
#include "tests/harness/tempdir.h"

#define CHATML                                                                                     \
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\\\n' + m['content'] + '<|im_end|>' + " \
    "'\\\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\\\n' }}{% endif %}"

/* How byte-level vocabularies spell a byte. */
static int32_t spelling(int byte)
{
    int32_t n = 256;

    for (int b = 0; b < 256; b++) {
        bool is_itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;

        if (b == byte)
            return is_itself ? b : n;
        n += !is_itself;
    }
    return 0;
}

static void put_vocabulary(struct buf *out)
{
    for (int b = 0; b < 256; b++) {
        char text[4];
        int32_t c = spelling(b);
        size_t n = unicode_put(text, c);

        buf_printf(out, "%s\"%s%.*s\": %d", b ? ", " : "", c == '"' || c == '\\' ? "\\" : "", (int)n,
                   text, b);
    }
}

void byte_tokenizer_write(const char *folder)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    buf_puts(&out, "{\"version\": \"1.0\", \"added_tokens\": [");
    buf_puts(&out, "{\"id\": 256, \"content\": \"<|im_start|>\", \"single_word\": false, \"lstrip\": false,"
                   " \"rstrip\": false, \"normalized\": false, \"special\": true}, ");
    buf_puts(&out, "{\"id\": 257, \"content\": \"<|im_end|>\", \"single_word\": false, \"lstrip\": false,"
                   " \"rstrip\": false, \"normalized\": false, \"special\": true}], ");
    buf_puts(&out, "\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": "
                   "false, \"trim_offsets\": false, \"use_regex\": false}, \"post_processor\": null, "
                   "\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {");
    put_vocabulary(&out);
    buf_puts(&out, "}, \"merges\": []}}\n");
    tempdir_write_text(folder, "tokenizer.json", out.p);
    buf_free(&out);
    tempdir_write_text(folder, "tokenizer_config.json",
                       "{\"eos_token\": \"<|im_end|>\", \"chat_template\": \"" CHATML "\"}\n");
}

void byte_row(struct buf *out, const char *text, size_t first, size_t end)
{
    size_t n = strlen(text);

    buf_puts(out, "{\"input_ids\": [");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%d", i ? ", " : "",
                   text[i] == '{' ? BYTE_TURN : text[i] == '}' ? BYTE_END : (int)(unsigned char)text[i]);
    buf_puts(out, "], \"labels\": [");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%d", i ? ", " : "",
                   i < first || i >= end ? -100
                   : text[i] == '{'      ? BYTE_TURN
                   : text[i] == '}'      ? BYTE_END
                                         : (int)(unsigned char)text[i]);
    buf_puts(out, "]}\n");
}
