"""Starts a command on a new terminal, types each answer once its text was shown, and ends with the command's exit code."""

import json
import os
import pty
import sys

answers = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        shown = os.read(terminal, 4096)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
    seen += shown
    if answers and answers[0][0].encode() in seen:
        os.write(terminal, answers.pop(0)[1].encode())
        seen = b""
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
