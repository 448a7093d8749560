/* Compiling a template and rendering it: the two ends of the engine. See jinja.h. */
#include "core/text/jinja/jinja.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/compiler.h"

#define PROGRAM_BYTES ((size_t)256 << 20)
#define FOLD_BYTES    ((size_t)16 << 20)
#define COMPILE_WORK  UINT64_C(200000000)

const char *jinja_fault_name(enum jinja_fault fault)
{
    static const char *const names[] = {"syntax", "runtime", "raised", "limit"};

    return names[fault];
}

/* ---- for the compiler's parts ---- */

void *jinja_compiler_take(struct compiler *c, size_t n, size_t size)
{
    void *out = arena_array(c->arena, n, size);

    if (!out)
        jinja_too_much(&c->vm, "memory");
    return out;
}

void jinja_compiler_fail(struct compiler *c, int line, const char *fmt, ...)
{
    char message[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    c->vm.line = line;
    jinja_fail(&c->vm, JINJA_SYNTAX, "%s", message);
}

void jinja_compiler_work(struct compiler *c, size_t n)
{
    c->work += n + 1;
    if (c->work > COMPILE_WORK)
        jinja_too_much(&c->vm, "names");
}

static uint32_t hash_name(struct str name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * 16777619u;
    return hash;
}

static void grow_names(struct compiler *c)
{
    struct jinja_program *program = c->program;
    uint32_t size = program->name_mask ? (program->name_mask + 1) * 2 : 128;

    program->name_table = jinja_compiler_take(c, size, sizeof *program->name_table);
    program->name_mask = size - 1;
    for (size_t i = 0; i < program->n_names; i++) {
        uint32_t at = hash_name(program->names[i]) & program->name_mask;

        while (program->name_table[at])
            at = (at + 1) & program->name_mask;
        program->name_table[at] = (uint32_t)i + 1;
    }
}

uint16_t jinja_name_id(struct compiler *c, struct str name)
{
    struct jinja_program *program = c->program;
    uint32_t at;

    if (program->n_names * 2 >= program->name_mask)
        grow_names(c);
    for (at = hash_name(name) & program->name_mask; program->name_table[at];
         at = (at + 1) & program->name_mask)
        if (str_eq(program->names[program->name_table[at] - 1], name))
            return (uint16_t)(program->name_table[at] - 1);
    if (program->n_names >= UINT16_MAX - 2)
        jinja_too_much(&c->vm, "names");
    if (program->n_names == program->names_capacity) {
        size_t capacity = program->names_capacity ? program->names_capacity * 2 : 64;
        struct str *grown = jinja_compiler_take(c, capacity, sizeof *grown);

        if (program->n_names)
            memcpy(grown, program->names, program->n_names * sizeof *grown);
        program->names = grown;
        program->names_capacity = capacity;
    }
    program->names[program->n_names] = name;
    program->name_table[at] = (uint32_t)program->n_names + 1;
    return (uint16_t)program->n_names++;
}

/* ---- compiling ---- */

/* CR and CR LF become LF, one newline at the end goes. */
static struct str own_text(struct compiler *c, struct str text)
{
    char *out = jinja_compiler_take(c, text.n + 1, 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\r') {
            out[n++] = '\n';
            i += i + 1 < text.n && text.p[i + 1] == '\n';
        } else {
            out[n++] = text.p[i];
        }
    }
    if (n && out[n - 1] == '\n')
        n--;
    return str_from(out, n);
}

static void compile(struct compiler *c, struct str text)
{
    c->program->text = own_text(c, text);
    jinja_lex(c);
    jinja_parse(c);
    jinja_resolve_names(c);
}

static int compile_guarded(struct compiler *c, struct str text, struct error *err)
{
    static const struct json nothing = {.type = JSON_OBJECT};
    static const struct jinja_settings settings;
    jmp_buf jump;
    char here;

    c->vm.program = c->program;
    c->vm.context = &nothing;
    c->vm.settings = &settings;
    c->vm.jump = &jump;
    c->vm.step_limit = UINT64_MAX;
    c->vm.memory_limit = FOLD_BYTES;
    c->vm.depth_limit = JINJA_DEPTH;
    c->vm.stack = &here;
    if (setjmp(jump) == 0) {
        compile(c, text);
        return OK;
    }
    return error_set(err, E_PARSE, "line %d of the template: %s", c->vm.failure->line,
                     c->vm.failure->message);
}

int jinja_compile(struct jinja_program **out, struct str text, struct jinja_failure *failure,
                  struct error *err)
{
    struct jinja_failure ignored;
    struct arena *arena = arena_open(PROGRAM_BYTES);
    struct jinja_program *program = arena ? arena_alloc(arena, sizeof *program) : NULL;
    struct compiler *c = arena ? arena_alloc(arena, sizeof *c) : NULL;
    int rc;

    if (!program || !c) {
        arena_close(arena);
        return error_set(err, E_NOMEM, "no memory for a template");
    }
    program->arena = arena;
    program->memory = jinja_memory_open();
    if (!program->memory) {
        arena_close(arena);
        return error_set(err, E_NOMEM, "no memory for a template");
    }
    c->program = program;
    c->arena = arena;
    c->vm.memory = program->memory;
    c->vm.failure = failure ? failure : &ignored;
    rc = compile_guarded(c, text, err);
    if (rc != OK) {
        jinja_close(program);
        return rc;
    }
    *out = program;
    return OK;
}

void jinja_close(struct jinja_program *program)
{
    if (!program)
        return;
    jinja_memory_close(program->memory);
    arena_close(program->arena);
}

bool jinja_has_generation(const struct jinja_program *program)
{
    return program->has_generation;
}

bool jinja_uses_clock(const struct jinja_program *program)
{
    return program->uses_clock;
}

/* ---- rendering ---- */

static int prepare(struct jinja_output *output, const struct jinja_settings *settings,
                   struct error *err)
{
    size_t limit = settings->output_bytes ? settings->output_bytes : JINJA_OUTPUT_BYTES;

    if (!output->memory)
        output->memory = jinja_memory_open();
    if (!output->memory)
        return error_set(err, E_NOMEM, "no memory for a render");
    jinja_memory_reset(output->memory);
    if (!output->text.p)
        buf_init(&output->text, limit);
    buf_clear(&output->text);
    output->text.limit = limit;
    output->n_generation = 0;
    output->n_pieces = 0;
    return OK;
}

/* Beyond the text end spans of blocks inside of macros, as transformers has them; bytes end with
 * it. */
static void clamp_spans(struct jinja_output *output)
{
    for (size_t i = 0; i < output->n_generation; i++) {
        if (output->generation[i].end > output->text.n)
            output->generation[i].end = output->text.n;
        if (output->generation[i].begin > output->text.n)
            output->generation[i].begin = output->text.n;
    }
}

static void run(struct vm *vm)
{
    const struct jinja_program *program = vm->program;
    struct activation *act;

    vm->vars = jinja_take_array(vm, program->n_names + 1, sizeof *vm->vars);
    memset(vm->vars, 0, (program->n_names + 1) * sizeof *vm->vars);
    vm->resolved = jinja_take_array(vm, program->n_names + 1, sizeof *vm->resolved);
    memset(vm->resolved, 0, (program->n_names + 1) * sizeof *vm->resolved);
    act = jinja_activation_new(vm, program->function, NULL);
    jinja_scope_enter(vm, &program->scope, act);
    jinja_exec(vm, &program->body, act);
}

int jinja_render(const struct jinja_program *program, const struct json *context,
                 const struct jinja_settings *settings, struct jinja_output *output,
                 struct jinja_failure *failure, struct error *err)
{
    struct jinja_failure ignored = {.kind = JINJA_RUNTIME};
    jmp_buf jump;
    struct vm vm;
    char here;
    int rc = prepare(output, settings, err);

    if (rc != OK)
        return rc;
    vm = (struct vm){
        .program = program,
        .context = context,
        .settings = settings,
        .output = output,
        .memory = output->memory,
        .failure = failure ? failure : &ignored,
        .jump = &jump,
        .step_limit = settings->steps ? settings->steps : JINJA_STEPS,
        .memory_limit = settings->memory_bytes ? settings->memory_bytes : JINJA_MEMORY_BYTES,
        .depth_limit = settings->depth ? settings->depth : JINJA_DEPTH,
        .stack = &here,
    };
    if (setjmp(jump) == 0) {
        run(&vm);
        if (output->text.capacity)
            output->text.p[output->text.n] = '\0';
        clamp_spans(output);
        return OK;
    }
    if (output->text.capacity)
        output->text.p[output->text.n] = '\0';
    return error_set(err, E_PARSE, "line %d of the template: %s", vm.failure->line,
                     vm.failure->message);
}

void jinja_output_free(struct jinja_output *output)
{
    buf_free(&output->text);
    free(output->generation);
    free(output->pieces);
    jinja_memory_close(output->memory);
    *output = (struct jinja_output){0};
}
