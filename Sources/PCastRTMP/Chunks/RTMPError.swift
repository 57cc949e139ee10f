/// The reason why a connection ends because of its peer.
package enum RTMPError: Error, Hashable, Sendable {
    /// The first byte is not the version of RTMP.
    case notRTMP(firstByte: UInt8)
    /// The message has more bytes than the limit for its type.
    case messageTooLarge(type: UInt8, size: Int, maximum: Int)
    /// The peer uses more chunk streams than the limit.
    case tooManyChunkStreams(maximum: Int)
    /// The incomplete messages have more bytes than the limit.
    case tooManyIncompleteBytes(maximum: Int)
    /// The first chunk of a chunk stream refers to an earlier one.
    case missingHeader(chunkStream: UInt32)
    /// A message begins within another one on its chunk stream.
    case interruptedMessage(chunkStream: UInt32)
    /// The chunk size is 0 or more than 2^31 − 1.
    case invalidChunkSize(UInt32)
    /// A control message is too short.
    case truncatedControlMessage(type: UInt8)
    /// A command cannot be parsed.
    case malformedCommand(AMF0Error)
    /// A command was sent that this state of the connection does not allow.
    case unexpectedCommand(String)
    /// The peer sent more data while the platform decided about its stream.
    case tooManyPendingBytes(maximum: Int)
    /// The peer does not read the responses.
    case outputNotRead(maximum: Int)
    /// The peer did not publish in time.
    case setupTimeout(seconds: Int)
    /// The publisher has sent nothing.
    case silent(seconds: Int)
}

extension RTMPError: CustomStringConvertible {
    /// The message for a person: the problem, and the way to correct it.
    package var description: String {
        switch self {
        case .notRTMP(0x16): "the connection begins with TLS; use the port for RTMPS, or rtmp:// without TLS"
        case .notRTMP(let byte):
            "the connection begins with the byte \(byte) instead of the version 3 of RTMP; use an RTMP client"
        case .messageTooLarge(let type, let size, let maximum):
            "a message of type \(type) has \(size) bytes; the maximum is \(maximum), so lower the bit rate"
        case .tooManyChunkStreams(let maximum):
            "the client uses more than \(maximum) chunk streams; reuse chunk streams"
        case .tooManyIncompleteBytes(let maximum):
            "the incomplete messages have more than \(maximum) bytes; send messages one after another"
        case .missingHeader(let id):
            "the first chunk of chunk stream \(id) has no complete header; begin with a chunk of type 0"
        case .interruptedMessage(let id):
            "a message begins within another one on chunk stream \(id); complete or abort the message before"
        case .invalidChunkSize(let size): "the chunk size \(size) is invalid; use 1 to 2147483647"
        case .truncatedControlMessage(let type): "the control message of type \(type) is truncated; send four bytes"
        case .malformedCommand(let error): "a command is malformed: \(error)"
        case .unexpectedCommand(let command):
            "the command \(command) was not expected here; send connect, createStream and publish in this order"
        case .tooManyPendingBytes(let maximum):
            "the client sent more than \(maximum) bytes before its stream was accepted; wait for "
                + "NetStream.Publish.Start"
        case .outputNotRead(let maximum):
            "the client left more than \(maximum) bytes of responses unread; read the connection"
        case .setupTimeout(let seconds): "the client did not publish within \(seconds) s; publish after connecting"
        case .silent(let seconds):
            "the publisher has sent nothing for \(seconds) s; check the encoder and the network"
        }
    }
}
