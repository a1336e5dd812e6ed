# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016 # sourced by tools/check-lint-tools; quotes are text here

# prose_tree SOURCE [PATH]
prose_tree() {
    fresh
    put "${2:-src/tool/advice.c}" <<<"$1"
}
prose() { "$@" "$tools/check-prose" "$tree"; }

prose_tree 'static bool is(const model_pool *pool)
{
    return pool->cause == CEN_CAUSE_LEAK && strcmp(pool->name, "orders") == 0; /* not strstr(pool->explanation, "Leak") */
}'
prose accepts "check-prose accepts who decides by a cause and by names"
prose_tree 'static bool is(const model_pool *pool)
{
    return strstr(pool->explanation, mark) != NULL;
}'
prose rejects "check-prose rejects a look into an explanation" "src/tool/advice.c:3:"
prose_tree 'static bool is(const cen_error *error)
{
    return strncmp(
               error->text, head, length) == 0;
}'
prose rejects "check-prose rejects the text of an error, also on the next line" "compares prose"
prose_tree 'static bool is(const cen_error *error)
{
    const char *text = error->text;
    return strncmp(text, head, length) == 0;
}'
prose rejects "check-prose rejects a text that was put into a variable before" "src/tool/advice.c:4:"
prose_tree 'static bool is(json_t *event)
{
    const char *said = model_text(event, "text");
    return strcasestr(said, word) != NULL;
}'
prose rejects "check-prose rejects a text that was read from JSON" "src/tool/advice.c:4:"
prose_tree 'static size_t is(const cen_error *error, const char *text)
{
    size_t length = strlen(error->text);
    return strncmp(text, "unix:", 5) == 0 ? length : 0;
}
static void other(const cen_error *error)
{
    const char *text = error->text;
    puts(text);
}'
prose accepts "check-prose accepts the length of a text, and a variable of another function"
prose_tree 'static bool is(const char *line)
{
    return strncmp(line, "Held longest:", 13) == 0;
}'
prose rejects "check-prose rejects a literal that begins like a sentence" "Held longest"
prose_tree 'static bool is(const char *line)
{
    return strstr(line, "wait queue") != NULL;
}'
prose rejects "check-prose rejects a literal of two words" "wait queue"
prose_tree 'static bool is(const char *word)
{
    return strcmp(word, "half-open") == 0 || strcmp(word, "/api/events") == 0 || strcmp(word, "explanation") == 0;
}'
prose accepts "check-prose accepts names, paths and the names of fields"

script=src/inspect/page/advice.js
prose_tree "export function is(component) {
    return component.description.cause === 'leak' && component.actions.includes('pause');
}" $script
prose accepts "check-prose accepts a page that decides by a cause and by names"
prose_tree "export function is(component) {
    return component.description.explanation.includes(mark);
}" $script
prose rejects "check-prose rejects a page that looks into an explanation" "$script:2:"
prose_tree "export function is(event) {
    const whole = \`\${event.kind} \${event.text}\`.toLowerCase();
    return whole.startsWith(word);
}" $script
prose rejects "check-prose rejects a page that puts a text into a variable before" "$script:3:"
prose_tree "export function is(why) {
    return why === 'Leak suspected' ? 'all is lost' : 'all is well';
}" $script
prose rejects "check-prose rejects a page that compares with a sentence" "$script:2:"
prose_tree "export function is(state) {
    return state === 'open' ? 'nothing can be opened now' : \`\${state} and well\`;
}" $script
prose accepts "check-prose accepts a page that chooses between sentences"

foreign='static bool is(const char *reply)
{
    return strncmp(reply, "ERR unknown command", 19) == 0;
}'
prose_tree "$foreign" src/redis/talk.c
prose rejects "check-prose rejects words of a server that nobody has excused" "ERR unknown command"
prose_tree "$foreign" src/redis/talk.c
put tools/prose.allowed <<<'# words of others
src/redis/talk.c | "ERR unknown command" | the words of the server'
prose accepts "check-prose accepts words of a server with a reason"
put tools/prose.allowed <<<'src/redis/talk.c | "ERR unknown command"'
prose rejects "check-prose rejects an excuse without a reason" "tools/prose.allowed:1: a line is: path"
put tools/prose.allowed <<<'src/redis/talk.c | "ERR unknown command" | the words of the server
src/redis/talk.c | "NOPERM" | the words of the server'
prose rejects "check-prose rejects an excuse that nothing needs" "tools/prose.allowed:2: nothing in src/redis/talk.c is that any more"
fresh
prose rejects "check-prose rejects a tree without sources" "there are no sources here"
