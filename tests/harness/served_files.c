/* Files of the serving side for tests. See served_files.h. */
#include "tests/harness/served_files.h"

#include <string.h>

#include "tests/harness/gguf_bytes.h"
#include "tests/harness/tempdir.h"

#define N_BYTES   256
#define N_MERGED  2
#define N_SPECIAL 4
#define FIRST     (N_BYTES + N_MERGED) /* id of the first special token */

static const char *const SPECIAL[N_SPECIAL] = {"<s>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"};

/* GPT-2's alphabet: printable bytes stand for themselves, the others from U+0100 on. */
static void byte_letter(int byte, int *n_other, char out[4])
{
    bool is_own = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    int code = is_own ? byte : 256 + (*n_other)++;

    memset(out, 0, 4);
    if (code < 0x80) {
        out[0] = (char)code;
        return;
    }
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
}

static void put_id(struct gguf_bytes *g, const char *key, const char *text)
{
    for (uint32_t i = 0; text && i < N_SPECIAL; i++)
        if (strcmp(SPECIAL[i], text) == 0)
            gguf_put_u32(g, key, FIRST + i);
}

static void put_tokens(struct gguf_bytes *g)
{
    char letters[N_BYTES][4];
    const char *tokens[FIRST + N_SPECIAL] = {NULL};
    int32_t types[FIRST + N_SPECIAL];
    static const char *const merged[N_MERGED] = {"He", "re"}, *const merges[] = {"H e", "r e"};
    int n_other = 0;

    for (int i = 0; i < N_BYTES; i++) {
        byte_letter(i, &n_other, letters[i]);
        tokens[i] = letters[i];
        types[i] = 1;
    }
    for (int i = 0; i < N_MERGED; i++) {
        tokens[N_BYTES + i] = merged[i];
        types[N_BYTES + i] = 1;
    }
    for (int i = 0; i < N_SPECIAL; i++) {
        tokens[FIRST + i] = SPECIAL[i];
        types[FIRST + i] = 3;
    }
    gguf_put_texts(g, "tokenizer.ggml.tokens", tokens, FIRST + N_SPECIAL);
    gguf_put_ints(g, "tokenizer.ggml.token_type", types, FIRST + N_SPECIAL);
    gguf_put_texts(g, "tokenizer.ggml.merges", merges, N_MERGED);
}

void served_gguf_write(const char *folder, const char *name, const struct served_gguf *gguf)
{
    struct gguf_bytes g;
    struct buf file;

    gguf_bytes_init(&g);
    buf_init(&file, 1 << 20);
    gguf_put_text(&g, "general.architecture", "qwen2");
    gguf_put_u32(&g, "qwen2.context_length", 32768);
    gguf_put_text(&g, "tokenizer.ggml.model", "gpt2");
    gguf_put_text(&g, "tokenizer.ggml.pre", gguf->pre ? gguf->pre : "qwen2");
    put_tokens(&g);
    put_id(&g, "tokenizer.ggml.bos_token_id", gguf->bos);
    put_id(&g, "tokenizer.ggml.eos_token_id", gguf->eos);
    if (gguf->adds_bos >= 0)
        gguf_put_bool(&g, "tokenizer.ggml.add_bos_token", gguf->adds_bos == 1);
    if (gguf->chat_template)
        gguf_put_text(&g, "tokenizer.chat_template", gguf->chat_template);
    gguf_put_tensor(&g, "token_embd.weight", 0, 8, 4, 128);
    gguf_bytes_write(&g, &file);
    tempdir_write(folder, name, file.p, file.n);
    buf_free(&file);
    gguf_bytes_free(&g);
}
