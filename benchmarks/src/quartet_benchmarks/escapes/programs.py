"""Programs that try to leave the sandbox, by kind.

A program knows everything about its surroundings: the constants of `bait.Bait.names` stand before it. It prints DONE
when it did what it must not; beside that, the suite looks at the bait itself.
"""

from quartet_benchmarks.escapes.system import OTHERS, PRIVILEGES

FILES = {
    "read a file of the user": "print(open(SECRET_FILE).read())",
    "read it with os.open": "import os; print(os.read(os.open(SECRET_FILE, os.O_RDONLY), 100))",
    "read it through the folder's descriptor": (
        "import os; f = os.open(FOLDER, os.O_PATH); print(os.read(os.open('secret', os.O_RDONLY, dir_fd=f), 100))"
    ),
    "read it with libc": (
        "import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(100)\n"
        "c.read(c.open(SECRET_FILE.encode(), 0), b, 100); print(b.value)"
    ),
    "read it with mmap": (
        "import mmap, os; print(mmap.mmap(os.open(SECRET_FILE, os.O_RDONLY), 0, prot=mmap.PROT_READ)[:])"
    ),
    "read it with numpy": "import numpy; print(bytes(numpy.fromfile(SECRET_FILE, dtype='u1')))",
    "read it as a module": (
        "import importlib.machinery as m; print(m.SourceFileLoader('x', SECRET_FILE).get_data(SECRET_FILE))"
    ),
    "read it by a link": "import os; os.symlink(SECRET_FILE, FOLDER + '/link'); print(open(FOLDER + '/link').read())",
    "read it by a link in the modules' folder": (
        "import os, sys; os.symlink(SECRET_FILE, sys.path[0] + '/s'); print(open(sys.path[0] + '/s').read())"
    ),
    "read it by climbing out of the modules' folder": (
        "import sys; print(open(sys.path[0] + '/../' * 9 + SECRET_FILE).read())"
    ),
    "read it through /proc/self/root": "print(open('/proc/self/root' + SECRET_FILE).read())",
    "read it with openat2": (
        "import ctypes, os, struct; fd = ctypes.CDLL(None).syscall(437, -100, SECRET_FILE.encode(), bytes(24), 24)\n"
        "print(os.read(fd, 100))"
    ),
    "read it by a handle": (
        "import ctypes, os, struct; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(200); m = ctypes.c_int()\n"
        "struct.pack_into('I', b, 0, 128); c.name_to_handle_at(-100, SECRET_FILE.encode(), b, ctypes.byref(m), 0)\n"
        "print(os.read(c.open_by_handle_at(os.open(FOLDER, os.O_RDONLY), b, 0), 100))"
    ),
    "read it through another process's root": "print(open(f'/proc/{VICTIM_PID}/root' + SECRET_FILE).read())",
    "truncate it by opening it": "import os; os.open(SECRET_FILE, os.O_RDONLY | os.O_TRUNC)",
    "make a file without a name": "import os; os.open(FOLDER, os.O_TMPFILE | os.O_WRONLY); print(DONE)",
    "make a device": "import os; os.mknod(FOLDER + '/disk', 0o60600, os.makedev(8, 0))",
    "list the user's folder": "import os; os.listdir(FOLDER); print(DONE)",
    "list the root": "import os; os.listdir('/'); print(DONE)",
    "read the passwords": "open('/etc/passwd').read(); print(DONE)",
    "read the groups": "open('/etc/group').read(); print(DONE)",
    "read a device": "open('/dev/mem', 'rb').read(1); print(DONE)",
    "read the kernel's symbols": "open('/proc/kallsyms').read(1); print(DONE)",
    "make a file": "open(FOLDER + '/new', 'w').write('x')",
    "make a file in /tmp": "open('/tmp/quartet-escape', 'w').write('x'); print(DONE)",
    "make a file in shared memory": "open('/dev/shm/quartet-escape', 'w').write('x'); print(DONE)",
    "make a file among the modules": "import sys; open(sys.path[0] + '/x.py', 'w').write('x'); print(DONE)",
    "change the interpreter's library": "import os; open(os.__file__, 'a').write('x'); print(DONE)",
    "overwrite a file": "open(SECRET_FILE, 'w').write('x')",
    "truncate a file": "import os; os.truncate(SECRET_FILE, 0)",
    "remove a file": "import os; os.unlink(SECRET_FILE)",
    "rename a file": "import os; os.rename(SECRET_FILE, SECRET_FILE + '2')",
    "link a file": "import os; os.link(SECRET_FILE, FOLDER + '/hard')",
    "make a folder": "import os; os.mkdir(FOLDER + '/d')",
    "make a pipe": "import os; os.mkfifo(FOLDER + '/p')",
    "change a file's mode": "import os; os.chmod(SECRET_FILE, 0o777)",
    "change a file's owner": "import os; os.chown(SECRET_FILE, 12345, 12345)",
    "change a file's times": "import os; os.utime(SECRET_FILE, (1, 1))",
    "set an attribute of a file": "import os; os.setxattr(SECRET_FILE, 'user.x', b'x')",
    "make a file in memory and run it": "import os; os.memfd_create('x'); print(DONE)",
}

NETWORK = {
    "connect to Redis": "import socket; socket.create_connection(('127.0.0.1', TCP_PORT), 2).send(b'PING\\r\\n')",
    "connect to it over IPv6": (
        "import socket; s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(('::ffff:127.0.0.1', TCP_PORT))"
    ),
    "connect to it without Python's socket": (
        "import ctypes, struct; c = ctypes.CDLL(None); s = c.socket(2, 1, 0)\n"
        "a = struct.pack('<H', 2) + struct.pack('>H', TCP_PORT) + bytes([127, 0, 0, 1]) + bytes(8); c.connect(s, a, 16)"
    ),
    "ask the gateway": (
        "import urllib.request; print(urllib.request.urlopen(f'http://127.0.0.1:{TCP_PORT}/v1/models', timeout=2))"
    ),
    "ask the metadata address": (
        "import socket; s = socket.socket(); s.settimeout(2); s.connect(('169.254.169.254', 80)); print(DONE)"
    ),
    "send a datagram": "import socket; socket.socket(2, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP_PORT))",
    "resolve a name": "import socket; socket.getaddrinfo('localhost', 80); s = socket.socket(); print(DONE)",
    "connect to a Unix socket": "import socket; s = socket.socket(socket.AF_UNIX); s.connect(UNIX_PATH); s.send(b'x')",
    "connect to an abstract socket": (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect(ABSTRACT_NAME); s.send(b'x')"
    ),
    "listen": "import socket; socket.create_server(('127.0.0.1', 0)); print(DONE)",
    "listen on an abstract socket": (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0quartet-escape'); print(DONE)"
    ),
    "look at the network's interfaces": (
        "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print(DONE)"
    ),
    "open a raw socket": "import socket; socket.socket(2, socket.SOCK_RAW, 1); print(DONE)",
    "make a socket with the 32-bit number": (
        "import ctypes, os; n = {'x86_64': 0x40000029}.get(os.uname().machine, 198)\n"
        "print(DONE if ctypes.CDLL(None).syscall(n, 2, 1, 0) >= 0 else 'refused')"
    ),
    "listen to the network's packets": "import socket; socket.socket(17, socket.SOCK_RAW, 0x300); print(DONE)",
    "reach the kernel's ciphers": "import socket; socket.socket(38, 5).bind(('hash', 'sha1')); print(DONE)",
    "make a pair of sockets": "import socket; socket.socketpair(); print(DONE)",
    "connect through io_uring": (
        "import ctypes; b = ctypes.create_string_buffer(200)\n"
        "print(DONE if ctypes.CDLL(None).syscall(425, 8, b) >= 0 else 'refused')"
    ),
}

PROCESSES = {
    "fork": "import os; os.fork(); print(DONE)",
    "fork without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "start a shell": "import subprocess; subprocess.run(['/bin/sh', '-c', 'true']); print(DONE)",
    "become a shell": "import os; os.execv('/bin/sh', ['sh', '-c', 'echo ' + DONE])",
    "become another interpreter": (
        "import os, sys; p = sys.executable\nos.execv(p, [p, '-c', f'print(open({SECRET_FILE!r}).read())'])"
    ),
    "become a shell through the loader": (
        "import glob, os; p = glob.glob('/lib*/ld-linux-*')[0]; os.execv(p, [p, '/bin/sh', '-c', 'echo ' + DONE])"
    ),
    "system": "import os; assert os.system('true') == 0; print(DONE)",
    "start processes with multiprocessing": (
        "import multiprocessing as m; p = m.Process(target=print); p.start(); p.join(); print(DONE)"
    ),
    "kill another process": "import os, signal; os.kill(VICTIM_PID, signal.SIGKILL)",
    "stop another process": "import os, signal; os.kill(VICTIM_PID, signal.SIGSTOP)",
    "kill the executor": "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os.kill(OWNER_PID, signal.SIGKILL)",
    "kill everything": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "kill the executor by a descriptor": (
        "import os, signal; signal.pidfd_send_signal(os.pidfd_open(OWNER_PID), signal.SIGTERM); print(DONE)"
    ),
    "trace another process": (
        "import ctypes; print(DONE if ctypes.CDLL(None).ptrace(16, VICTIM_PID, 0, 0) == 0 else 'refused')"
    ),
    "read another process's memory": "print(open(f'/proc/{VICTIM_PID}/environ').read())",
    "read the executor's memory": "open(f'/proc/{OWNER_PID}/mem', 'rb').read(1); print(DONE)",
    "read its command line": "open(f'/proc/{OWNER_PID}/cmdline').read(); print(DONE)",
    "copy memory across processes": (
        "import ctypes; b = ctypes.create_string_buffer(64); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 8)\n"
        "n = ctypes.CDLL(None).process_vm_readv(OWNER_PID, v, 1, v, 1, 0)\n"
        "print(DONE if n >= 0 else 'refused')"
    ),
    "take a lower priority away from others": "import os; os.setpriority(0, VICTIM_PID, 19); print(DONE)",
    "new namespaces": ("import ctypes; print(DONE if ctypes.CDLL(None).unshare(0x10000000) == 0 else 'refused')"),
    "mount": ("import ctypes; print(DONE if ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0 else 'no')"),
    "load code into the kernel": (
        "import ctypes; b = ctypes.create_string_buffer(128)\n"
        "print(DONE if ctypes.CDLL(None).syscall(321, 0, b, 128) >= 0 else 'refused')"
    ),
    "raise its own limits": (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1)); r.setrlimit(r.RLIMIT_NOFILE, (9999, 9999))\n"
        "x = bytearray(2_000_000_000)\n"
        "print(DONE)"
    ),
}

INTERPRETER = {
    "read the environment": "import os; print(dict(os.environ))",
    "read the environment with libc": "import ctypes; print(ctypes.CDLL(None).getenv(b'QUARTET_SECRET'))",
    "import the executor": "import quartet_sandbox; print(DONE)",
    "import what the executor has": "import pydantic; print(DONE)",
    "reach the caller's objects": (
        "import gc; print([o for o in gc.get_objects() if 'redis' in type(o).__module__ or 'asyncio' in repr(o)[:40]])"
    ),
    "leave something for the next program": "import builtins; builtins.left = 'left'",
    "find what the last program left": "print(DONE if 'left' in dir(__builtins__) else 'nothing')",
    "call a function that it was not given": (
        "import os\nfor fd in range(3, 20):\n"
        '    try: os.write(fd, b\'{"call": "secret", "args": [], "kwargs": {}}\\n\')\n'
        "    except OSError: pass\n"
        "import time; time.sleep(1)"
    ),
    "answer its own calls": (
        "import os\nfor fd in range(3, 20):\n"
        "    try: os.write(fd, b'{\"result\": 1}\\n')\n"
        "    except OSError: pass\n"
        "import time; time.sleep(1)"
    ),
    "raise an error in its caller by a list": "take(['block'], 0)",
    "raise an error in its caller by a number": "take('', 10**400)",
    "raise an error in its caller by a number without end": (
        'import os; os.write(4, b\'{"call": "take", "args": ["", 1e999], "kwargs": {}}\\n\'); os.read(3, 1)'
    ),
    "raise an error in its caller by depth": "import os; os.write(4, b'[' * 9_999 + b'\\n'); os.read(3, 1)",
    "a program in a string that is too deep": "exec('(' * 100_000)",
    "crash the interpreter": "import ctypes; ctypes.string_at(0)",
    "go on after the end": (
        "import threading, time\ndef later():\n    time.sleep(0.1)\n    greet('after the end')\n"
        "threading.Thread(target=later, daemon=True).start()"
    ),
    "go on in an exit handler": "import atexit; atexit.register(lambda: greet('after the end'))",
}

FLOODS = {
    "endless loop": "while True: pass",
    "endless loop that catches everything": (
        "import signal\nfor n in range(1, 32):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "endless loop in C": "sum(range(10**15))",
    "endless sleep without pipes": "import os, time; os.closerange(3, 64); time.sleep(10**6)",
    "endless sleep without descriptors": "import os, time; os.closerange(0, 64); time.sleep(10**6)",
    "endless sleep in the middle of a call": "import os, time; os.write(4, b'{'); time.sleep(10**6)",
    "endless sleep": "import time; time.sleep(10**6)",
    "threads without end": (
        "import threading\nwhile True:\n"
        "    try: threading.Thread(target=lambda: sum(range(10**15)), daemon=True).start()\n"
        "    except RuntimeError: pass"
    ),
    "memory without end": "x = []\nwhile True:\n    x.append(bytearray(10**7))\n    assert len(x) < 150, DONE",
    "memory at once": "x = bytearray(3 * 10**9); print(DONE)",
    "memory by numpy": "import numpy; x = numpy.ones(4 * 10**8); print(DONE)",
    "output without end": "while True: print('x' * 1000)",
    "output past Python": "import os\nwhile True: os.write(2, b'x' * 10_000)",
    "one line without end": (
        "import os\nfor fd in range(3, 20):\n    try:\n        while True: os.write(fd, b'x' * 9999)\n"
        "    except OSError: pass"
    ),
    "calls without end": "while True: greet()",
    "a call with a huge argument": "greet('x' * 10**8)",
    "calls beside an endless calculation": (
        "import threading\nthreading.Thread(target=lambda: [greet() for _ in range(10**9)], daemon=True).start()\n"
        "while True: pass"
    ),
    "descriptors without end": "import os\nf = []\nwhile len(f) < 10_000: f.append(os.dup(0))\nprint(DONE)",
}

PROGRAMS = {
    "files": FILES,
    "network": NETWORK,
    "processes": PROCESSES,
    "other processes": OTHERS,
    "privileges": PRIVILEGES,
    "interpreter": INTERPRETER,
    "floods": FLOODS,
}
