"""Commands in processes that are forked from one that has imported torch, transformers and unmask already.

A command started anew takes five seconds before it does anything. Tests of what a command does use `Forked`; tests of
what a process does (its imports, its signals, its entry point) start a real one.

As a script this is the client, and stands in the place of the `unmask` executable in shell scripts:
`python -S forked.py SOCKET WORD…` hands its words, folder, environment and open files to the server, and ends with the
exit code of the command.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from importlib import import_module
from pathlib import Path

SIZE = struct.Struct("!I")
IMPORTED = ("unmask.audit.run", "unmask.audit.compare", "unmask.audit.gate", "unmask.report.run")  # with what they need


def ask(path: str, words: list[str]) -> int:
    """Run a command in a child of the server, with the files, folder and environment of this process."""
    request = json.dumps({"words": words, "folder": str(Path.cwd()), "environment": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(path)
        socket.send_fds(server, [SIZE.pack(len(request))], [0, 1, 2])
        server.sendall(request)
        (code,) = SIZE.unpack(_receive(server, SIZE.size))
    return int(code)


def serve(path: str) -> None:
    """Answer requests one after the other in forked children, until standard input is closed."""
    import threading

    import torch

    for name in IMPORTED:
        import_module(name)
    torch.set_num_threads(1)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        with connection:
            header, files, *_ = socket.recv_fds(connection, SIZE.size, 3)
            request = json.loads(_receive(connection, *SIZE.unpack(header)))
            if (child := os.fork()) == 0:
                _run(request, files)
            for file in files:
                os.close(file)
            _, status = os.waitpid(child, 0)
            connection.sendall(SIZE.pack(os.waitstatus_to_exitcode(status) & 0xFF))


def _run(request: dict[str, object], files: list[int]) -> None:
    """Become the command: take over its files, folder and environment, and end with its exit code."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.argv = ["unmask", *request["words"]]  # type: ignore[misc]
    code = 70
    try:
        from unmask.__main__ import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("the server of commands is gone")
        parts += part
    return bytes(parts)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        raise SystemExit(ask(sys.argv[1], sys.argv[2:]))
