"""The messages of the published protocol, as classes that are created at run time from the table below.

The table follows the public Web SDK's source for the messages that a client needs. It does not use this repository's
definitions, so that a difference is detected. A line is `message: number label type name, …`. The labels are
`!` required, `?` optional and `*` repeated (proto2).
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ENVELOPE = """
Request: 1 ? string sessionId, 2 ? string requestId, 3 ! string type, 4 ? string encoding, 5 ! bytes payload
Response: 1 ? string sessionId, 2 ! string requestId, 3 ! string type, 4 ? string encoding, 5 ! bytes payload,
    6 * double wallTime, 7 ? Response.MessageType messageType
Error: 1 ! string reason
PingPong: 1 ! uint64 originTimestamp, 2 ? uint64 count
"""

PCAST = """
Authenticate: 9 ? uint32 apiVersion, 1 ! string clientVersion, 12 ? string device, 2 ! string deviceId,
    13 ? string manufacturer, 3 ! string platform, 4 ! string platformVersion, 5 ! string authenticationToken,
    6 ? string connectionId, 10 ? string connectionRouteKey, 11 ? string remoteAddress, 7 ? string sessionId,
    8 ? string applicationId
AuthenticateResponse: 1 ! string status, 2 ? string sessionId, 3 ? string redirect, 4 * string roles
Bye: 1 ! string sessionId, 2 ! string reason
ByeResponse: 1 ! string status
SessionDescription: 1 ! SessionDescription.Type type, 2 ! string sdp
IceServer: 1 * string urls, 2 ? string username, 3 ? string credential
RtcConfiguration: 1 ? RtcConfiguration.BundlePolicy bundlePolicy, 3 ? uint32 iceCandidatePoolSize,
    4 * IceServer iceServers, 5 ? RtcConfiguration.IceTransportPolicy iceTransportPolicy, 6 ? string peerIdentity,
    7 ? RtcConfiguration.RtcpMuxPolicy rtcpMuxPolicy
CreateStream: 1 ! string sessionId, 2 ? string originStreamId, 10 * string originStreamIds, 3 * string options,
    8 ? string connectUri, 9 * string connectOptions, 4 * string tags, 11 ? string userAgent,
    5 ? SetRemoteDescription setRemoteDescription, 6 ? CreateOfferDescription createOfferDescription,
    7 ? CreateAnswerDescription createAnswerDescription
CreateStreamResponse: 1 ! string status, 2 ? string streamId, 5 ? string instanceRouteKey, 8 * string streamUris,
    9 ? RtcConfiguration rtcConfiguration, 3 ? SetRemoteDescriptionResponse setRemoteDescriptionResponse,
    4 ? CreateOfferDescriptionResponse createOfferDescriptionResponse,
    6 ? CreateAnswerDescriptionResponse createAnswerDescriptionResponse, 7 * string options, 10 ? uint64 offset
SetRemoteDescription: 1 ! string streamId, 2 ! SessionDescription sessionDescription, 3 ? uint32 apiVersion
SetRemoteDescriptionResponse: 1 ! string status, 2 ? SessionDescription sessionDescription, 3 * string options
CreateOfferDescription: 1 ! string streamId, 2 * string options, 3 ? uint32 apiVersion
CreateOfferDescriptionResponse: 1 ! string status, 2 ? SessionDescription sessionDescription, 3 * string options
CreateAnswerDescription: 1 ! string streamId, 2 * string options, 3 ? uint32 apiVersion
CreateAnswerDescriptionResponse: 1 ! string status, 2 ? SessionDescription sessionDescription, 3 * string options
IceCandidate: 1 ! string candidate, 2 ! uint32 sdpMLineIndex, 3 ! string sdpMid
AddIceCandidates: 1 ! string streamId, 2 * IceCandidate candidates, 3 * string options, 4 ? uint32 apiVersion
AddIceCandidatesResponse: 1 ! string status, 2 * string options
UpdateStreamState: 1 ! string streamId, 2 ! string signalingState, 3 ! string iceGatheringState,
    4 ! string iceConnectionState, 5 ? uint32 apiVersion
UpdateStreamStateResponse: 1 ! string status, 2 * string options
DestroyStream: 1 ! string streamId, 2 ? string reason, 3 * string options
DestroyStreamResponse: 1 ! string status
SetupStream: 1 ! string streamToken, 2 ! CreateStream createStream
SetupStreamResponse: 1 ! string status, 2 ? CreateStreamResponse createStreamResponse
StreamEnded: 1 ! string sessionId, 2 ! string streamId, 3 ! string reason, 4 * string tags, 5 ? string continuationId,
    6 ? string routeKey
StreamDataQuality: 1 ! string sessionId, 2 ! string streamId, 3 ! uint64 timestamp,
    4 ! StreamDataQuality.DataQualityStatus status, 5 ! StreamDataQuality.DataQualityReason reason
"""

ENVELOPE_ENUMS = {"Response.MessageType": {"Request": 0, "Response": 1, "Event": 2}}
ENUMS = {
    "SessionDescription.Type": {"Offer": 0, "Answer": 1},
    "RtcConfiguration.BundlePolicy": {
        "BundlePolicyBalanced": 1, "BundlePolicyMaxCompat": 2, "BundlePolicyMaxBundle": 3},
    "RtcConfiguration.IceTransportPolicy": {
        "IceTransportPolicyAll": 1, "IceTransportPolicyPublic": 2, "IceTransportPolicyRelay": 3},
    "RtcConfiguration.RtcpMuxPolicy": {"RtcpMuxPolicyNegotiate": 1, "RtcpMuxPolicyRequire": 2},
    "StreamDataQuality.DataQualityStatus": {"NoData": 0, "AudioOnly": 1, "All": 2},
    "StreamDataQuality.DataQualityReason": {
        "None": 0, "UploadLimited": 1, "DownloadLimited": 2, "PublisherLimited": 3, "NetworkLimited": 4},
}

_Field = descriptor_pb2.FieldDescriptorProto
_LABELS = {"!": _Field.LABEL_REQUIRED, "?": _Field.LABEL_OPTIONAL, "*": _Field.LABEL_REPEATED}
_TYPES = {
    "string": _Field.TYPE_STRING, "bytes": _Field.TYPE_BYTES, "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64, "double": _Field.TYPE_DOUBLE,
}


def _file(package, table, enums):
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for line in table.replace(",\n", ",").strip().splitlines():
        name, fields = line.split(":", 1)
        message = file.message_type.add(name=name.strip())
        for field in fields.split(","):
            number, label, kind, title = field.split()
            added = message.field.add(name=title, number=int(number), label=_LABELS[label])
            if kind in _TYPES:
                added.type = _TYPES[kind]
            else:
                added.type = _Field.TYPE_ENUM if kind in enums else _Field.TYPE_MESSAGE
                added.type_name = f".{package}.{kind}"
        for path, values in enums.items():
            owner, title = path.split(".")
            if owner == message.name:
                enum = message.enum_type.add(name=title)
                for value, number in values.items():
                    enum.value.add(name=value, number=number)
    return file


def _classes():
    pool = descriptor_pool.DescriptorPool()
    for package, table, enums in (("mq", ENVELOPE, ENVELOPE_ENUMS), ("pcast", PCAST, ENUMS)):
        pool.Add(_file(package, table, enums))
    names = [
        f"{package}.{line.split(':')[0]}"
        for package, table in (("mq", ENVELOPE), ("pcast", PCAST))
        for line in table.strip().splitlines() if not line.startswith(" ")]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}


CLASSES = _classes()
"""The messages by their full names, such as `pcast.Authenticate`."""


def message(name, **fields):
    """Returns the class of a message of the package `pcast`."""
    return CLASSES[f"pcast.{name}"](**fields)
