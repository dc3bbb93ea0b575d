# Python: everything random that a program may ask for.
import os, random, secrets, uuid

print(os.urandom(8).hex(), random.random(), secrets.token_hex(4), uuid.uuid4(), hash("text"))
print(open("/dev/urandom", "rb").read(4).hex(), open("/dev/random", "rb").read(4).hex())
print(open("/proc/sys/kernel/random/uuid").read().strip())
