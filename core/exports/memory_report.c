/* `flatline memory` as text. See memory_report.h. */
#include "core/exports/memory_report.h"

#include <stdio.h>

#include "core/base/number.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"

static const char *size_text(char out[32], double bytes)
{
    if (bytes > 0.0)
        number_bytes(out, bytes);
    else
        snprintf(out, 32, "-");
    return out;
}

static void write_phases(struct buf *out, const struct memory_estimate *estimate)
{
    char a[32], b[32], c[32], d[32], e[32], f[32];

    buf_puts(out, "phase                   weights   gradients   optimiser activations      logits"
                  "       total\n");
    for (int i = 0; i < N_PHASES; i++) {
        const struct memory_parts *parts = &estimate->phases[i];

        if (parts->total <= 0.0)
            continue;
        buf_printf(out, "%-18s %12s%12s%12s%12s%12s%12s%s\n",
                   memory_phase_name((enum memory_phase)i), size_text(a, parts->weights),
                   size_text(b, parts->gradients), size_text(c, parts->optimiser),
                   size_text(d, parts->activations),
                   size_text(e, parts->logits + parts->kv_cache + parts->predictions),
                   size_text(f, parts->total),
                   i == (int)estimate->peak && i != PHASE_EVALUATION ? "  <- peak" : "");
    }
}

static void write_missing(struct buf *out, const struct memory_facts *memory)
{
    const struct memory_shape *shape = &memory->shape;

    buf_puts(out, "not estimated, missing:\n");
    if (shape->layers <= 0.0 || shape->hidden <= 0.0)
        buf_puts(out, "  the base model's config.json (layers, hidden size, vocabulary)\n");
    if (memory->settings.micro_batch <= 0.0)
        buf_puts(out, "  per_device_train_batch_size (training_args.bin or the config)\n");
    if (memory->settings.sequence <= 0.0)
        buf_puts(out, "  max_length or the row lengths (lengths.csv)\n");
    if (shape->n_trainable <= 0.0)
        buf_puts(out, "  the trainable parameters (the log's banner, or adapter_config.json)\n");
}

static void write_ladder(struct buf *out, const struct ladder *ladder, double capacity)
{
    char size[32], alone[32];

    buf_puts(out, "\nwhat to change, cheapest first\n");
    for (size_t i = 0; i < ladder->n; i++) {
        const struct rung *rung = &ladder->rungs[i];

        if (rung->is_taken) {
            buf_printf(out, "  %-3s (%s)\n", rung->id, rung->why_not ? rung->why_not : "already on");
            continue;
        }
        buf_printf(out, "%s %-3s %s\n", (ptrdiff_t)i == ladder->proposal ? ">" : " ", rung->id,
                   rung->change);
        buf_printf(out, "      %s; price: %s\n", rung->setting, rung->price);
        if (rung->estimate > 0.0)
            buf_printf(out, "      peak %s with the rungs above it, %s alone%s\n",
                       size_text(size, rung->estimate), size_text(alone, rung->alone),
                       rung->fits ? "; fits" : "");
    }
    if (capacity <= 0.0)
        buf_puts(out, "the GPU's memory is not known: --gpu 24G says which rung is enough\n");
    else if (ladder->proposal >= 0)
        buf_printf(out, "> is %s\n", ladder->proposal_is_single
                                         ? "enough by itself"
                                         : "the last of the changes that are needed together");
}

/* Allocated and asked in the first out-of-memory message that states them. */
static double measured_bytes(const struct oom_events *events)
{
    for (size_t i = 0; i < events->n; i++)
        if (events->events[i].allocated > 0.0)
            return events->events[i].allocated + events->events[i].asked;
    return 0.0;
}

int memory_report(struct buf *out, const struct run_facts *facts, struct error *err)
{
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    struct memory_facts memory;
    struct memory_estimate estimate;
    struct oom_events events;
    struct ladder ladder;
    char size[32];

    if (!arena)
        return error_set(err, E_NOMEM, "memory report");
    memory_facts_read(facts, &memory);
    oom_events_read(facts, arena, &events);
    memory.ladder.measured = measured_bytes(&events);
    buf_printf(out, "GPU memory: %s\n", memory.ladder.capacity > 0.0
                                            ? size_text(size, memory.ladder.capacity)
                                            : "not known");
    if (memory.ladder.measured > 0.0)
        buf_printf(out, "measured at the out-of-memory message: %s allocated and asked for\n",
                   size_text(size, memory.ladder.measured));
    memory_estimate(&memory.shape, &memory.settings, &estimate);
    if (estimate.is_known)
        write_phases(out, &estimate);
    else
        write_missing(out, &memory);
    oom_ladder(&memory.shape, &memory.settings, &memory.ladder, memory.dialect, &ladder);
    if (ladder.scale < 0.999 || ladder.scale > 1.001)
        buf_printf(out, "estimates are scaled by %.2f, measured against estimated\n", ladder.scale);
    write_ladder(out, &ladder, memory.ladder.capacity);
    arena_close(arena);
    return OK;
}
