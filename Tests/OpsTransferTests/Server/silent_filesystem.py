#!/usr/bin/env python3
"""A FUSE file system that answers no calls, like NFS whose server is down.

silent_filesystem.py DIRECTORY mounts it, prints "mounted", and unmounts it when its standard input ends. Every call that
waits for the file system then fails. Needs root and /dev/fuse.
"""
import ctypes, os, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40777,user_id=0,group_id=0,allow_other"
if libc.mount(b"silent", sys.argv[1].encode(), b"fuse.silent", 0, options.encode()) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
# Answers the first request, INIT, with version 7.31. No other request is answered.
request = os.read(device, 1 << 17)
unique = struct.unpack_from("=IIQ", request)[2]
body = struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0)
os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
print("mounted", flush=True)
sys.stdin.read()
libc.umount2(sys.argv[1].encode(), 2)
