"""What every peer program shares: its arguments, a hard time limit, and one JSON object as its last line.

The exit status is 0 when everything that the program checks holds, and 1 otherwise; `failed` in the object names the
checks that did not hold, or `error` says what went wrong.
"""

import argparse
import json
import os
import select
import signal
import sys
import time

GRACE = 150
"""Seconds beyond --seconds after which a program gives up: joining, starting a browser, saying goodbye."""


class TimeLimit(BaseException):
    """The hard time limit has passed. No `Exception`, so that no handler of a library swallows it."""


def environment():
    """The Python environment that `scripts/peers` makes."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "pcast", "peers")


def require(module, interpreter):
    """Starts this program anew under `interpreter` where the running one does not have `module`."""
    try:
        __import__(module)
        return
    except ImportError:
        pass
    if os.path.realpath(sys.argv[0]) == os.environ.get("PCAST_PEER_RESTARTED") or not os.path.exists(interpreter):
        sys.exit(f"{os.path.basename(sys.argv[0])}: {module} is missing; scripts/peers installs it")
    os.environ["PCAST_PEER_RESTARTED"] = os.path.realpath(sys.argv[0])
    os.execv(interpreter, [interpreter, *sys.argv])


def arguments(description, url_help, seconds=10.0, positional=False):
    """The arguments that every program has; the caller adds its own and parses."""
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
    """Whether the time of --seconds is not over yet, or nobody has told the program that it is enough."""
    return time.monotonic() < deadline or options.until_told and not select.select([sys.stdin], [], [], 0)[0]


class Program:
    """One run: gathers figures and checks, and ends with the JSON object."""

    def __init__(self, peer, seconds):
        self.figures = {"peer": peer}
        self._failed = []
        self._limit = seconds + GRACE
        signal.signal(signal.SIGALRM, self._expire)
        signal.signal(signal.SIGTERM, self._terminate)
        # Who starts this program may do so from a thread that blocks signals, and that is inherited.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGINT, signal.SIGTERM})
        signal.setitimer(signal.ITIMER_REAL, self._limit)

    def check(self, name, holds):
        """Notes a claim under the name that `failed` gives it when it does not hold."""
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
        except Exception as problem:  # whatever it is, it is the result of this run
            error = f"{type(problem).__name__}: {problem}"
        signal.setitimer(signal.ITIMER_REAL, 0)
        result = {"ok": error is None and not self._failed, **self.figures, "failed": self._failed}
        if error is not None:
            result["error"] = error
        print(json.dumps(result), flush=True)
        # Threads of media libraries may still run; nothing of theirs matters any more.
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
