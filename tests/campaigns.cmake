# SPDX-License-Identifier: MIT
# What happens when servers fail, under load: the short form of each campaign. make stress-faults has the long one.
cenote_test(campaigns/load_test.c REAL campaigns/load.c)
if("pq" IN_LIST CENOTE_DRIVER_NAMES AND CENOTE_HAS_FAULTPROXY)
  foreach(name pq_outages pq_changes)
    cenote_server_test(campaigns/${name}_campaign.c campaigns/pq_campaign.c campaigns/load.c LIBS pq-tested)
    cenote_needs_faultproxy(campaigns-${name}_campaign)
    if(TEST campaigns-${name}_campaign)
      set_tests_properties(campaigns-${name}_campaign PROPERTIES LABELS campaign)
    endif()
  endforeach()
endif()
