"""The common code of all peer programs: arguments, a hard time limit, and one JSON object as the last line.

The exit status is 0 if all checks of the program pass, and 1 otherwise. In the object, `failed` lists the failed
checks, or `error` states the error.
"""

import argparse
import importlib.util
import json
import os
import select
import signal
import sys
import time

GRACE = 220
"""The seconds in addition to --seconds until the time limit: for the join, the start of a browser, and the end."""


class TimeLimit(BaseException):
    """The hard time limit has passed. This is not an `Exception`, so that no handler of a library catches it."""


def environment():
    """The Python environment that `scripts/peers` creates."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "pcast", "peers")


def has(module):
    """Returns whether a module can be found. Packages that contain it are imported, but not the module."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def require(interpreter, *modules):
    """Restarts this program with `interpreter` if the current one does not have all of these modules."""
    missing = [module for module in modules if not has(module)]
    if not missing:
        return
    if os.path.realpath(sys.argv[0]) == os.environ.get("PCAST_PEER_RESTARTED") or not os.path.exists(interpreter):
        sys.exit(f"{os.path.basename(sys.argv[0])}: {', '.join(missing)} is missing; scripts/peers installs it")
    os.environ["PCAST_PEER_RESTARTED"] = os.path.realpath(sys.argv[0])
    os.execv(interpreter, [interpreter, *sys.argv])


def arguments(description, url_help, seconds=10.0, positional=False):
    """Returns a parser with the common arguments. The caller adds its own arguments and parses."""
    parser = argparse.ArgumentParser(description=description)
    if positional:
        parser.add_argument("url", nargs="?", help=url_help)
        parser.add_argument("--url", dest="url_option", help=argparse.SUPPRESS)
    else:
        parser.add_argument("--url", required=True, help=url_help)
    parser.add_argument("--token", help="sent as bearer token")
    parser.add_argument("--seconds", type=float, default=seconds, help="how long media flows (default %(default)s)")
    parser.add_argument(
        "--until-told", action="store_true", help="go on beyond --seconds, until a line comes on standard input")
    return parser


def goes_on(options, deadline):
    """Returns whether the program continues: --seconds have not passed, or it has received no request to stop."""
    return time.monotonic() < deadline or options.until_told and not select.select([sys.stdin], [], [], 0)[0]


class Program:
    """A run, which collects metrics and checks and ends with the JSON object."""

    def __init__(self, peer, seconds, limit=None):
        """`limit` is the number of seconds until the time limit, if the caller knows a better one than that by `seconds`."""
        self.figures = {"peer": peer}
        self._failed = []
        self._limit = limit or seconds + GRACE
        signal.signal(signal.SIGALRM, self._expire)
        signal.signal(signal.SIGTERM, self._terminate)
        # The parent may start this program from a thread that blocks signals, and the program inherits this.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGINT, signal.SIGTERM})
        signal.setitimer(signal.ITIMER_REAL, self._limit)

    def check(self, name, holds):
        """Records a check with the name that `failed` contains if the check fails."""
        if not holds:
            self._failed.append(name)

    def run(self, body):
        """Runs `body`, prints the object and exits."""
        error = None
        try:
            body()
        except TimeLimit:
            error = f"not done after {self._limit:.0f} s"
        except KeyboardInterrupt:
            error = "interrupted"
        except Exception as problem:  # any error is the result of this run
            error = f"{type(problem).__name__}: {problem}"
        signal.setitimer(signal.ITIMER_REAL, 0)
        result = {"ok": error is None and not self._failed, **self.figures, "failed": self._failed}
        if error is not None:
            result["error"] = error
        print(json.dumps(result), flush=True)
        # Threads of media libraries may still run, but their results are not needed.
        os._exit(0 if result["ok"] else 1)

    def _expire(self, *_):
        signal.signal(signal.SIGALRM, self._abandon)
        signal.setitimer(signal.ITIMER_REAL, 5)
        raise TimeLimit

    def _abandon(self, *_):
        print(json.dumps({"ok": False, **self.figures, "error": "hung at the time limit"}), flush=True)
        os._exit(1)

    def _terminate(self, *_):
        raise KeyboardInterrupt
