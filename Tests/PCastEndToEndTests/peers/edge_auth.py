#!/usr/bin/env python3
"""Prints a token of the public EdgeAuth library. The library's own program has dependencies that it does not install."""

import argparse
import os

import program

program.require(os.path.join(program.environment(), "bin", "python"), "edgeauth.token_builder")

from edgeauth.token_builder import TokenBuilder  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--application", required=True, help="ID:SECRET")
    parser.add_argument("--kind", required=True, choices=["authentication", "publishing", "streaming"])
    parser.add_argument("--stream", help="the stream that may be viewed")
    options = parser.parse_args()
    name, secret = options.application.split(":")
    builder = TokenBuilder().with_application_id(name).with_secret(secret).expires_in_seconds(600)
    if options.kind == "authentication":
        builder = builder.for_authenticate_only()
    elif options.kind == "publishing":
        builder = builder.for_publishing_only()
    else:
        builder = builder.for_streaming_only()
    if options.stream:
        builder = builder.for_origin_stream(options.stream)
    print(builder.build())


if __name__ == "__main__":
    main()
