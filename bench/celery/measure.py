"""Measures jobs on Celery, and prints what `crates/opora/benches/dialogues/jobs.rs` prints for Opora.

Arguments: the number of jobs, then the process ids of the servers.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import psycopg
import redis

import tasks

TIMED = 2000
PAUSE = 0.005


def stat(pid):
    """The parent and the processor time in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[1]), sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def cpu(roots):
    """The processor time of processes and of their children, as long as these live."""
    total = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent, seconds = stat(entry)
            except OSError:
                continue
            if int(entry) in roots or parent in roots:
                total += seconds
    return total


def wait_until_idle(server):
    while server.llen("jobs") or server.hlen("unacked"):
        time.sleep(0.2)


def start_worker(folder):
    log_file = os.path.join(folder, "log")
    with open(log_file, "w") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--concurrency", str(os.cpu_count()),
             "--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"],
            stdout=log, stderr=log, cwd=os.path.dirname(os.path.abspath(__file__)),
        )
    while "ready." not in open(log_file).read():
        assert worker.poll() is None, open(log_file).read()
        time.sleep(0.05)
    return worker


def drain(task, count, servers, server, folder):
    """Runs jobs that were all enqueued before. The start of the worker is not counted."""
    with tasks.app.producer_pool.acquire(block=True) as producer:
        for number in range(count):
            task.apply_async((number,), producer=producer)
    servers_before = cpu(servers)
    worker = start_worker(folder)
    worker_before, began = cpu([worker.pid]), time.time()
    wait_until_idle(server)
    servers_used, worker_used = cpu(servers) - servers_before, cpu([worker.pid]) - worker_before
    seconds = time.time() - began
    worker.terminate()
    worker.wait()
    cost = {"own_us": worker_used, "server_us": servers_used, "us": worker_used + servers_used}
    return {name: used / count * 1e6 for name, used in cost.items()} | {"per_second": count / seconds}


def waits(folder):
    file = os.path.join(folder, "waits")
    worker = start_worker(folder)
    with tasks.app.producer_pool.acquire(block=True) as producer:
        for _ in range(TIMED):
            tasks.timed.apply_async((time.time(), file), producer=producer)
            time.sleep(PAUSE)
    while not os.path.exists(file) or len(open(file).readlines()) < TIMED:
        time.sleep(0.1)
    worker.terminate()
    worker.wait()
    found = sorted(float(line) for line in open(file))
    return {"p50": found[TIMED // 2], "p99": found[TIMED * 99 // 100]}


def main():
    count, servers = int(sys.argv[1]), [int(pid) for pid in sys.argv[2:]]
    server = redis.Redis.from_url(os.environ["REDIS_URL"])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        database.execute("CREATE TABLE IF NOT EXISTS celery_rows (number BIGINT NOT NULL)")
    with tempfile.TemporaryDirectory() as folder:
        result = {task: drain(getattr(tasks, task), count, servers, server, folder) for task in ["nothing", "row"]}
        result["wait_ms"] = waits(folder)
    print(json.dumps(result))


main()
