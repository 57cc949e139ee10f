extension RTMPServerSession {
    /// The chunk streams of the output.
    private enum ChunkStreamID {
        static let control: UInt8 = 2
        static let command: UInt8 = 3
        static let stream: UInt8 = 5
    }

    /// The maximum size of the output's chunks, so that each response has one chunk.
    private static let chunkSize = 4_096
    /// The window for both directions in bytes, as usual.
    private static let window: UInt32 = 2_500_000

    /// Sends a command or a response.
    mutating func send(_ command: RTMPCommand, stream: UInt32) {
        let message = RTMPMessage(type: .command, streamID: stream, payload: command.payload)
        writer.write(
            message, chunkStream: stream == 0 ? ChunkStreamID.command : ChunkStreamID.stream, into: &output)
    }

    /// Sends a status.
    mutating func send(_ status: RTMPStatus, stream: UInt32) {
        send(RTMPCommand("onStatus", [.null, .object(status.object)]), stream: stream)
    }

    /// Sends a control message with 32 bits.
    mutating func sendControl(_ type: RTMPMessageType, _ value: UInt32, then last: [UInt8] = []) {
        var payload: [UInt8] = []
        payload.append(bigEndian: value)
        writer.write(
            RTMPMessage(type: type, payload: payload + last), chunkStream: ChunkStreamID.control, into: &output)
    }

    /// Sends the windows and the chunk size that apply to the connection.
    mutating func sendTransportSettings() {
        sendControl(.windowAcknowledgementSize, Self.window)
        // The last byte is the limit type: dynamic.
        sendControl(.setPeerBandwidth, Self.window, then: [2])
        sendControl(.setChunkSize, UInt32(Self.chunkSize))
        writer.chunkSize = Self.chunkSize
    }

    /// Sends the event Stream Begin (RTMP 1.0, section 7.1.7).
    mutating func sendStreamBegin(_ stream: UInt32) { sendUserControl(event: 0, stream) }

    /// Sends a user control event with 32 bits.
    mutating func sendUserControl(event: UInt16, _ value: UInt32) {
        var payload: [UInt8] = []
        payload.append(bigEndian: event)
        payload.append(bigEndian: value)
        writer.write(
            RTMPMessage(type: .userControl, payload: payload), chunkStream: ChunkStreamID.control, into: &output)
    }
}
