/* SPDX-License-Identifier: MIT */
#include "tool/screen.h"

#include <ncursesw/curses.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/words.h"

enum { LEAST_COLUMNS = 40, LEAST_LINES = 10, LINE_ROOM = VIEW_ROOM * 2 };

static SCREEN *terminal;
static bool has_colours;

/* ---- Start and end ---------------------------------------------------------------------------- */

static void set_colours(bool wanted)
{
    static const short inks[STYLES] = {
        [STYLE_GOOD] = COLOR_GREEN, [STYLE_WARN] = COLOR_YELLOW, [STYLE_BAD] = COLOR_RED, [STYLE_ACCENT] = COLOR_CYAN};
    has_colours = wanted && has_colors() && start_color() == OK;
    if (!has_colours) return;
    use_default_colors();
    for (short i = 0; i < STYLES; i++)
        if (inks[i]) init_pair((short)(i + 1), inks[i], -1);
}

/* A terminal that cannot move its cursor would only scroll. */
static bool can_place_cursor(void)
{
    const char *how = tigetstr("cup");
    return how && how != (char *)-1;
}

bool screen_begin(bool colour, char *why, size_t room)
{
    const char *name = getenv("TERM");
    terminal = newterm(NULL, stdout, stdin);
    if (terminal && !can_place_cursor()) screen_end();
    if (!terminal) {
        snprintf(why, room, "The terminal type \"%.40s\" is not supported; --once prints plain text.",
                 name ? name : "");
        return false;
    }
    set_term(terminal);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    set_colours(colour);
    return true;
}

void screen_end(void)
{
    if (!terminal) return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

/* ---- Keys ------------------------------------------------------------------------------------------ */

static int translate(int key)
{
    static const int pairs[][2] = {
        {KEY_UP, KEY_OF_UP},         {KEY_DOWN, KEY_OF_DOWN},     {KEY_LEFT, KEY_OF_LEFT},
        {KEY_RIGHT, KEY_OF_RIGHT},   {KEY_PPAGE, KEY_OF_PAGE_UP}, {KEY_NPAGE, KEY_OF_PAGE_DOWN},
        {KEY_HOME, KEY_OF_HOME},     {KEY_END, KEY_OF_END},       {'\t', KEY_OF_TAB},
        {KEY_BTAB, KEY_OF_BACK_TAB}, {'\n', KEY_OF_ENTER},        {'\r', KEY_OF_ENTER},
        {KEY_ENTER, KEY_OF_ENTER},   {27, KEY_OF_ESCAPE},         {KEY_BACKSPACE, KEY_OF_RUBOUT},
        {127, KEY_OF_RUBOUT},        {8, KEY_OF_RUBOUT},          {KEY_RESIZE, KEY_OF_RESIZE},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == key) return pairs[i][1];
    return key > 0 && key < 256 ? key : 0;
}

int screen_key(int fd, int milliseconds)
{
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int key = getch(); /* several keys may be queued; a resize is reported here, too */
    if (key == ERR && poll(ready, 2, milliseconds) != 0) key = getch();
    return key == ERR ? 0 : translate(key);
}

/* ---- Pieces ------------------------------------------------------------------------------------------ */

static attr_t attributes(view_style style)
{
    attr_t bold = style == STYLE_BOLD ? A_BOLD : 0, dim = style == STYLE_DIM ? A_DIM : 0;
    if (style == STYLE_BAD && !has_colours) bold = A_BOLD;
    bool inked = has_colours && style >= STYLE_GOOD;
    return bold | dim | (inked ? (attr_t)COLOR_PAIR((int)style + 1) : 0);
}

/* Draw a whole line of the screen, cut or padded. */
static void draw_line(int y, attr_t how, const char *text)
{
    char line[LINE_ROOM];
    view_fit(line, sizeof line, text, (unsigned)COLS, false);
    attrset((int)how);
    mvaddstr(y, 0, line);
    attrset(A_NORMAL);
}

__attribute__((format(printf, 3, 4))) static void say(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

/* ---- The head ---------------------------------------------------------------------------------------- */

static void draw_title(const live *shown)
{
    char text[LINE_ROOM] = "", clean[LINE_ROOM], age[16], every[WORDS_ROOM];
    json_t *p = shown->process;
    int64_t up = model_number(p, "now_ns") - model_number(p, "started_ns");
    say(text, sizeof text, "cenote top");
    if (p) {
        const char *title = *model_text(p, "title") ? model_text(p, "title") : model_text(p, "program");
        say(text, sizeof text, "  %.60s  pid %lld  up %s", title, (long long)model_number(p, "pid"),
            view_time(age, up));
    }
    if (shown->cpu >= 0) say(text, sizeof text, "  cpu %.0f%%", shown->cpu * 100);
    say(text, sizeof text, "  every %s", words_duration(every, shown->interval_ns));
    if (p) say(text, sizeof text, "  %s", model_truth(p, "control") ? "control" : "read-only");
    say(text, sizeof text, "  %s", shown->shown);
    view_clean(clean, sizeof clean, text, false);
    draw_line(0, A_REVERSE, clean);
}

static void draw_sums(const live *shown)
{
    char text[LINE_ROOM] = "", takes[16];
    const model *m = shown->model;
    int64_t held = 0, max = 0, waiting = 0;
    double per_second = 0;
    for (size_t i = 0; m && i < m->pool_count; i++) {
        held += m->pools[i].held + m->pools[i].revoked;
        max += m->pools[i].max;
        waiting += m->pools[i].waiting;
        per_second += m->pools[i].takes > 0 ? m->pools[i].takes : 0;
    }
    if (!m) say(text, sizeof text, "No response yet.");
    else
        say(text, sizeof text, "%zu pools  %lld of %lld held  %lld waiting  %s takes/s", m->pool_count, (long long)held,
            (long long)max, (long long)waiting, view_count(takes, per_second));
    if (shown->frozen) say(text, sizeof text, "  FROZEN");
    if (*shown->filter) say(text, sizeof text, "  filter: %s", shown->filter);
    if (shown->pane == PANE_EVENTS && shown->level > VIEW_TRACE)
        say(text, sizeof text, "  level %s and above", view_level_names[shown->level]);
    if (shown->missed) say(text, sizeof text, "  %llu events missed", (unsigned long long)shown->missed);
    draw_line(1, A_NORMAL, text);
}

static size_t count_of(const live *shown, view_pane pane)
{
    const model *m = shown->model;
    if (!m) return 0;
    const size_t counts[PANES] = {m->pool_count,   m->holder_count, m->waiter_count,
                                  m->worker_count, m->tree_count,   json_array_size(shown->events)};
    return counts[pane];
}

static void draw_tabs(const live *shown)
{
    draw_line(2, A_NORMAL, "");
    move(2, 0);
    for (int i = 0; i < PANES; i++) {
        char tab[48], count[16];
        snprintf(tab, sizeof tab, " %d %s %s ", i + 1, view_pane_names[i],
                 view_whole(count, (int64_t)count_of(shown, (view_pane)i)));
        if (getcurx(stdscr) + (int)strlen(tab) > COLS) break;
        attrset(i == (int)shown->pane ? A_REVERSE | A_BOLD : A_NORMAL);
        addstr(tab);
    }
    attrset(A_NORMAL);
}

/* ---- The body --------------------------------------------------------------------------------------------- */

enum { HEAD = 3 };

static void draw_table_head(const live *shown, const unsigned *widths)
{
    int x = 0;
    draw_line(HEAD, A_UNDERLINE, "");
    for (unsigned c = 0; c < shown->table.column_count; c++) {
        char title[64], text[128];
        bool sorted = (int)c == shown->sort[shown->pane];
        if (!widths[c]) continue;
        view_fit(text, sizeof text, shown->table.columns[c].title, widths[c] < 100 ? widths[c] : 100,
                 shown->table.columns[c].right);
        snprintf(title, sizeof title, "%.60s", text);
        attrset(A_UNDERLINE | (sorted ? A_BOLD | A_REVERSE : 0));
        mvaddstr(HEAD, x, title);
        x += (int)widths[c] + 1;
    }
    attrset(A_NORMAL);
}

static void draw_row(const live *shown, size_t index, int y, const unsigned *widths)
{
    const view_row *row = &shown->table.rows[index];
    attr_t marked = index == shown->selected ? A_REVERSE : 0;
    char text[LINE_ROOM];
    int x = 0;
    draw_line(y, marked, "");
    for (unsigned c = 0; c < shown->table.column_count; c++) {
        if (!widths[c]) continue;
        view_cell_text(&shown->table, row, c, widths[c], text, sizeof text);
        attrset((int)(attributes(row->cells[c].style) | marked));
        mvaddstr(y, x, text);
        x += (int)widths[c] + 1;
    }
    attrset(A_NORMAL);
}

static void draw_table(live *shown, int lines)
{
    unsigned widths[VIEW_COLUMNS];
    view_layout(&shown->table, (unsigned)COLS, widths);
    draw_table_head(shown, widths);
    for (int i = 0; i < lines; i++) {
        size_t index = shown->first + (size_t)i;
        if (index < shown->table.count) draw_row(shown, index, HEAD + 1 + i, widths);
        else draw_line(HEAD + 1 + i, A_NORMAL, "");
    }
    if (shown->table.count > 0 || !shown->model) return;
    draw_line(HEAD + 1, attributes(STYLE_DIM),
              *shown->filter ? "No row matches the filter; Escape shows all rows." : shown->table.empty);
}

static void draw_page(const live *shown, int lines)
{
    char title[LINE_ROOM];
    snprintf(title, sizeof title, "%s  (Escape: back)", shown->page.title);
    draw_line(HEAD, A_UNDERLINE | A_BOLD, title);
    for (int i = 0; i < lines; i++) {
        size_t index = shown->page_first + (size_t)i;
        bool there = index < shown->page.count;
        draw_line(HEAD + 1 + i, there ? attributes(shown->page.styles[index]) : A_NORMAL,
                  there ? shown->page.lines[index] : "");
    }
}

/* ---- The foot ------------------------------------------------------------------------------------------------ */

static void draw_foot(const live *shown)
{
    char text[LINE_ROOM] = "", gone[CEN_ERROR_TEXT_SIZE];
    bool may = model_truth(shown->process, "control");
    attr_t how = A_NORMAL;
    if (shown->mode == MODE_FILTER)
        say(text, sizeof text, "filter: %s_   (Enter keeps it, Escape clears it)", shown->input);
    else if (shown->mode == MODE_VALUE)
        say(text, sizeof text, "%s: %s_   (Enter, Escape)", shown->question, shown->input);
    else if (shown->mode == MODE_CONFIRM) say(text, sizeof text, "%s", shown->question);
    if (shown->mode == MODE_CONFIRM || shown->mode == MODE_VALUE) how = attributes(STYLE_WARN) | A_BOLD;
    if (*text) {
        draw_line(LINES - 1, how, text);
        return;
    }
    if (shown->gone) {
        view_clean(gone, sizeof gone, shown->gone_text, false);
        say(text, sizeof text, "GONE  %s  Retrying.", gone);
        how = attributes(STYLE_BAD) | A_BOLD;
    } else if (*shown->message) {
        say(text, sizeof text, "%s", shown->message);
        how = attributes(shown->tone == TONE_BAD ? STYLE_BAD : shown->tone == TONE_GOOD ? STYLE_GOOD : STYLE_PLAIN);
    } else {
        say(text, sizeof text, "q quit  ? keys  s sort  / filter  %s",
            may ? "p pause  u resume  z resize  l reload  e evict" : "r reverse  Enter more  Space freeze");
        how = attributes(STYLE_DIM);
    }
    draw_line(LINES - 1, how, text);
}

void screen_draw(live *shown)
{
    int lines = LINES - HEAD - 2;
    if (LINES < LEAST_LINES || COLS < LEAST_COLUMNS) {
        erase();
        mvaddnstr(0, 0, "The terminal is too small: at least 40 x 10. q quits.", COLS);
        refresh();
        return;
    }
    if (shown->rows != (unsigned)lines || shown->columns != (unsigned)COLS) {
        shown->rows = (unsigned)lines;
        shown->columns = (unsigned)COLS;
        clear();
        live_settle(shown);
    }
    draw_title(shown);
    draw_sums(shown);
    draw_tabs(shown);
    if (shown->mode == MODE_PAGE) draw_page(shown, lines);
    else draw_table(shown, lines);
    draw_foot(shown);
    refresh();
}
