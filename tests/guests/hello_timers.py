# Python: sleeps, a condition with a timeout, threads that wake in order.
import datetime, threading, time

print(datetime.datetime.now(datetime.timezone.utc).isoformat())
time.sleep(86400)
condition = threading.Condition()
with condition:
    print(condition.wait(3600))
threads = [threading.Thread(target=lambda n=n: (time.sleep(n), print(n))) for n in (3, 1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(datetime.datetime.now(datetime.timezone.utc).isoformat(), time.monotonic(), time.process_time())
