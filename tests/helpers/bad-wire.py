"""A wire between two network namespaces that delays, loses or drops packets, as tc netem does. Not every kernel has netem.

bad-wire.py DEVICE NAMESPACE: makes a TUN device in this namespace and one of the same name in the other. Each line of standard
input sets the wire: delay in milliseconds each way, loss in percent, 1 to drop what leaves this side, 1 to drop what comes back,
rate in Mbit/s each way (0: no limit), the most milliseconds that a packet waits for its turn at that rate.
"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
# One second at 100 Mbit/s; packets beyond that are dropped, as a full queue does.
MOST_PACKETS = 10_000


def open_tun(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def enter(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def write(device, packet):
    try:
        os.write(device, packet)
    except OSError:
        pass  # The device is down: the packet is lost, as on an unplugged wire.


def read_all(device):
    while True:
        try:
            yield os.read(device, 65_536)
        except BlockingIOError:
            return


def main():
    name, namespace = sys.argv[1:]
    near = open_tun(name)
    enter(namespace)
    far = open_tun(name)
    other = {near: far, far: near}
    delay, loss, drops = 0.0, 0.0, {near: False, far: False}
    byte_seconds, queue, free_at = 0.0, 0.0, {near: 0.0, far: 0.0}
    waiting, count = [], 0
    print("open", flush=True)
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select([sys.stdin, near, far], [], [], timeout)
        if sys.stdin in ready:
            line = sys.stdin.readline()
            if not line:
                return
            milliseconds, percent, out, back, megabits, queue_milliseconds = map(float, line.split())
            byte_seconds, queue = 8e-6 / megabits if megabits else 0.0, queue_milliseconds / 1000
            delay, loss, drops = milliseconds / 1000, percent / 100, {near: out > 0, far: back > 0}
            print("set", flush=True)
        for device in (near, far):
            if device not in ready:
                continue
            for packet in read_all(device):
                if drops[device] or random.random() < loss or len(waiting) >= MOST_PACKETS:
                    continue
                now = time.monotonic()
                sent_at = max(now, free_at[device]) + len(packet) * byte_seconds
                if byte_seconds and sent_at - now > queue:
                    continue
                count += 1
                free_at[device] = sent_at
                heapq.heappush(waiting, (sent_at + delay, count, other[device], packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, device, packet = heapq.heappop(waiting)
            write(device, packet)


main()
