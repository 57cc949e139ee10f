#!/usr/bin/env python3
"""Sends one request and prints the status of its response."""

import argparse
import base64
import urllib.error
import urllib.request

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("method")
parser.add_argument("url")
parser.add_argument("--user", help="NAME:PASSWORD")
parser.add_argument("--type", default="application/json")
parser.add_argument("--body")
arguments = parser.parse_args()

body = arguments.body.encode() if arguments.body is not None else None
request = urllib.request.Request(arguments.url, data=body, method=arguments.method)
request.add_header("Content-Type", arguments.type)
if arguments.user:
    request.add_header("Authorization", "Basic " + base64.b64encode(arguments.user.encode()).decode())
try:
    with urllib.request.urlopen(request, timeout=60) as answer:
        print(answer.status)
except urllib.error.HTTPError as error:
    print(error.code)
