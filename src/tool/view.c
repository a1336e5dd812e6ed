/* SPDX-License-Identifier: MIT */
#include "tool/view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

static void free_row(view_row *row)
{
    for (unsigned i = 0; i < VIEW_COLUMNS; i++) free(row->cells[i].text);
}

void view_table_free(view_table *table)
{
    for (size_t i = 0; i < table->count; i++) free_row(&table->rows[i]);
    free(table->rows);
    table->rows = NULL;
    table->count = 0;
}

view_row *view_add(view_table *table, const char *key, uint64_t number, const void *about)
{
    if (!model_room((void **)&table->rows, table->count, sizeof *table->rows)) return NULL;
    view_row *row = &table->rows[table->count];
    memset(row, 0, sizeof *row);
    snprintf(row->key, sizeof row->key, "%s", key);
    row->number = number;
    row->about = about;
    row->natural = table->count++;
    return row;
}

void view_text_cell(view_row *row, unsigned column, view_style style, const char *text)
{
    char clean[VIEW_ROOM];
    view_clean(clean, sizeof clean, text, false);
    row->cells[column] = (view_cell){.text = strdup(clean), .is_text = true, .style = style};
}

void view_number_cell(view_row *row, unsigned column, view_style style, double value, const char *text)
{
    row->cells[column] = (view_cell){.text = strdup(text), .value = value, .style = style};
}

void view_cut(view_table *table, size_t most)
{
    for (; table->count > most; table->count--) free_row(&table->rows[table->count - 1]);
}

static const char *text_of(const view_cell *cell)
{
    return cell->text ? cell->text : "";
}

/* ---- Sorted ------------------------------------------------------------------------------------- */

typedef struct order {
    int column;
    int sign; /* -1: reversed */
} order;

static int compare_texts(const char *a, const char *b)
{
    for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++) b++;
    return tolower((unsigned char)*a) - tolower((unsigned char)*b);
}

static int compare(const void *a, const void *b, void *argument)
{
    const view_row *x = a, *y = b;
    const order *o = argument;
    int result = 0;
    if (o->column >= 0) {
        const view_cell *c = &x->cells[o->column], *d = &y->cells[o->column];
        if (c->is_text) result = compare_texts(text_of(c), text_of(d));
        else result = c->value < d->value ? -1 : c->value > d->value;
    }
    if (result) return result * o->sign;
    /* equal rows keep their order from one look to the next */
    result = x->natural < y->natural ? -1 : x->natural > y->natural;
    return o->column < 0 ? result * o->sign : result;
}

void view_sort(view_table *table, int column, bool reverse)
{
    if (table->is_tree || table->count < 2 || column >= (int)table->column_count) return;
    order o = {.column = column, .sign = 1};
    if (column >= 0 && table->columns[column].falls) o.sign = -1;
    if (reverse) o.sign = -o.sign;
    qsort_r(table->rows, table->count, sizeof *table->rows, compare, &o);
}

/* ---- Filtered -------------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

static bool matches(const view_table *table, const view_row *row, const char *text)
{
    for (unsigned i = 0; i < table->column_count; i++)
        if (contains(text_of(&row->cells[i]), text)) return true;
    return false;
}

/* From the end, so that a row of a tree is checked before its ancestors. */
void view_filter(view_table *table, const char *text)
{
    unsigned needed = 0; /* rows of a depth below this are ancestors of a row that is shown */
    size_t kept = table->count;
    if (!*text || table->count == 0) return;
    for (size_t i = table->count; i-- > 0;) {
        view_row *row = &table->rows[i];
        bool above = table->is_tree && row->depth < needed;
        if (above || matches(table, row, text)) {
            needed = row->depth;
            table->rows[--kept] = *row;
        } else {
            free_row(row);
        }
    }
    memmove(table->rows, table->rows + kept, (table->count - kept) * sizeof *table->rows);
    table->count -= kept;
}

void view_keep_from(view_table *table, unsigned column, double least)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].cells[column].value < least) free_row(&table->rows[i]);
        else table->rows[kept++] = table->rows[i];
    }
    table->count = kept;
}

/* ---- As text ------------------------------------------------------------------------------------------ */

static unsigned wish(const view_table *table, unsigned column)
{
    const view_column *c = &table->columns[column];
    unsigned width = view_width(c->title);
    for (size_t i = 0; i < table->count; i++) {
        const view_row *row = &table->rows[i];
        unsigned own = view_width(text_of(&row->cells[column])) + (column == 0 ? row->depth * 2 : 0);
        if (row->cells[column].is_bar) own = c->most;
        if (own > width) width = own;
    }
    return c->most && width > c->most ? c->most : width;
}

static unsigned sum(const view_table *table, const unsigned *widths)
{
    unsigned all = 0;
    for (unsigned i = 0; i < table->column_count; i++) all += widths[i] ? widths[i] + 1 : 0;
    return all ? all - 1 : 0;
}

/* Return the column to leave out next; below 0: none. */
static int least_wanted(const view_table *table, const unsigned *widths)
{
    int found = -1;
    unsigned rank = 0;
    for (unsigned i = 0; i < table->column_count; i++)
        if (widths[i] && table->columns[i].rank > rank) {
            rank = table->columns[i].rank;
            found = (int)i;
        }
    return found;
}

void view_layout(const view_table *table, unsigned columns, unsigned widths[VIEW_COLUMNS])
{
    enum { ENOUGH = 16 }; /* for a column that takes the remaining width */
    unsigned open = table->column_count;
    memset(widths, 0, VIEW_COLUMNS * sizeof *widths);
    for (unsigned i = 0; i < table->column_count; i++) {
        widths[i] = wish(table, i);
        if (table->columns[i].most == 0) open = i;
    }
    if (!columns) return;
    unsigned whole = open < table->column_count ? widths[open] : 0;
    if (whole > ENOUGH) widths[open] = ENOUGH;
    for (int i; sum(table, widths) > columns && (i = least_wanted(table, widths)) >= 0;) widths[i] = 0;
    unsigned used = sum(table, widths);
    if (open < table->column_count && used < columns) widths[open] += columns - used;
    /* a very narrow screen: shrink from the right */
    for (unsigned i = table->column_count; sum(table, widths) > columns && i-- > 0;) {
        unsigned over = sum(table, widths) - columns;
        widths[i] = widths[i] > over ? widths[i] - over : 0;
    }
}

size_t view_cell_text(const view_table *table, const view_row *row, unsigned column, unsigned width, char *out,
                      size_t room)
{
    const view_cell *cell = &row->cells[column];
    char text[VIEW_ROOM + 64];
    if (cell->is_bar) return view_draw_bar(out, room, &cell->bar, width);
    snprintf(text, sizeof text, "%*s%s", column == 0 ? (int)(row->depth * 2) : 0, "", text_of(cell));
    return view_fit(out, room, text, width, table->columns[column].right);
}

static void print_line(FILE *out, char *line, size_t used)
{
    while (used > 0 && line[used - 1] == ' ') used--;
    line[used] = 0;
    fprintf(out, "%s\n", line);
}

void view_print(const view_table *table, FILE *out, unsigned columns)
{
    unsigned widths[VIEW_COLUMNS];
    char line[VIEW_ROOM * 4];
    if (table->count == 0) {
        fprintf(out, "%s\n", table->empty);
        return;
    }
    view_layout(table, columns, widths);
    for (size_t i = 0; i <= table->count; i++) { /* the head first */
        size_t used = 0;
        for (unsigned c = 0; c < table->column_count; c++) {
            if (!widths[c] || used + VIEW_ROOM + 8 > sizeof line) continue;
            if (used) line[used++] = ' ';
            if (i == 0)
                used += view_fit(line + used, sizeof line - used, table->columns[c].title, widths[c],
                                 table->columns[c].right);
            else used += view_cell_text(table, &table->rows[i - 1], c, widths[c], line + used, sizeof line - used);
        }
        print_line(out, line, used);
    }
}
