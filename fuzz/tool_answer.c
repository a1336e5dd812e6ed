/* SPDX-License-Identifier: MIT */
/*
 * Bytes as the answer of a process that is looked at by `cenote top`. Whatever they are, every cell has just the width that
 * it was given, has no sign that a terminal obeys, and no line is longer than the screen. The first byte is the screen's width
 * and whether letters beyond ASCII may be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/explain_advice.h"
#include "tool/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

static void check_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) complain("a text has a control character");
}

static void check_detail(view_pane pane, const view_row *row, unsigned columns)
{
    view_page page = view_detail(pane, row, columns);
    check_text(page.title);
    for (size_t i = 0; i < page.count; i++) check_text(page.lines[i]);
    view_page_free(&page);
}

static void check_table(view_pane pane, view_table *table, unsigned columns)
{
    unsigned widths[VIEW_COLUMNS], all = 0;
    char text[VIEW_ROOM * 4];
    view_layout(table, columns, widths);
    for (unsigned c = 0; c < table->column_count; c++) {
        all += widths[c] ? widths[c] + (all > 0) : 0;
        for (size_t i = 0; i < table->count && widths[c]; i++) {
            view_cell_text(table, &table->rows[i], c, widths[c], text, sizeof text);
            check_text(text);
            if (view_width(text) != widths[c]) complain("a cell has another width than it was given");
        }
    }
    if (all > columns) complain("a line is longer than the screen");
    for (size_t i = 0; i < table->count && i < 8; i++) check_detail(pane, &table->rows[i], columns);
}

static void check_model(const model *m, json_t *events, unsigned columns)
{
    for (int pane = 0; pane < PANES; pane++) {
        view_table table = view_of((view_pane)pane, m, events);
        check_table((view_pane)pane, &table, columns);
        view_sort(&table, (int)(columns % 14) - 1, columns & 1);
        view_filter(&table, "a");
        check_table((view_pane)pane, &table, columns);
        view_table_free(&table);
    }
    for (size_t i = 0; i < m->pool_count; i++) {
        char text[400];
        explain_judge(&m->pools[i]);
        explain_advise(m, &m->pools[i], text, sizeof text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) return 0;
    view_begin();
    view_is_wide = view_is_wide && (bytes[0] & 128);
    json_t *answer = json_loadb((const char *)bytes + 1, size - 1, 0, NULL);
    /* Twice the same is no time between them; without the first it is all time. */
    json_t *before = json_deep_copy(answer);
    if (json_is_object(before)) json_object_set_new(before, "now_ns", json_integer(model_number(answer, "now_ns") / 2));
    model *m = model_new(bytes[0] & 1 ? before : NULL, answer);
    if (m) check_model(m, json_object_get(answer, "events"), 1 + (bytes[0] & 127));
    model_free(m);
    json_decref(before);
    json_decref(answer);
    return 0;
}
