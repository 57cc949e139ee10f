#!/usr/bin/env python3
"""Runs the queries of a Grafana dashboard against a Prometheus that scrapes a platform, until each returns series.

Prints one JSON object: the number of queries, and those without series at the end.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

UNPACKED = os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "pcast/promtool/usr/bin/prometheus")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


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
    except OSError:
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
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
         f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        all_queries = list(queries(options.dashboard))
        missing = all_queries
        end = time.monotonic() + options.seconds
        while missing and time.monotonic() < end and process.poll() is None:
            time.sleep(0.5)
            missing = [query for query in missing if not series(address, query[1])]
        print(json.dumps({"queries": len(all_queries), "missing": [f"{title}: {text}" for title, text in missing]}))
        return 1 if missing else 0
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
