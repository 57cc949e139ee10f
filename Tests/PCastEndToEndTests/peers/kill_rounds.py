#!/usr/bin/env python3
"""Repeatedly kills a platform while it has publishers, and checks the notifications that the backend received."""

import argparse
import base64
import json
import os
import random
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

import backend
import program

APPLICATION = "studio:not-so-secret"

OFFER = "\r\n".join([
    "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
    "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", "a=rtcp-mux",
    "a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=fingerprint:sha-256 " + ":".join(["AB"] * 32),
    "a=setup:actpass", "a=rtpmap:111 opus/48000/2", "a=msid:- sound", ""])


class Platform:
    """A `pcast serve` process that stores its data in a directory."""

    def __init__(self, options, number):
        started = time.monotonic()
        self._messages = open(f"{options.data}-{number}.err", "w")
        self.process = subprocess.Popen(
            [options.program, "serve", "--json", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application",
             APPLICATION, "--data", options.data, "--webhook-allow", "127.0.0.1",
             *(["--reconnect-grace", options.grace] if options.grace else [])],
            stdout=subprocess.PIPE, stderr=self._messages, text=True)
        self.uri = None
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "listening":
                self.uri = event["uri"]
                break
        if self.uri is None:
            raise RuntimeError(f"the platform did not start: see {self._messages.name}")
        self.seconds = time.monotonic() - started

    def request(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.uri + path, data=body and body.encode(), method=method)
        request.add_header("Content-Type", kind)
        if path.startswith("/pcast"):
            request.add_header("Authorization", "Basic " + base64.b64encode(APPLICATION.encode()).decode())
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)

    def end(self, number):
        """Ends the process by a signal and returns its exit status."""
        self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self._messages.close()
        return status


class Publishers:
    """Publishers that publish one stream after another until the platform is killed, and end every second one."""

    def __init__(self, platform, round_number):
        self.told = []
        self.ended = {}
        self._platform = platform
        self._round = round_number
        self._threads = [threading.Thread(target=self._publish) for _ in range(3)]
        for thread in self._threads:
            thread.start()

    def _publish(self):
        try:
            while True:
                answer = self._platform.request("POST", "/whip", OFFER, "application/sdp")
                stream = answer.headers["PCast-Stream-Id"]
                self.told.append(stream)
                if len(self.told) % 2:
                    reason = f"round {self._round}"
                    body = json.dumps({"streamId": stream, "reason": reason})
                    self._platform.request("DELETE", "/pcast/stream", body).read()
                    self.ended[stream] = reason
        except (OSError, urllib.error.URLError, ValueError):
            pass  # the platform was killed
        except Exception as problem:  # such as a truncated response
            if self._platform.process.poll() is None:
                raise problem

    def join(self):
        for thread in self._threads:
            thread.join()


def unended(received, told):
    """Returns the streams that are known to have begun, and for which the backend received no end."""
    events = [(content["data"]["streamId"], content["what"]) for _, _, content in list(received)]
    return (set(told) | {stream for stream, _ in events}) - {stream for stream, what in events if what == "ended"}


def judge(run, received, told, ended):
    streams, bodies, names, first = {}, {}, {}, {}
    for position, (identifier, body, content) in enumerate(received):
        stream, what = content["data"]["streamId"], content["what"]
        run.check("a notification's content never changes", bodies.setdefault(identifier, body) == body)
        run.check("an event has one name", names.setdefault((stream, what), identifier) == identifier)
        first.setdefault((stream, what), position)
        streams.setdefault(stream, {})[what] = content
    order = ["starting", "started", "ended"]
    for stream in told:
        run.check("every event of a stream that was told ok arrived", set(streams.get(stream, {})) == set(order))
    for stream, events in streams.items():
        positions = [first[stream, what] for what in order if what in events]
        run.check("the events of a stream arrived in order", positions == sorted(positions))
        run.check("every stream that began has ended", "ended" in events)
    reasons = [streams[stream]["ended"]["data"]["reason"] for stream in ended if "ended" in streams.get(stream, {})]
    run.check("a reason that was taken is the one told", all(
        streams[stream]["ended"]["data"]["reason"] == reason
        for stream, reason in ended.items() if "ended" in streams.get(stream, {})))
    run.figures.update(
        streams=len(streams), toldOk=len(told), notifications=len(names), repeated=len(received) - len(names),
        endedAsAsked=sum(reason != "failed" for reason in reasons), endedAsFailed=reasons.count("failed"))
    run.check("streams were published", len(told) >= 1)


def rounds(run, options):
    chance = random.Random(options.seed)
    receiver = backend.Backend(refusing=0.05, seed=options.seed)
    told, ended, slowest = [], {}, 0.0
    for number in range(options.rounds):
        platform = Platform(options, number)
        slowest = max(slowest, platform.seconds)
        if number == 0:
            platform.request("PUT", "/pcast/application/studio/callback", json.dumps({
                "callback": {"host": "127.0.0.1", "port": receiver.port}, "signingSecret": backend.SECRET})).read()
        publishers = Publishers(platform, number)
        # At least one round must interrupt a stream, even on a slow machine.
        while number == 0 and not publishers.told:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.02, 0.4))
        platform.end(signal.SIGKILL)
        publishers.join()
        told += publishers.told
        ended.update(publishers.ended)
    platform = Platform(options, options.rounds)
    # The streams of the last killed platform wait for their publishers until the end of the grace period.
    while b"pcast_streams_reconnecting 0\n" not in platform.request("GET", "/metrics").read():
        time.sleep(0.1)
    # After that, the ends are stored, and then the notifications are sent.
    patience = time.monotonic() + 120
    while unended(receiver.received, told) and time.monotonic() < patience:
        time.sleep(0.1)
    place = "/pcast/application/studio/notifications?state=pending&length=1"
    while json.load(platform.request("GET", place))["notifications"]:
        time.sleep(0.1)
    aside = json.load(platform.request("GET", place.replace("pending", "failed")))["notifications"]
    run.check("nothing was kept aside", not aside)
    run.check("it ends by SIGINT with 0", platform.end(signal.SIGINT) == 0)
    run.check("every notification was signed", receiver.unsigned == 0)
    judge(run, receiver.received, told, ended)
    run.figures.update(
        rounds=options.rounds, refused=receiver.refused, slowestStartMilliseconds=round(slowest * 1000))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="pcast")
    parser.add_argument("--data", required=True, help="the directory of the records")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--grace", help="the time for which streams of a killed platform wait for their publishers")
    options = parser.parse_args()
    run = program.Program("kill rounds", options.seconds)
    run.figures["seed"] = options.seed
    run.run(lambda: rounds(run, options))


if __name__ == "__main__":
    main()
