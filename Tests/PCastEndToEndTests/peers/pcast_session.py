"""A session of the published protocol: protobuf in Base64 in the text frames of a WebSocket."""

import asyncio
import base64
import contextlib

import websockets

import pcast_messages

TIMEOUT = 60
RESPONSE, EVENT = 1, 2
"""The values of `messageType`."""


class Session:
    """Sends requests and stores the events of the platform."""

    def __init__(self, socket):
        self.identifier = None
        self.ended = {}
        self._socket = socket
        self._last = 0
        self._waiting = {}
        self._told = asyncio.Condition()
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, url):
        """Connects to the platform at an HTTP address."""
        address = url.replace("http", "ws", 1).rstrip("/") + "/ws"
        # A program that waits for a page does not read the answers to its own pings meanwhile.
        async with websockets.connect(address, open_timeout=TIMEOUT, ping_interval=None) as socket:
            session = cls(socket)
            try:
                yield session
            finally:
                session._reader.cancel()

    async def _read(self):
        async for text in self._socket:
            envelope = pcast_messages.CLASSES["mq.Response"].FromString(base64.b64decode(text, validate=True))
            kind = pcast_messages.CLASSES[envelope.type]
            message = kind.FromString(envelope.payload)
            if envelope.messageType != (RESPONSE if envelope.requestId else EVENT):
                raise RuntimeError(f"{envelope.type} has message type {envelope.messageType}")
            if envelope.requestId:
                self._waiting.pop(envelope.requestId).set_result((envelope.type, message))
            elif envelope.type == "pcast.StreamEnded":
                async with self._told:
                    self.ended[message.streamId] = message.reason
                    self._told.notify_all()

    async def send(self, message):
        """Sends a request and returns an awaitable for its response."""
        self._last += 1
        response = asyncio.get_running_loop().create_future()
        self._waiting[str(self._last)] = response
        name = message.DESCRIPTOR.full_name
        envelope = pcast_messages.CLASSES["mq.Request"](
            requestId=str(self._last), type=name, payload=message.SerializeToString())
        await self._socket.send(base64.b64encode(envelope.SerializeToString()).decode())
        return asyncio.ensure_future(self._response(response, name))

    @staticmethod
    async def _response(response, name):
        kind, message = await asyncio.wait_for(response, TIMEOUT)
        if kind != f"{name}Response":
            raise RuntimeError(f"{name} was answered by {kind}: {message}")
        if message.status != "ok":
            raise RuntimeError(f"{name} was answered “{message.status}”")
        return message

    async def ask(self, name, **fields):
        """Sends a request and awaits its response, whose status must be ok."""
        return await (await self.send(pcast_messages.message(name, **fields)))

    async def authenticate(self, token):
        """Sends `Authenticate` and returns an awaitable, so that further requests can follow at once."""
        sent = await self.send(pcast_messages.message(
            "Authenticate", apiVersion=6, clientVersion="1.0", deviceId="aiortc", platform="Python",
            platformVersion="3", authenticationToken=token))

        async def finish():
            self.identifier = (await sent).sessionId
        return asyncio.ensure_future(finish())

    async def end_of(self, stream):
        """Returns the reason of a stream's end after the platform has sent it."""
        async with self._told:
            await asyncio.wait_for(self._told.wait_for(lambda: stream in self.ended), TIMEOUT)
        return self.ended[stream]

    async def bye(self):
        """Ends the session. The platform then closes the connection."""
        await self.ask("Bye", sessionId=self.identifier, reason="done")
        await asyncio.wait_for(self._socket.wait_closed(), TIMEOUT)
