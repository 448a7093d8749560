/* The script of the health check. It compares texts as JSON writes them, so that it needs no more than
 * sh, awk and curl. */
#include "core/exports/healthcheck_parts.h"

static const char HEAD[] =
    "#!/bin/sh\n"
    "# Does the server answer with the tuned model?\n"
    "#   sh healthcheck.sh BASE_URL MODEL [BASE_MODEL]\n"
    "# Exit status: 0 at least one answer begins as expected or differs from the base's, 1 all are the\n"
    "# base's: the adapter is not loaded, 2 no answer, or nothing to compare with.\n"
    "if [ $# -lt 2 ]; then\n"
    "    echo 'usage: sh healthcheck.sh BASE_URL MODEL [BASE_MODEL]' >&2\n"
    "    exit 2\n"
    "fi\n"
    "url=${1%/}\n"
    "model=$2\n"
    "base=${3:-}\n"
    "out=${HEALTHCHECK_OUT:-healthcheck.out.jsonl}\n"
    "asked=0\n"
    "tuned=0\n"
    "same=0\n"
    "\n"
    "as_json() {         # a text between the quotes of JSON\n"
    "    printf '%s' \"$1\" | sed 's/[\\\\\"]/\\\\&/g'\n"
    "}\n"
    "# The first answer of a response, between its quotes as JSON has it.\n"
    "answer_of() {\n"
    "    tr -d '\\n\\r' | awk '{\n"
    "        at = index($0, \"\\\"choices\\\"\")\n"
    "        if (!at) exit 1\n"
    "        text = substr($0, at)\n"
    "        if (!match(text, /\"content\"[ \\t]*:[ \\t]*\"([^\"\\\\]|\\\\.)*\"/)) exit 1\n"
    "        text = substr(text, RSTART, RLENGTH)\n"
    "        sub(/^\"content\"[ \\t]*:[ \\t]*\"/, \"\", text)\n"
    "        print substr(text, 1, length(text) - 1)\n"
    "    }'\n"
    "}\n"
    "ask() {             # model messages: the answer on standard output\n"
    "    curl -sS --max-time 120 -H 'Content-Type: application/json' "
    "${OPENAI_API_KEY:+-H \"Authorization: Bearer $OPENAI_API_KEY\"} \\\n"
    "        -d \"{\\\"model\\\": \\\"$(as_json \"$1\")\\\", \\\"temperature\\\": 0, \\\"max_tokens\\\": 64, "
    "\\\"seed\\\": 0, \\\"messages\\\": $2}\" \\\n"
    "        \"$url/v1/chat/completions\" | answer_of\n"
    "}\n"
    "keep() {            # id model answer\n"
    "    printf '{\"id\": %s, \"model\": \"%s\", \"output\": \"%s\"}\\n' \"$1\" \"$(as_json \"$2\")\" \"$3\" "
    ">> \"$out\"\n"
    "}\n"
    "try() {             # id messages expected-beginning known-answer-of-the-base\n"
    "    got=$(ask \"$model\" \"$2\") || got=\n"
    "    if [ -z \"$got\" ]; then\n"
    "        echo \"prompt $1: no answer\"\n"
    "        return\n"
    "    fi\n"
    "    asked=$((asked + 1))\n"
    "    keep \"$1\" \"$model\" \"$got\"\n"
    "    theirs=$4\n"
    "    if [ -n \"$base\" ]; then\n"
    "        theirs=$(ask \"$base\" \"$2\") || theirs=\n"
    "        [ -n \"$theirs\" ] && keep \"$1\" base \"$theirs\"\n"
    "    fi\n"
    "    case \"$got\" in\n"
    "    \"$3\"*)\n"
    "        if [ -n \"$3\" ] && [ \"$got\" != \"$theirs\" ]; then\n"
    "            tuned=$((tuned + 1))\n"
    "            echo \"prompt $1: begins as the tuned model should\"\n"
    "            return\n"
    "        fi ;;\n"
    "    esac\n"
    "    if [ -z \"$theirs\" ]; then\n"
    "        echo \"prompt $1: other than expected, and no answer of the base to compare with\"\n"
    "    elif [ \"$got\" = \"$theirs\" ]; then\n"
    "        same=$((same + 1))\n"
    "        echo \"prompt $1: the answer of the base\"\n"
    "    else\n"
    "        tuned=$((tuned + 1))\n"
    "        echo \"prompt $1: differs from the base\"\n"
    "    fi\n"
    "}\n"
    "\n";

static const char TAIL[] =
    "\n"
    "if [ \"$tuned\" -gt 0 ]; then\n"
    "    echo \"the adapter is loaded ($tuned of $asked)\"\n"
    "    exit 0\n"
    "fi\n"
    "if [ \"$same\" -gt 0 ] && [ \"$same\" = \"$asked\" ]; then\n"
    "    echo 'all answers are those of the base: the adapter is not loaded'\n"
    "    exit 1\n"
    "fi\n"
    "[ \"$asked\" -gt 0 ] || echo 'no answer'\n"
    "exit 2\n";

/* 'text' for the shell. */
static void put_quoted(struct buf *out, struct str text)
{
    buf_putc(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, text.p[i]);
    }
    buf_putc(out, '\'');
}

/* As JSON writes it, without its quotes. */
static void put_json_text(struct buf *out, struct str text)
{
    struct buf json;

    buf_init(&json, (size_t)16 << 20);
    if (text.p && text.n) {
        json_write_string(&json, text);
        put_quoted(out, str_from(json.p + 1, json.n - 2));
    } else {
        buf_puts(out, "''");
    }
    buf_free(&json);
}

int health_write_script(const struct health *health, const struct made_folder *folder,
                        struct error *err)
{
    struct buf text;

    buf_init(&text, (size_t)64 << 20);
    buf_puts(&text, HEAD);
    for (size_t i = 0; i < health->n; i++) {
        const struct health_prompt *prompt = &health->prompts[i];

        buf_printf(&text, "try %zu ", i + 1);
        put_quoted(&text, prompt->messages);
        buf_putc(&text, ' ');
        put_json_text(&text, prompt->expect_prefix);
        buf_putc(&text, ' ');
        put_json_text(&text, str_trim(prompt->base_output));
        buf_putc(&text, '\n');
    }
    buf_puts(&text, TAIL);
    int rc = made_file_write(folder, "healthcheck.sh", &text, "asks the server", err);
    buf_free(&text);
    return rc;
}
