# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

# jar_tree DECLARATIONS [SYMBOL...]: a header that ends in them, behind two functions that are as they should be
jar_tree() {
    fresh
    put include/cenote/status.h <<<'/* SPDX-License-Identifier: MIT */
/* Status codes. */
#define CEN_API __attribute__((visibility("default")))

/* One list. */
#define CEN_STATUS_LIST(X) X(0, OK, "fine") X(1, TIMEOUT, "late") X(2, FULL, "no room")

typedef enum cen_status {
#define CEN_STATUS_ENUM_(code, name, sentence) CEN_##name = code,
    CEN_STATUS_LIST(CEN_STATUS_ENUM_)
#undef CEN_STATUS_ENUM_
} cen_status;'
    put include/cenote/jar.h <<<'/* SPDX-License-Identifier: MIT */
/*
 * A jar: what a program has. libcenote-route.
 *
 *     cen_jar_take(jar, 5);      // .dots and \backslashes
 *
 * Threads: any.
 */
#include <cenote/status.h>

typedef struct cen_jar cen_jar;

/* ---- Taking ---- */

/* Take the jar, as cen_jar_max allows.
 * Returns:
 *   OK       it is taken
 *   TIMEOUT  it was not free
 *            in time
 */
#define cen_jar_take(jar, tries) cen_jar_take_at((jar), (tries), __FILE__)
CEN_API cen_status cen_jar_take_at(cen_jar *jar, int tries, const char *where);

/* Return the most of them. */
CEN_API int cen_jar_max(void);
'"$1"
    printf '%s\n' cen_jar_take_at cen_jar_max "${@:2}" | put src/cenote.symbols
}
reference() { "$@" "$tools/reference" --check "$tree"; }

jar_tree ''
reference accepts "reference accepts functions whose comments have what it needs"
drop='CEN_API cen_status cen_jar_drop(cen_jar *jar);'
jar_tree "
$drop" cen_jar_drop
reference rejects "reference rejects a function without a comment" "jar.h:27: cen_jar_drop: write a comment above it"
jar_tree "
/* Drop it. */

${drop/cen_status/void}" cen_jar_drop
reference rejects "reference rejects a function with an empty line below its comment" "cen_jar_drop: write a comment above it"
jar_tree "
/* Drop it. */
${drop/cen_status/void}
CEN_API void cen_jar_lose(cen_jar *jar);" cen_jar_drop cen_jar_lose
reference accepts "reference accepts two functions below one comment"
jar_tree "
/* Drop it. Fails with FULL. */
$drop" cen_jar_drop
reference rejects "reference rejects a status without a list" 'jar.h:28: cen_jar_drop: it returns cen_status: add a `Returns:` list'
jar_tree "
/* Drop it. Returns: OK, FULL. */
$drop" cen_jar_drop
reference rejects "reference rejects a list in a sentence" 'put `Returns:` alone on its line'
jar_tree "
/* Drop it.
 * Returns:
 */
$drop" cen_jar_drop
reference rejects "reference rejects an empty list" 'its `Returns:` list is empty'
for planted in 'LATE  it was late|LATE is not a status' 'CEN_FULL  no room|write FULL, without CEN_' 'OK  again|OK is in the list already' \
    'FULL, TIMEOUT  no room|"FULL, TIMEOUT  no room" is no line of a `Returns:` list'; do
    jar_tree "
/* Drop it.
 * Returns:
 *   OK    it is gone
 *   ${planted%|*}
 */
$drop" cen_jar_drop
    reference rejects "reference rejects in a list: ${planted%|*}" "jar.h:30: cen_jar_drop: ${planted#*|}"
done
jar_tree '
/* Drop it.
 * Returns:
 *   others  as cen_jar_take
 */
static inline cen_status cen_jar_drop(cen_jar *jar)
{
    return cen_jar_take(jar, 1);
}'
reference accepts "reference accepts a list that refers to another function"
for planted in 'typedef struct cen_part {
    int size;
} cen_part;' 'typedef enum cen_part { CEN_PART_ONE } cen_part;' 'enum { cen_part = 1 };' 'typedef void (*cen_part)(void);' \
    '#define cen_part 3' '#define cen_part(n) ((n) + 1)'; do
    first=$(head -n 1 <<<"$planted")
    jar_tree "
$planted"
    reference rejects "reference rejects without a comment: $first" "jar.h:27: cen_part: write a comment above it"
    jar_tree "
/* A part. */
$planted"
    reference accepts "reference accepts with a comment: $first"
done
jar_tree '
#define CEN_PART 3 /* parts of a jar */
#define CEN_PART_(n) n
/* What a jar is made of. */
typedef struct cen_jar_options {
    int size;
} cen_jar_options;

#define CEN_JAR_OPTIONS(...) CEN_OPTIONS_(cen_jar_options, __VA_ARGS__)'
reference accepts "reference accepts a comment behind a macro, and macros that need none"
jar_tree '
/* Return the most of them. */
CEN_API int cen_jar_max(void);'
reference rejects "reference rejects a function that is declared twice" "it is declared already, in include/cenote/jar.h:25"
jar_tree '' cen_jar_gone
reference rejects "reference rejects an exported function that no header declares" "src/cenote.symbols:3: cen_jar_gone: no public header declares it"
jar_tree "
/* Drop it. */
${drop/cen_status/void}"
reference rejects "reference rejects a function that no list of exports has" "cen_jar_drop: it is in no src/*.symbols"
jar_tree '
CEN_API int cen_jar_count_(void);' cen_jar_count_
reference rejects "reference rejects an exported private name that nothing uses" "cen_jar_count_: no macro and no inline function uses it"
jar_tree '
/* Return whether it is there. */
#define cen_jar_is_there(jar) (cen_jar_count_() > 0)

CEN_API int cen_jar_count_(void);' cen_jar_count_
reference accepts "reference accepts a private name that a macro uses"
fresh
reference rejects "reference rejects a tree without headers" "there are no public headers"

# The record: what may lack something still.
bare() {
    jar_tree "
$drop" cen_jar_drop
    put tools/reference.todo <<<"# names
$1"
}
bare 'cen_jar_drop'
reference accepts "reference accepts what is recorded"
bare 'cen_jar_max
cen_jar_drop'
reference rejects "reference rejects a record of what lacks nothing" "tools/reference.todo:2: cen_jar_max has all that it needs: remove the line"
"$tools/reference" --update "$tree" >/dev/null
reference accepts "reference shortens the record"
bare 'cen_jar_max'
rejects "reference does not lengthen the record" "cen_jar_drop: write a comment above it" "$tools/reference" --update "$tree"
accepts "reference removes a record that is empty" test ! -e "$tree/tools/reference.todo"
jar_tree ''
put tools/reference.todo <<<'# names'
reference rejects "reference rejects an empty record" "remove the file"

# What is written.
# shown "sentence" FUNCTION...: as accepts, of a function of this file
shown() {
    local sentence=$1
    shift
    if "$@" >"$scratch/output" 2>&1; then record pass "$sentence"; else failure "$sentence"; fi
}
files_are() { diff <(printf '%s\n' "${@:2}" | sort) <(cd "$1" && find . -type f | sed 's|^\./||' | sort); }
# holds FILE TEXT...: each on a line of the file
holds() {
    local text
    for text in "${@:2}"; do grep -qF -- "$text" "$1" || { echo "$1 lacks: $text" && cat "$1" && return 1; }; done
}
jar_tree "
/* Drop it. */
static inline void cen_jar_drop(cen_jar *jar) { cen_jar_lose_(jar); }
CEN_API void cen_jar_lose_(cen_jar *jar);" cen_jar_lose_
made=$tree/made
accepts "reference writes a manual and HTML" "$tools/reference" --man "$made/man" --html "$made/html" "$tree"
shown "a small tree has a page for each header and function, and no other" files_are "$made/man/man3" \
    cenote_status.3 cenote_jar.3 cen_jar_take.3 cen_jar_take_at.3 cen_jar_max.3 cen_jar_drop.3
shown "a small tree has HTML for each header, two indexes and a style" files_are "$made/html" \
    status.html jar.html index.html names.html style.css
shown "a function's page has its prototypes, its text, its statuses and its siblings" holds "$made/man/man3/cen_jar_take.3" \
    'cen_jar_take, cen_jar_take_at \- take the jar, as cen_jar_max allows' 'libcenote\-route (\-lcenote\-route)' \
    '.B #include <cenote/jar.h>' 'cen_status cen_jar_take(cen_jar *jar, int tries);' \
    'cen_status cen_jar_take_at(cen_jar *jar, int tries, const char *where);' '.SH RETURN VALUE' '.B CEN_TIMEOUT' \
    'it was not free in time' '.BR cenote_jar (3),' '.BR cen_jar_max (3)'
shown "a function that shares a comment leads to its page" holds "$made/man/man3/cen_jar_take_at.3" '.so man3/cen_jar_take.3'
shown "a header's page has its example, its functions and its types" holds "$made/man/man3/cenote_jar.3" \
    'cen_jar_take(jar, 5);      // .dots and \ebackslashes' '.SS "Taking"' '\fBcen_jar_drop\fP(3)' '.SS "cen_jar"' '.B Threads:'
shown "names in HTML lead to their places" holds "$made/html/jar.html" '<section class="entry" id="cen_jar_take">' \
    '<a id="cen_jar_take_at"></a>' 'as <code><a href="jar.html#cen_jar_max">' '<a href="status.html#CEN_TIMEOUT">TIMEOUT</a>'
shown "a list of codes makes constants with places" holds "$made/html/status.html" '<dt id="CEN_FULL">CEN_FULL = 2</dt><dd><p>no room</p>'
accepts "reference writes one library alone" "$tools/reference" --man "$made/man" --libraries cenote "$tree"
shown "what was written before of others is removed" files_are "$made/man/man3" cenote_status.3
rejects "reference knows the libraries" "no header is of libcenote-rotue" "$tools/reference" --man "$made/man" --libraries cenote-rotue "$tree"

# The tree itself.
every_function_has_its_page() {
    local name
    while read -r name; do
        [ -e "$made/all/man3/$name.3" ] || { echo "$name has no page" && return 1; }
    done < <(cat src/*.symbols | grep -v '_$')
}
every_page_has_its_function() {
    local name
    for name in "$made"/all/man3/*; do
        name=$(basename "$name" .3)
        grep -qE "\b$name\(" include/cenote/*.h || [ -e "include/cenote/${name#cenote_}.h" ] || { echo "no header has $name" && return 1; }
    done
}
# links_lead FOLDER: every address in the HTML is that of a page there and of a place on it, and every place is there once
links_lead() {
    python3 -c 'import glob, os, re, sys
pages = {os.path.basename(path): open(path, encoding="utf-8").read() for path in glob.glob(sys.argv[1] + "/*.html")}
places = {name: re.findall(r"\bid=\"([^\"]+)\"", text) for name, text in pages.items()}
wrong = [f"{name}: {place} twice" for name, found in places.items() for place in set(found) if found.count(place) > 1]
for name, text in pages.items():
    for address in re.findall(r"\b(?:href|src)=\"([^\"]+)\"", text):
        page, _, place = address.partition("#")
        page = page or name
        if page != "style.css" and (page not in pages or place and place not in places[page]):
            wrong.append(f"{name}: {address}")
print("\n".join(wrong))
sys.exit(1 if wrong or len(pages) < 40 else 0)' "$1"
}
# groff is silent about what is as it should be.
pages_are_sound() { ! groff -man -Tutf8 -ww -z -I "$made/all" "$made"/all/man3/*.3 2>&1 | grep .; }
accepts "reference writes that of this tree" tools/reference --man "$made/all" --html "$made/all/html"
shown "every exported function has its page" every_function_has_its_page
shown "every page has its function or its header" every_page_has_its_function
shown "no link in the HTML leads nowhere" links_lead "$made/all/html"
shown "groff finds nothing wrong with a page" pages_are_sound
