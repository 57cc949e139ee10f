#!/usr/bin/env python3
"""Requests a certificate with certbot from pebble, a certificate authority for tests, which requests the challenge from a
platform. Then waits until the platform's TLS port shows the certificate, and prints “served”.

pebble resolves every name to 127.0.0.1, by its own DNS server.
"""

import argparse
import json
import os
import random
import ssl
import subprocess
import sys
import time
import urllib.request

ATTEMPTS = 10


def listens(process, url):
    """Waits until a server responds. Returns False if the process has ended, for example because its port is in use."""
    context = ssl._create_unverified_context()
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, context=context, timeout=10).close()
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            time.sleep(0.05)
    return False


def start_authority(options):
    """Starts pebble and its DNS server on free ports. Returns the processes and the directory's URL."""
    certificate, key = (os.path.join(options.folder, name) for name in ("authority.pem", "authority.key"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = dict(os.environ, PEBBLE_VA_NOSLEEP="1", PEBBLE_WFE_NONCEREJECT="0")
    for _ in range(ATTEMPTS):
        ports = [random.randrange(20_000, 32_000) for _ in range(4)]
        configuration = {
            "listenAddress": f"127.0.0.1:{ports[0]}", "managementListenAddress": f"127.0.0.1:{ports[1]}",
            "certificate": certificate, "privateKey": key, "httpPort": options.http_port, "tlsPort": options.tls_port,
        }
        file = os.path.join(options.folder, "pebble.json")
        with open(file, "w", encoding="utf-8") as output:
            json.dump({"pebble": configuration}, output)
        names = subprocess.Popen(
            [os.path.join(options.pebble, "pebble-challtestsrv"), "-defaultIPv6", "", "-http01", "", "-https01", "",
             "-tlsalpn01", "", "-dns01", f"127.0.0.1:{ports[2]}", "-management", f"127.0.0.1:{ports[3]}"],
            stdout=sys.stderr)
        pebble = subprocess.Popen(
            [os.path.join(options.pebble, "pebble"), "-config", file, "-dnsserver", f"127.0.0.1:{ports[2]}"],
            stdout=sys.stderr, env=environment)
        directory = f"https://127.0.0.1:{ports[0]}/dir"
        if listens(names, f"http://127.0.0.1:{ports[3]}/") and listens(pebble, directory):
            return [names, pebble], directory
        stop([names, pebble])
    sys.exit("pebble did not start")


def stop(processes):
    for process in processes:
        process.terminate()
        process.wait()


def served(port):
    """Returns the certificate of a TLS port; None while no handshake succeeds."""
    try:
        return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port)))
    except OSError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pebble", required=True, help="folder of pebble")
    parser.add_argument("--folder", required=True, help="folder for the files of pebble and certbot")
    parser.add_argument("--webroot", required=True)
    parser.add_argument("--name", required=True, help="domain name")
    parser.add_argument("--hook", required=True, help="deploy hook")
    parser.add_argument("--http-port", type=int, required=True)
    parser.add_argument("--tls-port", type=int, required=True)
    options = parser.parse_args()
    processes, directory = start_authority(options)
    try:
        folders = [f"--{name}={os.path.join(options.folder, name)}" for name in ("config-dir", "work-dir", "logs-dir")]
        subprocess.run(
            ["certbot", "certonly", "--webroot", "-w", options.webroot, "--server", directory, "--no-verify-ssl",
             "--agree-tos", "--register-unsafely-without-email", "-n", "-d", options.name, "--deploy-hook",
             options.hook] + folders, check=True, stdout=sys.stderr)
    finally:
        stop(processes)
    chain = os.path.join(options.folder, "config-dir", "live", options.name, "fullchain.pem")
    with open(chain, encoding="ascii") as file:
        issued = ssl.PEM_cert_to_DER_cert(file.read().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----")
    while served(options.tls_port) != issued:
        time.sleep(0.1)
    print("served", flush=True)


if __name__ == "__main__":
    main()
