/* The families of templates that servers and trainers know by name: llama.cpp's and vLLM's built-in ones,
 * LLaMA-Factory's, axolotl's and FastChat's. A name that means different formats in them is left out. */
#include <ctype.h>
#include <string.h>

#include "core/text/prompt.h"

enum marker_family prompt_family_by_name(const char *name)
{
    /* Beginnings; the longer one of two that fit stands first. */
    static const struct {
        const char *begin;
        enum marker_family family;
    } NAMES[] = {
        {"chatml", FAMILY_CHATML},      {"qwen", FAMILY_CHATML},
        {"yi", FAMILY_CHATML},          {"smollm", FAMILY_CHATML},
        {"hermes", FAMILY_CHATML},      {"llama4", FAMILY_OTHER},
        {"llama3", FAMILY_LLAMA3},      {"llama2zh", FAMILY_INST},
        {"llama2", FAMILY_INST},        {"mistral", FAMILY_INST},
        {"mixtral", FAMILY_INST},       {"gemma", FAMILY_GEMMA},
        {"zephyr", FAMILY_ZEPHYR},      {"phi4", FAMILY_NONE},
        {"phi3", FAMILY_ZEPHYR},        {"phi35", FAMILY_ZEPHYR},
        {"deepseek3", FAMILY_DEEPSEEK}, {"deepseekr1", FAMILY_DEEPSEEK},
        {"deepseekv3", FAMILY_DEEPSEEK}, {"alpaca", FAMILY_ALPACA},
        {"vicuna", FAMILY_VICUNA},      {"chatglm3", FAMILY_CHATGLM},
        {"chatglm4", FAMILY_CHATGLM},   {"glm4", FAMILY_CHATGLM},
    };
    char plain[64];
    size_t n = 0;

    for (; *name && n < sizeof plain - 1; name++)
        if (isalnum((unsigned char)*name))
            plain[n++] = (char)tolower((unsigned char)*name);
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strncmp(plain, NAMES[i].begin, strlen(NAMES[i].begin)) == 0)
            return NAMES[i].family;
    return FAMILY_NONE;
}
