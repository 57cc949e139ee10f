public import PCastCore
import PCastRTP

/// Processing of datagrams from the platform.
extension PeerConnection {
    // MARK: Receiving

    /// Processes a datagram, which is decrypted in place.
    public mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, at now: Instant
    ) {
        guard transport != nil else { return }
        traffic.packetsReceived += 1
        traffic.bytesReceived += datagram.count
        switch transport!.value.handle(datagram, from: path, at: now) {
        case .nothing: break
        case .rtp(let length):
            receiveMedia(ByteView(datagram.extracting(0..<length)), at: now)
        case .rtcp(let length):
            receiveControl(ByteView(datagram.extracting(0..<length)), at: now)
        }
        follow(at: now)
    }

    /// Processes an RTP packet, including earlier packets that its redundancy repeats (RFC 2198).
    mutating func receiveMedia(_ packet: ByteView, at now: Instant) {
        guard let media = receiver?.receive(packet, at: now) else { return }
        transport?.value.expectMedia()
        while let recovered = receiver?.takeRecovered() { insert(recovered, of: packet, at: now) }
        insert(media, of: packet, at: now)
    }

    /// Inserts a packet into the jitter buffer of its track.
    mutating func insert(
        _ media: MediaReceiver.Packet, of packet: ByteView, at now: Instant
    ) {
        let payload = packet.extracting(media.payload)
        if media.type == .video {
            if media.changesCodec { videoBuffer?.value.change(to: media.codec) }
            _ = videoBuffer?.value.insert(
                payload: payload, sequenceNumber: media.sequenceNumber, timestamp: media.timestamp,
                marker: media.marker, at: now)
            if videoBuffer?.value.needsKeyFrame == true { receiver?.requestKeyFrame() }
        } else {
            _ = audioBuffer?.value.insert(
                payload: payload, sequenceNumber: media.sequenceNumber, timestamp: media.timestamp,
                marker: media.marker, at: now)
        }
    }

    /// Processes a compound RTCP packet.
    mutating func receiveControl(_ packet: ByteView, at now: Instant) {
        let bytes = packet.span
        let wallTime = configuration.clock.wallTime(at: now)
        var reader = RTCPReader()
        var budget = NegativeAcknowledgement.maximumCountPerDatagram
        while let control = reader.next(in: bytes) {
            receiver?.receive(control, in: bytes, wallTime: wallTime, at: now)
            if let roundTrip = receiver?.roundTrip {
                setRetransmissionTimeout(roundTrip: roundTrip)
            }
            let requests = sender?.value.receive(control, in: bytes, budget: &budget, wallTime: wallTime, at: now)
            if isPublisher, case .transportFeedback = control { transport?.value.expectMedia() }
            followPauses()
            if let layers = requests?.layers, layers != 0 { answerKeyFrameRequests(layers, at: now) }
        }
        for layer in localLayers.indices {
            sender?.value.resolveRequests(.video, layer: layer, in: localLayers[layer].value.log, at: now)
        }
        if localAudio != nil { sender?.value.resolveRequests(.audio, in: localAudio!.value.log, at: now) }
    }

    /// Sets the time that the jitter buffers wait for retransmissions.
    mutating func setRetransmissionTimeout(roundTrip: TimeSpan) {
        videoBuffer?.value.timeout = RetransmissionTimeout.video(roundTripTime: roundTrip)
        guard let media = receiver?.audio?.media, media.feedback.contains(.nack), media.rtxPayloadType != nil else {
            return
        }
        audioBuffer?.value.timeout = RetransmissionTimeout.audio(roundTripTime: roundTrip)
    }

    /// Emits one key-frame event for all requests before it is polled. A ``Event/resumed(_:)`` event that is queued has
    /// the same effect.
    mutating func noteKeyFrameRequests(_ layers: UInt8) {
        if localLayers.count > 1 {
            for layer in localLayers.indices where layers & 1 << UInt8(layer) != 0 { noteKeyFrameRequest(of: layer) }
            return
        }
        let isNotified = events.contains { $0 == .keyFrameRequested || $0 == .resumed(.video) }
        if !isNotified { events.append(.keyFrameRequested) }
    }

    /// Emits a key-frame event for one of several layers, unless one is queued.
    mutating func noteKeyFrameRequest(of layer: Int) {
        let isNotified = events.contains { $0 == .layerNeedsKeyFrame(layer) || $0 == .layerResumed(layer) }
        if !isNotified { events.append(.layerNeedsKeyFrame(layer)) }
    }

    /// Emits events for tracks that the platform has paused or resumed.
    mutating func followPauses() {
        while let event = sender?.value.pollPauseEvent() {
            switch event {
            case .paused(let type, let layer):
                // Media that is not sent causes no feedback.
                transport?.value.expectMedia(false)
                events.append(isOneOfSeveral(type) ? .layerPaused(layer) : .paused(type))
            case .resumed(let type, let layer):
                if type == .video { awaitsKeyFrame[layer] = true }
                events.append(isOneOfSeveral(type) ? .layerResumed(layer) : .resumed(type))
            }
        }
    }

    /// Whether events of a media type are reported for each layer.
    func isOneOfSeveral(_ type: MediaType) -> Bool { type == .video && localLayers.count > 1 }

    /// Returns the next complete frame or gap of either track; nil if there is none.
    public mutating func pollFrame(at now: Instant) -> Media? {
        if videoBuffer != nil, let output = videoBuffer!.value.poll(at: now) {
            return media(output, codec: videoBuffer!.value.codec, track: receiver?.video, at: now)
        }
        if videoBuffer?.value.needsKeyFrame == true { receiver?.requestKeyFrame() }
        if audioBuffer != nil, let output = audioBuffer!.value.poll(at: now) {
            return media(output, codec: .opus, track: receiver?.audio, at: now)
        }
        return nil
    }

    /// Converts an output of a jitter buffer.
    mutating func media(
        _ output: JitterBuffer.Output, codec: Codec, track: InboundTrack?, at now: Instant
    ) -> Media {
        switch output {
        case .lost(let gap): return .gap(gap)
        case .frame(let frame):
            if frame.isKeyFrame, codec.mediaType == .video { noteKeyFrame(frame, at: now) }
            let timestamp = UInt32(truncatingIfNeeded: frame.timestamp.ticks)
            let encoded = EncodedFrame(
                codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame, timestamp: frame.timestamp,
                captureTime: track?.captureClock?.wallTime(of: timestamp))
            return .frame(encoded, arrival: frame.lastArrival)
        }
    }

    /// Requests that the platform send at most a bit rate of video (REMB); nil removes the limit.
    public mutating func setReceivingLimit(_ bitrate: Bitrate?, at now: Instant) {
        receiver?.setBitrateLimit(bitrate, at: now)
    }

    /// Requests a key frame from the publisher, e.g. because the decoder failed.
    public mutating func requestKeyFrame() { receiver?.requestKeyFrame() }

    /// Ends the key-frame request that a frame fulfills.
    mutating func noteKeyFrame(_ frame: JitterBuffer.Frame, at now: Instant) {
        receiver?.keyFrameArrived(sequence: frame.sequenceNumbers.lowerBound, at: now)
    }
}
