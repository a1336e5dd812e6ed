# Tests of src/pool/owners.c, renew.c and trace.c
cenote_test(unit/pool/owners_test.c WORLD)
cenote_test(unit/pool/orphans_test.c WORLD)
cenote_test(unit/pool/owner_task_test.c WORLD)
target_link_options(unit-pool-owner_task_test PRIVATE -Wl,--wrap=ceni_directory_each)
cenote_test(unit/pool/owner_scope_test.c WORLD)
target_link_options(unit-pool-owner_scope_test PRIVATE -Wl,--wrap=ceni_directory_each)
# Threads and processes of the system; once as C is compiled, once with -fexceptions.
cenote_test(unit/pool/owners_end_test.c REAL)
cenote_test(unit/pool/owners_end_test.c PORTABLE)
target_compile_options(unit-pool-owners_end_test-portable PRIVATE -fexceptions)
cenote_test(unit/pool/handover_test.c REAL)
cenote_test(unit/pool/renew_test.c REAL)
cenote_test(unit/pool/renew_options_test.c REAL)
cenote_test(stress/pool_task_stress.c REAL)
cenote_test(stress/pool_task_stress.c PORTABLE)

# Under every schedule
cenote_test(explore/pool_detach_test.c WORLD)
cenote_test(explore/pool_orphans_test.c WORLD)
cenote_test(explore/pool_owners_test.c WORLD)
cenote_test(explore/pool_owner_task_test.c WORLD)
cenote_test(explore/pool_renew_test.c WORLD)

# A program with the shared library, and a plugin with the static one inside
add_library(copies-plugin MODULE copies/plugin.c)
target_link_libraries(copies-plugin PRIVATE cenote-static Threads::Threads)
target_link_options(copies-plugin PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(copies-plugin PROPERTIES PREFIX "")
add_executable(copies copies/program.c)
target_link_libraries(copies PRIVATE cenote-shared Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(copies copies-plugin)
add_test(NAME copies COMMAND copies $<TARGET_FILE:copies-plugin>)
set_tests_properties(copies PROPERTIES TIMEOUT 120 LABELS example)
