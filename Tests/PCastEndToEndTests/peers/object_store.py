#!/usr/bin/env python3
"""An S3-compatible object store (moto) with one bucket, which verifies the signatures of all requests.

It prints `listening` with its address and the credentials as one JSON object, and runs until standard input ends. These
paths control it:

    /-/parts/N     accepts N more parts of multipart uploads, and then answers everything with 503
    /-/outage      answers everything with 503
    /-/normal      accepts everything
    /-/objects     returns the keys, sizes and SHA-256 of all objects, and the number of multipart uploads
    /-/requests    returns the requests so far: method, path, query and status
"""

import argparse
import hashlib
import json
import logging
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program

OBJECTS = os.path.join(os.path.dirname(program.environment()), "objects", "bin", "python")
program.require(OBJECTS, "moto", "boto3", "werkzeug")

# The requests before verification begins: the user, its policy, its key, and the bucket.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

UNAVAILABLE = (b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>SlowDown</Code>"
               b"<Message>Reduce your request rate.</Message></Error>")


class Front:
    """The WSGI application before the object store: it controls it, and rejects requests during an outage."""

    def __init__(self, store):
        self.store = store
        self.lock = threading.Lock()
        self.parts = None
        self.is_out = False
        self.requests = []
        self.contents = None

    def rejects(self, environ):
        with self.lock:
            is_part = environ["REQUEST_METHOD"] == "PUT" and "partNumber=" in environ["QUERY_STRING"]
            if self.parts is not None and is_part:
                self.is_out = self.is_out or self.parts == 0
                self.parts -= 1
            return self.is_out

    def control(self, words):
        if words[0] == "objects":
            return self.contents()
        with self.lock:
            if words[0] == "requests":
                return self.requests
            self.parts = int(words[1]) if words[0] == "parts" else None
            self.is_out = words[0] == "outage"
        return {}

    def __call__(self, environ, respond):
        words = environ["PATH_INFO"].strip("/").split("/")
        if words[0] == "-":
            return self.answer(respond, "200 OK", "application/json", json.dumps(self.control(words[1:])).encode())
        is_own = environ.get("HTTP_USER_AGENT", "").startswith("Boto3")

        def report(status, headers, *rest):
            if not is_own:
                with self.lock:
                    self.requests.append({"method": environ["REQUEST_METHOD"], "path": environ["PATH_INFO"],
                                          "query": environ["QUERY_STRING"], "status": int(status.split()[0])})
            return respond(status, headers, *rest)

        if not is_own and self.rejects(environ):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return self.answer(report, "503 Slow Down", "application/xml", UNAVAILABLE)
        return self.store(environ, report)

    @staticmethod
    def answer(respond, status, kind, body):
        respond(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]


def prepare(endpoint, bucket):
    """Creates a user who may do everything, and the bucket. Returns the user's credentials."""
    unsigned = {"endpoint_url": endpoint, "region_name": "eu-central-1", "aws_access_key_id": "none",
                "aws_secret_access_key": "none"}
    iam = boto3.client("iam", **unsigned)
    iam.create_user(UserName="platform")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(UserName="platform", PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="platform")["AccessKey"]
    boto3.client("s3", **unsigned).create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return key["AccessKeyId"], key["SecretAccessKey"]


def contents(client, bucket):
    objects = []
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            try:
                body = client.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
            except client.exceptions.NoSuchKey:
                continue  # it was deleted meanwhile
            objects.append({"key": entry["Key"], "size": len(body), "hash": hashlib.sha256(body).hexdigest()})
    uploads = client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return {"objects": objects, "uploads": len(uploads)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bucket", default="recordings")
    parser.add_argument("--credentials", help="a file to which the credentials are written in the form of AWS")
    options = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    front = Front(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", options.port, front, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    key, secret = prepare(endpoint, options.bucket)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="eu-central-1", aws_access_key_id=key,
                          aws_secret_access_key=secret)
    front.contents = lambda: contents(client, options.bucket)
    if options.credentials:
        with open(options.credentials, "w") as file:
            file.write(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    print(json.dumps({"event": "listening", "uri": endpoint, "accessKey": key, "secretKey": secret}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
