"""A clock for measurements."""

import time

# CPU time does not count what else the machine does. Where it comes in coarse steps,
# the time that has passed has to do.
FINE = 1e-5
_is_fine = time.get_clock_info("process_time").resolution <= FINE
seconds = time.process_time if _is_fine else time.perf_counter
