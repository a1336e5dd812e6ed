# SPDX-License-Identifier: MIT
"""PgBouncer in transaction mode before the PostgreSQL of the run, in a temporary directory, on a free port. Its connections are another
user's, so that those of the pools can be counted by theirs."""
import os
import shutil
import socket
import subprocess
import tempfile
import time
from urllib.parse import urlsplit

CONFIGURATION = """[databases]
test = host=127.0.0.1 port={server} dbname=test user=admin password=commander
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
pidfile = {folder}/pid
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bouncer:
    def __init__(self, url, size):
        self.folder, self.port = tempfile.mkdtemp(prefix="cenote-bouncer-"), free_port()
        path = os.path.join(self.folder, "pgbouncer.ini")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(server=urlsplit(url).port, port=self.port, size=size, folder=self.folder))
        as_nobody = []
        if os.getuid() == 0:  # it refuses root
            as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            for name in (self.folder, path):
                shutil.chown(name, "nobody", "nogroup")
        self.process = subprocess.Popen([*as_nobody, "/usr/sbin/pgbouncer", "-q", path], stderr=subprocess.DEVNULL)
        self.url = "postgresql://tester@127.0.0.1:%d/test" % self.port
        self.wait_until_it_listens()

    def wait_until_it_listens(self):
        for _ in range(100):
            if self.process.poll() is not None:
                raise RuntimeError("PgBouncer ended with status %d" % self.process.returncode)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("PgBouncer does not listen")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
