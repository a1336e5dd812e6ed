# SPDX-License-Identifier: MIT
# Tests of the program cenote.
include(tool_run.cmake)
include(tool_tune.cmake)
include(tool_top.cmake)
