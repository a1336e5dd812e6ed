# SPDX-License-Identifier: MIT
"""The programs of the outage are those of the benchmark end to end."""
import importlib.util

from build import bench


def build_outage(wanted=("cenote", "stack", "zdb", "apr", "hikari", "pgx", "gosql", "sqlalchemy", "psycopg", "ruby",
                         "redigo", "redispy")):
    """By name: those contestants, and what stands between them and the server."""
    place = importlib.util.spec_from_file_location("ends_programs", bench("ends", "programs.py"))
    ends = importlib.util.module_from_spec(place)
    place.loader.exec_module(ends)
    return ends.build_ends([*wanted, "faultproxy", "with-server"])
