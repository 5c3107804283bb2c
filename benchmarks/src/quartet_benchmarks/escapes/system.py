"""Programs that reach for other processes and for what only root may do, by system calls.

Each of them succeeds where nothing confines it and the kernel has what it asks for.
"""

PRELUDE = """
import ctypes, os, resource, struct
def call(x86_64, aarch64, *arguments):
    number = {'x86_64': x86_64, 'aarch64': aarch64}[os.uname().machine]
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in (number, *arguments)]
    return ctypes.CDLL(None, use_errno=True).syscall(*given)
def attempt(*arguments):
    print(DONE if call(*arguments) >= 0 else 'refused')
def start(*arguments):
    child = call(*arguments)
    if child == 0: os._exit(0)
    print(DONE if child > 0 else 'refused')
def signal_info():
    return struct.pack('iiiiii', 9, 0, -1, 0, os.getpid(), os.getuid()).ljust(128, b'\\0')
buffer = ctypes.create_string_buffer(4096)
"""
"""Runs before a program that makes system calls by their numbers on x86-64 and ARM64."""

OTHERS = {
    "take another process's descriptors": "resource.prlimit(VICTIM_PID, resource.RLIMIT_NOFILE, (0, 0))",
    "take another process's processor time": "resource.prlimit(VICTIM_PID, resource.RLIMIT_CPU, (0, 0))",
    "take its parent's descriptors": (
        "parent = os.getppid(); assert parent; resource.prlimit(parent, resource.RLIMIT_NOFILE, (0, 0)); print(DONE)"
    ),
    "take the executor's descriptors": "resource.prlimit(OWNER_PID, resource.RLIMIT_NOFILE, (0, 0)); print(DONE)",
    "find processes by their limits": (
        "for pid in {*range(2, 40_000), VICTIM_PID} - {os.getpid()}:\n"
        "    try: resource.prlimit(pid, resource.RLIMIT_CPU); print(DONE); break\n"
        "    except OSError: pass"
    ),
    "pin another process to one core": "os.sched_setaffinity(VICTIM_PID, {0}); print(DONE)",
    "run another process when nothing else runs": (
        "os.sched_setscheduler(VICTIM_PID, os.SCHED_IDLE, os.sched_param(0)); print(DONE)"
    ),
    "set another process's attributes": (
        "attempt(314, 274, VICTIM_PID, struct.pack('IIQiIQQQ', 48, 3, 0, 5, 0, 0, 0, 0), 0)"
    ),
    "delay another process's files": "attempt(251, 30, 1, VICTIM_PID, 3 << 13)",
    "lower the priority of a group": "os.setpriority(os.PRIO_PGRP, os.getpgid(VICTIM_PID), 19); print(DONE)",
    "open another process": "attempt(434, 434, VICTIM_PID, 0)",
    "take another process's file": "attempt(438, 438, call(434, 434, VICTIM_PID, 0), 0, 0)",
    "seize another process": "attempt(101, 117, 0x4206, VICTIM_PID, 0, 0)",
    "write into another process": (
        "start = next(line for line in open(f'/proc/{VICTIM_PID}/maps') if ' rw-p ' in line).split('-')[0]\n"
        "own = struct.pack('QQ', ctypes.addressof(buffer), 8); its = struct.pack('QQ', int(start, 16), 8)\n"
        "call(310, 270, VICTIM_PID, own, 1, its, 1, 0); attempt(311, 271, VICTIM_PID, own, 1, its, 1, 0)"
    ),
    "list the processes": "os.listdir('/proc'); print(DONE)",
    "compare itself with another process": "attempt(312, 272, os.getpid(), VICTIM_PID, 2, 0, 0)",
    "move another process's memory": "attempt(256, 238, VICTIM_PID, 64, struct.pack('Q', 1), struct.pack('Q', 1))",
    "find out where its memory is": "attempt(279, 239, VICTIM_PID, 0, 0, 0, 0, 0)",
    "read another process's locks": "attempt(274, 100, VICTIM_PID, buffer, ctypes.byref(ctypes.c_long()))",
    "measure another process": (
        "attempt(298, 241, struct.pack('IIQ', 1, 128, 0).ljust(128, b'\\0'), VICTIM_PID, -1, -1, 0)"
    ),
    "kill it with tgkill": "call(234, 131, VICTIM_PID, VICTIM_PID, 9)",
    "kill it with tkill": "call(200, 130, VICTIM_PID, 9)",
    "kill it with a queued signal": "call(129, 138, VICTIM_PID, 9, signal_info())",
    "kill its thread with a queued signal": "call(297, 240, VICTIM_PID, VICTIM_PID, 9, signal_info())",
    "kill it with 32-bit code": (
        "import mmap\nassert os.uname().machine == 'x86_64'\n"
        "code = b'\\x53\\xb8' + struct.pack('I', 37) + b'\\xbb' + struct.pack('I', VICTIM_PID)\n"
        "code += b'\\xb9' + struct.pack('I', 9) + b'\\xcd\\x80\\x5b\\xc3'\n"
        "page = mmap.mmap(-1, 4096, prot=7); page.write(code)\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"
    ),
    "kill it as the owner of a pipe": (
        "import fcntl; r, w = os.pipe(); fcntl.fcntl(r, 8, VICTIM_PID); fcntl.fcntl(r, 10, 9)\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b'x')"
    ),
    "lend it priority with a lock": (
        "word = ctypes.c_uint32(VICTIM_PID)\n"
        "call(202, 98, ctypes.byref(word), 6, 0, struct.pack('qq', 1, 0), 0, 0)\n"
        "print(DONE if ctypes.get_errno() == 110 else 'refused')"
    ),
    "read another process's processor time": "import time; time.clock_gettime(~VICTIM_PID << 3 | 2); print(DONE)",
    "read another process's scheduler": "os.sched_getscheduler(VICTIM_PID); print(DONE)",
    "leave the group that the executor kills": "os.setpgid(0, 0); print(DONE)",
    "outlive its parent": "attempt(157, 167, 1, 0, 0, 0, 0)",
    "start a process with posix_spawn": "os.posix_spawn('/bin/true', ['true'], {}); print(DONE)",
    "start a process with clone": "start(56, 220, 17, 0, 0, 0, 0)",
    "start a process with clone3": "start(435, 435, struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)",
}

PRIVILEGES = {
    "have a capability": (
        "data = ctypes.create_string_buffer(24); call(125, 90, struct.pack('Ii', 0x20080522, 0), data)\n"
        "print(DONE if any(struct.unpack('6I', data)) else 'none')"
    ),
    "have a bounding set": "print(DONE if call(157, 167, 23, 0, 0, 0, 0) == 1 else 'none')",
    "become root": "os.setresuid(0, 0, 0); print(DONE)",
    "join groups": "os.setgroups([0, 4]); print(DONE)",
    "run before everything else": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)); print(DONE)",
    "raise its own priority": "os.setpriority(os.PRIO_PROCESS, 0, -20); print(DONE)",
    "open a new file system": "attempt(430, 430, b'tmpfs', 0)",
    "copy the tree of mounts": "attempt(428, 428, -100, b'/', 1)",
    "change a mount": (
        "tree = call(428, 428, -100, b'/', 1)\n"
        "attempt(442, 442, tree, b'', 0x1000, struct.pack('QQQQ', 1, 0, 0, 0), 32)"
    ),
    "bind a folder": "attempt(165, 40, b'/etc', FOLDER.encode(), 0, 4096, 0); print(os.listdir(FOLDER))",
    "change the root": "os.chroot(FOLDER); print(DONE)",
    "move into new namespaces": "attempt(272, 97, 0x7C020000)",
    "read the kernel's messages": "attempt(103, 116, 3, buffer, 4096)",
    "hide memory from the kernel": "attempt(447, 447, 0)",
    "handle page faults": "attempt(323, 282, 1)",
    "read and write outside the process": "attempt(206, 0, 8, struct.pack('Q', 0))",
    "share memory with the next program": "id = call(29, 194, 0, 4096, 0o1600); attempt(31, 195, id, 0, 0)",
    "leave a message for the next program": "id = call(68, 186, 0, 0o1600); attempt(71, 187, id, 0, 0)",
    "leave a queue for the next program": "attempt(240, 180, b'quartet', 0o102, 0o600, 0); call(241, 181, b'quartet')",
    "make a map for code in the kernel": "attempt(321, 280, 0, struct.pack('4I', 2, 4, 4, 1).ljust(128, b'\\0'), 128)",
    "watch the user's folder": "attempt(254, 27, call(294, 26, 0), FOLDER.encode(), 0xFFF)",
    "watch all files": "attempt(300, 262, 0, 0)",
    "fill the kernel's pipes": (
        "import fcntl\nfor _ in range(12): fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)\nprint(DONE)"
    ),
}
