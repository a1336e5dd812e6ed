/* SPDX-License-Identifier: MIT */
/* Settings, "name=value" per line, as lines of a server's configuration. */
#include <stdio.h>
#include <string.h>

#include "support/servers/guardian.h"

typedef struct page {
    char *text;
    size_t room, used;
} page;

static void put(page *sheet, const char *text, size_t length, bool doubled)
{
    for (size_t i = 0; i < length; i++)
        for (int times = doubled && text[i] == '\'' ? 2 : 1; times > 0; times--) {
            if (sheet->used < sheet->room) sheet->text[sheet->used] = text[i];
            sheet->used++;
        }
}

static void put_line(page *sheet, const char *line, size_t length, const setting_form *form)
{
    const char *equals = memchr(line, '=', length);
    size_t name = equals ? (size_t)(equals - line) : length;
    if (length == 0 || (form->wanted && !form->wanted(line, name))) return;
    put(sheet, form->before, strlen(form->before), false);
    put(sheet, line, name, false);
    if (equals) put(sheet, form->between, strlen(form->between), false);
    if (equals) put(sheet, equals + 1, length - name - 1, form->after[0] == '\'');
    if (equals) put(sheet, form->after, strlen(form->after), false);
    else put(sheet, "\n", 1, false);
}

bool settings_write(const char *settings, const setting_form *form, char *text, size_t room)
{
    page sheet = {text, room, 0};
    for (const char *line = settings; *line;) {
        size_t length = strcspn(line, "\n");
        put_line(&sheet, line, length, form);
        line += length + (line[length] != 0);
    }
    if (sheet.used >= room) return false;
    text[sheet.used] = 0;
    return true;
}

bool settings_have(const char *settings, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = settings; *line;) {
        if (strncmp(line, name, length) == 0 && (line[length] == '=' || line[length] == '\n' || !line[length]))
            return true;
        line += strcspn(line, "\n");
        line += *line != 0;
    }
    return false;
}
