"""Kill a run before one of its file operations, as the start of a program for `run_python`."""

#: Source of `run_killed(work, n_left, seconds)`: run `work()` in a child that is killed before its n_left-th file
#: operation (0: never), or with `seconds` after that time, and tell whether it was killed. An error ends the
#: program. Import what `work` imports before: an import in the child opens files, too.
RUN_KILLED = """
import os, signal, sys, threading, traceback
EVENTS = {"open", "fcntl.flock", *(f"os.{name}" for name in "rename remove truncate rmdir mkdir scandir".split())}
def run_killed(work, n_left, seconds=None):
    child = os.fork()
    if not child:
        def count(event, arguments):
            nonlocal n_left
            if event in EVENTS:
                n_left -= 1
                if not n_left:
                    os.kill(os.getpid(), signal.SIGKILL)
        if seconds is None:
            sys.addaudithook(count)
        else:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status != 0
"""
