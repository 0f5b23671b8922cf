"""probe.py SOCKET SECONDS: call a daemon repeatedly, and print the 99th percentile of its response times in milliseconds."""

import json
import socket
import sys
import time

path, seconds = sys.argv[1], float(sys.argv[2])
message = json.dumps({"method": "org.opsd.Control.Show", "parameters": {"ref": "lively"}}).encode() + b"\0"
times = []
end = time.monotonic() + seconds
while time.monotonic() < end:
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(message)
        reply = b""
        while not reply.endswith(b"\0"):
            reply += connection.recv(1 << 16)
    times.append(time.monotonic() - began)
    time.sleep(0.01)
times.sort()
print(times[int(len(times) * 0.99)] * 1000)
