import PCastCore

extension RTMPServerSession {
    /// The event of a ping (RTMP 1.0, section 7.1.7).
    private static let pingRequest: UInt16 = 6
    private static let pingResponse: UInt16 = 7

    /// Processes a message.
    mutating func handle(_ message: RTMPMessage, at now: Instant) throws(RTMPError) {
        switch message.type {
        case .command: try handle(command: message, hasFormat: false, at: now)
        case .commandWithFormat:
            // Some encoders omit the byte with the format, which is 0 for AMF0.
            try handle(command: message, hasFormat: message.payload.first == 0, at: now)
        case .audio, .video, .data, .dataWithFormat: handleMedia(message)
        case .aggregate: handleAggregate(message)
        case .userControl: handleUserControl(message.payload)
        case .windowAcknowledgementSize:
            if let size = ByteReader(message.payload).first32, size > 0 { acknowledgementWindow = UInt64(size) }
        case .acknowledgement, .setPeerBandwidth:
            // The output is too small to be limited by windows.
            break
        default: counters.ignoredMessages += 1
        }
    }

    private mutating func handleUserControl(_ payload: [UInt8]) {
        var reader = ByteReader(payload)
        guard reader.uint16() == Self.pingRequest, let time = reader.uint32() else { return }
        sendUserControl(event: Self.pingResponse, time)
    }

    // MARK: Media

    private mutating func handleMedia(_ message: RTMPMessage) {
        // librtmp sends its first media message without the ID of the message stream.
        guard let stream = publishedStream, message.streamID == stream || message.streamID == 0 else {
            counters.ignoredMessages += 1
            return
        }
        switch message.type {
        case .video: demux(message, .video)
        case .audio: demux(message, .audio)
        case .dataWithFormat: handleData(message.payload, from: message.payload.first == 0 ? 1 : 0)
        default: handleData(message.payload, from: 0)
        }
    }

    private mutating func demux(_ message: RTMPMessage, _ mediaType: MediaType) {
        var events: [RTMPServerEvent] = []
        demuxer.handle(message.payload, mediaType, timestamp: message.timestamp) { output in
            switch output {
            case .configuration(let track, let configuration): events.append(.configuration(track, configuration))
            case .accessUnit(let unit): events.append(.accessUnit(unit))
            case .ended(let track): events.append(.trackEnded(track))
            case .warning(let warning): events.append(.warning(warning))
            }
        }
        for event in events { emit(event) }
    }

    /// Processes metadata. Captions, cue points and other data are ignored.
    private mutating func handleData(_ payload: [UInt8], from offset: Int) {
        var reader = AMF0Reader(payload, from: offset)
        do throws(AMF0Error) {
            guard !reader.isAtEnd else { return }
            var name = try reader.value().string
            if name == "@setDataFrame", !reader.isAtEnd { name = try reader.value().string }
            guard name == "onMetaData", !reader.isAtEnd, let object = try reader.value().object else {
                counters.ignoredMessages += 1
                return
            }
            // GStreamer repeats the same metadata.
            let declared = RTMPStreamMetadata(object)
            guard declared != metadata else { return }
            metadata = declared
            emit(.metadata(declared))
        } catch {
            counters.ignoredMessages += 1
            if !hasReportedMalformedMetadata { emit(.warning(.malformedMetadata)) }
            hasReportedMalformedMetadata = true
        }
    }

    /// Processes the messages in an aggregate message. Their timestamps are relative to the first one, which has the
    /// timestamp of the aggregate message (RTMP 1.0, section 7.1.6).
    private mutating func handleAggregate(_ aggregate: RTMPMessage) {
        var reader = ByteReader(aggregate.payload)
        var offset: UInt32?
        while !reader.isAtEnd {
            guard let type = reader.uint8(), let size = reader.uint24(), let low = reader.uint24(),
                let high = reader.uint8(), reader.uint24() != nil, let payload = reader.bytes(Int(size))
            else {
                counters.ignoredMessages += 1
                return
            }
            // The size of the message before.
            _ = reader.uint32()
            let timestamp = UInt32(high) << 24 | low
            let difference = offset ?? aggregate.timestamp &- timestamp
            offset = difference
            let message = RTMPMessage(
                type: RTMPMessageType(rawValue: type), streamID: aggregate.streamID,
                timestamp: timestamp &+ difference, payload: Array(payload))
            if [.audio, .video, .data].contains(message.type) {
                handleMedia(message)
            } else {
                counters.ignoredMessages += 1
            }
        }
    }
}
