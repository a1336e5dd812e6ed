# SPDX-License-Identifier: MIT
# Turns files into a C source with their bytes:
#
#   cmake -DFILES='a.html|b.css' -DOUTPUT=page.c -P embed.cmake
#
# The source defines ceni_inspect_page, a table of src/inspect/page.h: name, content type, an entity tag from a hash
# of the bytes, the bytes. Which types there are is said here alone.

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(rows "")
set(count 0)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  if(NOT DEFINED type_${extension})
    message(FATAL_ERROR "${file}: its type is not known to cmake/embed.cmake")
  endif()
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${count}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${extension}}\", \"\\\"${hash}\\\"\", file_${count}, sizeof file_${count} - 1},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake. */
#include \"inspect/page.h\"

${arrays}
const ceni_inspect_file ceni_inspect_page[] = {
${rows}    {NULL, NULL, NULL, NULL, 0},
};
")
