"""The common code of the two aiortc programs: candidates on loopback, HTTP outside the event loop, negotiated values."""

import asyncio
import contextlib
import socket
import time
import urllib.parse

import aiortc
from aioice import ice

import program

CONNECT_TIMEOUT = 60


def use_addresses(addresses, url):
    """Makes aioice gather exactly these addresses, because it omits 127.0.0.1 and may use other interfaces.

    Without addresses, it gathers the one from which this machine reaches the endpoint.
    """
    if not addresses:
        endpoint = urllib.parse.urlsplit(url)
        family, kind, protocol, _, target = socket.getaddrinfo(
            endpoint.hostname, endpoint.port or 80, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(target)
            addresses = [probe.getsockname()[0]]
    ice.get_host_addresses = lambda use_ipv4, use_ipv6: list(addresses)


def main(parser, peer, body):
    """Parses the arguments and runs the program. `body` is a coroutine function of the run and the options."""
    parser.add_argument("--address", action="append", help="address to gather candidates on")
    options = parser.parse_args()
    use_addresses(options.address, options.url)
    run = program.Program(peer, options.seconds)
    run.run(lambda: asyncio.run(body(run, options)))


def peer_connection():
    """Returns a connection without ICE servers. The default configuration uses a public one."""
    return aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))


def prefer(transceiver, mime_type, capabilities):
    """Restricts the offer to `mime_type` and retransmission."""
    wanted = [codec for codec in capabilities.codecs if codec.mimeType.lower() in (mime_type.lower(), "video/rtx")]
    transceiver.setCodecPreferences(wanted)


@contextlib.asynccontextmanager
async def negotiated(connection, resource, rejected=None):
    """Posts an offer, applies the answer and waits for the connection. Closes and deletes it at the end.

    With an offer that the endpoint must reject, it answers the counter-offer instead.
    """
    started = time.monotonic()
    changed = asyncio.Event()
    connection.on("connectionstatechange", changed.set)
    try:
        if rejected is None:
            await connection.setLocalDescription(await connection.createOffer())
            answer = await asyncio.to_thread(resource.create, connection.localDescription.sdp)
            await connection.setRemoteDescription(aiortc.RTCSessionDescription(answer, "answer"))
        else:
            offer = await asyncio.to_thread(resource.counter, rejected)
            await connection.setRemoteDescription(aiortc.RTCSessionDescription(offer, "offer"))
            await connection.setLocalDescription(await connection.createAnswer())
            await asyncio.to_thread(resource.complete, connection.localDescription.sdp)
        while connection.connectionState not in ("connected", "failed", "closed"):
            changed.clear()
            remaining = started + CONNECT_TIMEOUT - time.monotonic()
            await asyncio.wait_for(changed.wait(), max(remaining, 0.01))
        yield time.monotonic() - started
    except TimeoutError:
        raise RuntimeError(f"connection state is {connection.connectionState} after {CONNECT_TIMEOUT} s") from None
    finally:
        resource.deleted = await asyncio.to_thread(resource.delete)
        await connection.close()


def security(transport):
    """Returns the state, version and cipher of DTLS, and the negotiated SRTP profile."""
    session = transport._ssl  # aiortc has no public property for the values that OpenSSL negotiated
    profile = session.get_selected_srtp_profile() if session else b""
    return {
        "dtlsState": transport.state,
        "dtlsVersion": session.get_protocol_version_name() if session else None,
        "dtlsCipher": session.get_cipher_name() if session else None,
        "srtpProfile": profile.decode() or None,
    }


async def statistics(connection, kind_of_report):
    """Returns the reports of one type, by kind (audio, video)."""
    reports = await connection.getStats()
    return {report.kind: report for report in reports.values() if report.type == kind_of_report}


def codecs(connection):
    """Returns the first negotiated codec of each m-line."""
    agreed = {}
    for transceiver in connection.getTransceivers():
        names = [codec for codec in transceiver._codecs if not codec.mimeType.endswith("/rtx")]
        if names:
            agreed[transceiver.kind] = names[0].mimeType
    return agreed


async def be_abandoned(run, connection, resource, seconds):
    """Connects, and waits until the platform has closed the connection, on which it receives nothing.

    The time is measured from before the offer, so that it is at least the platform's limit on a busy machine too.
    """
    began = time.monotonic()
    async with negotiated(connection, resource):
        while time.monotonic() < began + seconds and connection.connectionState == "connected":
            await asyncio.sleep(0.05)
        run.figures.update(
            connectionState=connection.connectionState, abandonedSeconds=round(time.monotonic() - began, 2))
        if connection.connectionState != "connected":
            await asyncio.to_thread(resource.await_end)
    run.figures["deleteStatus"] = resource.deleted
    run.check("the platform has ended the connection", run.figures["connectionState"] != "connected")
    run.check("the resource is gone", resource.deleted != 200)
