/* Which server a command, an image or a text names. See server_command.h. */
#include <string.h>

#include "importers/serving/server_command.h"

static const char *last_part(const char *word)
{
    const char *slash = strrchr(word, '/');

    return slash ? slash + 1 : word;
}

enum server server_of_image(const char *image)
{
    static const struct {
        const char *part;
        enum server server;
    } IMAGES[] = {
        {"vllm-openai", SERVER_VLLM},
        {"vllm/vllm", SERVER_VLLM},
        {"sglang", SERVER_SGLANG},
        {"text-generation-inference", SERVER_TGI},
        {"llama.cpp:server", SERVER_LLAMA_CPP},
        {"llama.cpp:light", SERVER_LLAMA_CPP},
        {"ollama/ollama", SERVER_OLLAMA},
    };

    for (size_t i = 0; i < sizeof IMAGES / sizeof *IMAGES; i++)
        if (strstr(image, IMAGES[i].part))
            return IMAGES[i].server;
    return SERVER_NONE;
}

bool server_is_named(struct str text)
{
    static const char *const NAMES[] = {
        "vllm serve",           "vllm.entrypoints", "vllm-openai",  "vllm/vllm",
        "sglang.launch_server", "sglang serve",     "lmsysorg/sglang",
        "text-generation-launcher", "text-generation-inference", "llama-server", "llama-cli",
        "llama_cpp.server",     "llama.cpp:server", "llama.cpp/server", "/server -m", "/main -m",
        "ollama run",
        "ollama create",        "ollama serve",     "ollama/ollama"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (text.n && memmem(text.p, text.n, NAMES[i], strlen(NAMES[i])))
            return true;
    return false;
}

struct starter {
    const char *word, *next;    /* last part of a word; what has to follow, or NULL */
    enum server server;
};

static const struct starter STARTERS[] = {
    {"vllm", "serve", SERVER_VLLM},
    {"-m", "vllm.entrypoints.openai.api_server", SERVER_VLLM},
    {"-m", "vllm.entrypoints.api_server", SERVER_VLLM},
    {"sglang", "serve", SERVER_SGLANG},
    {"-m", "sglang.launch_server", SERVER_SGLANG},
    {"text-generation-launcher", NULL, SERVER_TGI},
    {"llama-server", NULL, SERVER_LLAMA_CPP},
    {"llama-cli", NULL, SERVER_LLAMA_CPP},
    {"llama-server.exe", NULL, SERVER_LLAMA_CPP},
    {"-m", "llama_cpp.server", SERVER_LLAMA_CPP},
    {"ollama", "run", SERVER_OLLAMA},
    {"ollama", "create", SERVER_OLLAMA},
    {"ollama", "serve", SERVER_OLLAMA},
};

/* llama.cpp's programs of before: main, server. Only a GGUF file makes them one. */
static bool is_old_llama(const struct shell_word *words, size_t n)
{
    const char *name = last_part(words[0].text);

    if (strcmp(name, "server") != 0 && strcmp(name, "main") != 0)
        return false;
    for (size_t i = 1; i < n; i++)
        if (str_ends(str_of(words[i].text), ".gguf"))
            return true;
    return false;
}

/* Commands that speak of a server without starting it. */
static bool only_mentions(const char *word)
{
    static const char *const COMMANDS[] = {"echo",  "printf", "grep",  "which",   "pkill", "killall",
                                           "pgrep", "cat",    "type",  "alias",   "pip",   "pip3",
                                           "brew",  "apt",    "curl",  "wget",    "git",   "cmake",
                                           "make",  "cp",     "mv",    "ls",      "rm",    "mkdir",
                                           "ln",    "test",   "[",     "systemctl", "pip-compile"};

    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(last_part(word), COMMANDS[i]) == 0)
            return true;
    return false;
}

bool server_command_find(const struct shell_word *words, size_t n, struct server_command *out)
{
    bool is_container = n > 0 && (strcmp(last_part(words[0].text), "docker") == 0 ||
                                  strcmp(last_part(words[0].text), "podman") == 0 ||
                                  strcmp(words[0].text, "sudo") == 0);

    if (n > 0 && only_mentions(words[0].text))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *name = last_part(words[i].text);

        for (size_t k = 0; k < sizeof STARTERS / sizeof *STARTERS; k++) {
            const struct starter *s = &STARTERS[k];
            size_t used = s->next ? 2 : 1;

            if (strcmp(name, s->word) != 0 ||
                (s->next && (i + 1 >= n || strcmp(words[i + 1].text, s->next) != 0)))
                continue;
            if (s->server == SERVER_OLLAMA)
                used = 1;       /* its own verb says what the next word is */
            *out = (struct server_command){s->server, words + i + used, n - i - used};
            return true;
        }
        if (is_old_llama(words + i, n - i)) {
            *out = (struct server_command){SERVER_LLAMA_CPP, words + i + 1, n - i - 1};
            return true;
        }
        enum server image = is_container && i > 0 && words[i].text[0] != '-'
                                ? server_of_image(words[i].text)
                                : SERVER_NONE;
        if (image == SERVER_NONE || image == SERVER_OLLAMA)
            continue;
        /* A command behind the image may name the server once more. */
        if (!server_command_find(words + i + 1, n - i - 1, out))
            *out = (struct server_command){image, words + i + 1, n - i - 1};
        return true;
    }
    return false;
}

bool server_command_adapts(const struct server_command *command)
{
    static const char *const OPTIONS[] = {"--lora-modules", "--lora-paths",  "--lora-adapters",
                                          "--lora",         "--lora-scaled", "--enable-lora"};

    for (size_t i = 0; i < command->n; i++)
        for (size_t k = 0; k < sizeof OPTIONS / sizeof *OPTIONS; k++) {
            const char *word = command->words[i].text;
            size_t n = strlen(OPTIONS[k]);

            if (strncmp(word, OPTIONS[k], n) == 0 && (word[n] == '\0' || word[n] == '='))
                return true;
        }
    return false;
}
