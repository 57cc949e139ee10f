#!/usr/bin/env python3
"""Runs the queries of a Grafana dashboard against a Prometheus that scrapes a platform, until each returns series.

Prints one JSON object: the number of queries, and those without series at the end.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

UNPACKED = os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "pcast/promtool/usr/bin/prometheus")


def start(program, folder):
    """Starts Prometheus on a port that is perhaps free. Returns the process, which ends if it is not, and the address."""
    address = f"127.0.0.1:{random.randrange(20_000, 32_000)}"
    process = subprocess.Popen(
        [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
         f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, address


def queries(path):
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".*")
            yield panel["title"], expression


def series(address, expression):
    """Returns the number of series; 0 while Prometheus does not answer."""
    try:
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{query}", timeout=10) as response:
            return len(json.load(response)["data"]["result"])
    except (OSError, ValueError):  # another program may have the port
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dashboard", required=True)
    parser.add_argument("--target", required=True, help="host and port of the platform")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    program = shutil.which("prometheus") or UNPACKED
    folder = tempfile.mkdtemp(prefix="pcast-prometheus-")
    with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
        json.dump({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "pcast", "static_configs": [{"targets": [options.target]}]}],
        }, file)
    process, address = start(program, folder)
    try:
        all_queries = list(queries(options.dashboard))
        missing = all_queries
        end = time.monotonic() + options.seconds
        while missing and time.monotonic() < end:
            time.sleep(0.5)
            if process.poll() is not None:  # another program had the port
                process, address = start(program, folder)
            missing = [query for query in missing if not series(address, query[1])]
        print(json.dumps({"queries": len(all_queries), "missing": [f"{title}: {text}" for title, text in missing]}))
        return 1 if missing else 0
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
