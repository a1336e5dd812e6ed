# Models, faults and stress
cenote_test(model/engine_test.c WORLD support/model.c)
cenote_test(model/queue_model_test.c WORLD support/model.c model/queue_ops.c)
cenote_test(model/queue_history_test.c WORLD)
cenote_test(faults/queue_faults_test.c WORLD support/faults.c)
cenote_test(stress/queue_stress.c REAL stress/load.c)
cenote_test(stress/queue_stress.c PORTABLE stress/load.c)
foreach(name stress-queue_stress stress-queue_stress-portable)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 7200) # its own alarms are sooner
  endif()
endforeach()
