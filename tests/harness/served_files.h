/* Files of the serving side that several tests need. */
#ifndef TESTS_HARNESS_SERVED_FILES_H
#define TESTS_HARNESS_SERVED_FILES_H

/* A GGUF file of a byte-level BPE: its tokens are the byte alphabet (0 … 255), He (256), re (257), then
 * <s>, <|im_start|>, <|im_end|>, <|endoftext|> (258 … 261), which are control tokens. */
struct served_gguf {
    const char *chat_template;  /* NULL: none */
    const char *bos, *eos;      /* texts of tokens; NULL: not stated */
    int adds_bos;               /* -1: not stated */
    const char *pre;            /* NULL: qwen2 */
};
void served_gguf_write(const char *folder, const char *name, const struct served_gguf *gguf);

#endif
