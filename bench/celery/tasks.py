"""The jobs of the comparison, on Celery: acknowledged after they ran, results ignored."""

import os
import time

import psycopg
from celery import Celery

app = Celery("tasks", broker=os.environ["REDIS_URL"])
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_default_queue="jobs",
    broker_connection_retry_on_startup=True,
)
# Of this process of the worker.
database = None


@app.task
def nothing(number):
    pass


@app.task
def row(number):
    global database
    if database is None:
        database = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    database.execute("INSERT INTO celery_rows (number) VALUES (%s)", [number], prepare=True)


@app.task
def timed(sent, file):
    with open(file, "a") as waits:
        waits.write(f"{(time.time() - sent) * 1000}\n")
