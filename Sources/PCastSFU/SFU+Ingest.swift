public import PCastCore
import PCastRTP
import PCastWebRTC

/// Publishers in this process, such as encoders that send RTMP. They pass encoded frames, which the SFU converts to the
/// packets that a publisher on the network would send. All that follows is the same: layers, replicas, key frames for
/// new viewers, synchronization and data quality.
extension SFU {
    /// Admits a publisher in this process and creates its stream. It counts as connected at once.
    ///
    /// - Parameters:
    ///   - peer: The publisher's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - media: The media that the publisher passes, with video, audio or both.
    ///   - terms: The options of the publisher.
    ///   - now: The current time.
    /// - Throws: `SFUError` if the SFU is full, the stream exists, or the terms admit no media.
    public mutating func publish(
        _ peer: PeerID, stream: StreamID, ingesting media: IngestMedia, terms: PeerOptions = PeerOptions(),
        at now: Instant
    ) throws(SFUError) {
        guard hasSpace else { throw .full }
        guard streamIndices[stream] == nil else { throw .streamExists(stream) }
        if let video = media.video, terms.media.contains(.video), !terms.admits(video) { throw .noCommonCodec }
        var media = media
        media.furtherVideo.removeAll { !terms.admits($0) }
        let sections = media.sections.filter { terms.media.contains($0.type) }
        guard !sections.isEmpty else { throw .noCommonCodec }
        let credentials = newCredentials()
        let index = forwarder.streams.insert(
            PublishedStream(
                id: stream, peer: peer, ingesting: sections, terms: terms, began: now, reporterSSRC: newSSRC(),
                renditionSSRCs: newRenditionSSRCs(terms), cname: cname))
        streamIndices[stream] = index
        // No datagram can be addressed to the publisher, which has no transport. The name only makes the peer complete.
        peers.insert(peer, .publisher(index), ufrag: credentials.ufrag)
        var source = IngestSource()
        for section in sections {
            let layers: [Int?] = section.rids.isEmpty ? [nil] : section.rids.indices.map { $0 }
            for layer in layers {
                let track = IngestTrack(section, layer: layer, ssrc: newSSRC(), using: &generator)
                if section.type == .audio { source.audio = track } else { source.layers.append(track) }
            }
        }
        ingestSources[peer] = source
        forwarder.startMeasuring(stream: index, at: now)
        forwarder.schedule(publisher: index)
    }

    /// Forwards a frame of a publisher in this process.
    ///
    /// - Parameters:
    ///   - frame: The frame. Its timestamps must advance with its capture times. Without a capture time, the time of the
    ///     call counts.
    ///   - layer: The index of the video layer; ignored for audio.
    ///   - peer: The publisher.
    ///   - now: The current time.
    /// - Returns: False if the publisher has left, has no such track, or the frame cannot be sent, because it is empty
    ///   or an audio packet is too large.
    @discardableResult
    public mutating func ingest(
        _ frame: EncodedFrame, layer: Int = 0, from peer: PeerID, at now: Instant
    ) -> Bool {
        guard case .publisher(let index) = peers[peer], !forwarder.streams[index].isEnding,
            var source = ingestSources.removeValue(forKey: peer)
        else { return false }
        defer { ingestSources[peer] = source }
        if frame.codec.mediaType == .audio {
            guard source.audio != nil else { return false }
            return ingest(frame, by: &source.audio!, publisher: index, at: now)
        }
        guard source.layers.indices.contains(layer) else { return false }
        return ingest(frame, by: &source.layers[layer], publisher: index, at: now)
    }

    private mutating func ingest(
        _ frame: EncodedFrame, by track: inout IngestTrack, publisher index: Int, at now: Instant
    ) -> Bool {
        guard track.accepts(frame) else { return false }
        withTemporaryBytes(IngestTrack.bufferSize) { buffer in
            track.packetize(frame, in: buffer) { packet in
                forwarder.receiveMedia(packet, publisher: index, at: now)
            }
            let captured = frame.captureTime ?? configuration.clock.wallTime(at: now)
            if let size = track.report(frame, capturedAt: captured, into: buffer, at: now) {
                forwarder.receiveControl(ByteView(buffer.extracting(0..<size)), publisher: index, at: now)
            }
        }
        forwarder.schedule(publisher: index)
        return true
    }
}
