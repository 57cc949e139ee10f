public import PCastCore
import PCastRTP
public import PCastWebRTC

/// The layers that another node receives.
struct NodeLayers: Hashable {
    /// The layers that wait for a key frame, as bits.
    var awaitingKeyFrame: UInt8 = .max
    /// The layers of which a key frame was requested, as bits.
    var requested: UInt8 = 0
    /// Whether the node has paused the audio, so that it does not count as its subscriber.
    var isAudioPaused = false
}

/// Media between the SFUs of two nodes.
///
/// The edge connects to the origin from a port of its own, so that a path belongs to one stream. For the origin, the
/// edge is a viewer that receives all layers as simulcast (RFC 8853) and pauses those without subscribers (RFC 7728).
/// For the edge, the origin is a publisher. Therefore retransmissions, reports and key-frame requests are those of
/// other peers.
extension SFU {
    /// Admits the SFU of another node as the publisher of a stream, and connects to it.
    ///
    /// - Parameters:
    ///   - peer: The publisher's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - offer: The offer of the other node (`offerToViewer` with ``PeerOptions/isNode``).
    ///   - local: The address of a socket that no other peer uses.
    ///   - terms: The options of the publisher. Without a `setupLimit`, an unreachable node fails late.
    ///   - now: The current time.
    /// - Returns: The answer.
    /// - Throws: `SFUError` if the SFU is full, the stream exists, or the offer is unusable.
    public mutating func pull(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, from local: TransportAddress,
        terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws(SFUError) -> SessionDescription {
        guard hasSpace else { throw .full }
        guard streamIndices[stream] == nil else { throw .streamExists(stream) }
        try Self.require(offer, that: \.sends)
        var capabilities = Self.publishing
        capabilities.codecs = Self.preferred(offer.media.flatMap { $0.payloadFormats.map(\.codec) }, by: terms)
        let credentials = newCredentials()
        let answer = try answer(offer, credentials: credentials, capabilities: capabilities, isLite: false) {
            type, ordinal in
            guard ordinal == 0, terms.media.contains(type) else { return nil }
            var options = AnswerOptions.receive
            options.acceptsAllCodecs = true
            return options
        }
        try Self.accept(answer.problems)
        try enterPublisher(peer, stream, answer.session, credentials, terms, now, from: local, at: now)
        if let peerIndex = peers[peer] { follow(peerIndex, at: now) }
        return answer.description
    }

    /// Creates an offer of the audio and of all layers that the publisher sends.
    mutating func offerToNode(
        _ peer: PeerID, of stream: StreamID, _ index: Int, _ terms: PeerOptions, at now: Instant
    ) throws(SFUError) -> SessionDescription {
        var sections: [OfferSection] = []
        if let format = forwarder.streams[index].layers[0].sourceFormat, terms.media.contains(.video) {
            let names = forwarder.streams[index].receiver.sentLayers.compactMap {
                forwarder.streams[index].receiver.layers[$0].rid?.text
            }
            var section = OfferSection(
                type: .video, direction: .sendOnly, format: format,
                source: newSource(stream, MediaType.video.rawValue, hasRTX: true))
            section.layers = names.count > 1 ? names : []
            section.furtherFormats = Array(forwarder.streams.address(index).pointee.formats.dropFirst())
            sections.append(section)
        }
        if let format = forwarder.streams[index].audio.sourceFormat, terms.media.contains(.audio) {
            sections.append(
                OfferSection(
                    type: .audio, direction: .sendOnly, format: format,
                    source: newSource(stream, MediaType.audio.rawValue, hasRTX: true)))
        }
        guard !sections.isEmpty else { throw .noCommonCodec }
        var capabilities = Self.viewing
        capabilities.feedback.formUnion(Self.publishing.feedback)
        capabilities.headerExtensions.formUnion(Self.publishing.headerExtensions)
        return offer(sections, capabilities, to: peer, as: .viewer(of: stream), terms, at: now)
    }

    /// Rejects the answer of a node that does not receive all layers, because layers are identified by their order.
    func requireAllLayers(_ session: NegotiatedSession, of role: OutstandingOffer.Role) throws(SFUError) {
        guard case .viewer(let stream) = role, let index = streamIndices[stream] else { return }
        let count = forwarder.streams[index].receiver.sentLayers.count
        guard let video = session.media.first(where: { $0.type == .video }), count > 1 else { return }
        guard video.rids.count == count else { throw .description(.answerDoesNotMatchOffer) }
    }
}

/// The forwarding to another node.
extension Forwarder {
    /// Sends the packets of all layers that a node has not paused. Returns true if the batch is full.
    mutating func forwardLayers(to viewerIndex: Int, into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let viewer = viewers.address(viewerIndex)
        let stream = streams.address(viewer.pointee.stream)
        for layer in 0..<viewer.pointee.sender.layerCount where stream.pointee.layers.indices.contains(layer) {
            guard let track = viewer.pointee.sender.layer(layer),
                !viewer.pointee.sender.isPaused(.video, layer: layer)
            else { continue }
            let bit: UInt8 = 1 << UInt8(layer)
            if viewer.pointee.node!.awaitingKeyFrame & bit == 0,
                track.pointee.stream.isBehindLog(stream.pointee.layers.address(layer).pointee.log)
            {
                restartLayer(layer, viewer: viewerIndex)
            }
            if viewer.pointee.node!.awaitingKeyFrame & bit != 0, !beginLayer(layer, viewer: viewerIndex, at: now) {
                continue
            }
            let isFull = viewer.pointee.sendLayer(
                layer, &stream.pointee.layers[layer], into: &batch, count: &packetsForwarded, at: now)
            if isFull { return true }
        }
        // Probes of the bandwidth are sent when no layer has packets.
        if case .full = viewer.pointee.sendVideo(
            &stream.pointee.layers[0], into: &batch, count: &packetsForwarded, at: now)
        {
            return true
        }
        return false
    }

    /// Begins a layer at its newest key frame, if that is recent or the publisher makes none on request. Otherwise a
    /// key frame is requested. Returns whether the layer has begun.
    private mutating func beginLayer(_ layer: Int, viewer index: Int, at now: Instant) -> Bool {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        let bit: UInt8 = 1 << UInt8(layer)
        guard let track = viewer.pointee.sender.layer(layer),
            let codec = stream.pointee.layers[layer].sourceFormat?.codec, track.pointee.select(codec)
        else { return false }
        if let position = stream.pointee.layers[layer].log.newestKeyFrame,
            now - stream.pointee.layers[layer].log[position].arrival <= LayerSwitch.replayAge
                || stream.pointee.receiver.ignoresKeyFrameRequests(layer: layer, at: now)
        {
            track.pointee.stream.begin(at: position, in: stream.pointee.layers[layer].log)
            viewer.pointee.node!.awaitingKeyFrame &= ~bit
            viewer.pointee.node!.requested &= ~bit
            return true
        }
        if viewer.pointee.node!.requested & bit == 0 {
            viewer.pointee.node!.requested |= bit
            requestKeyFrame(stream: viewer.pointee.stream, layer: layer)
        }
        return false
    }

    /// Stops a layer until its next key frame.
    mutating func restartLayer(_ layer: Int, viewer index: Int) {
        viewers[index].sender.layer(layer)?.pointee.stream.pause()
        viewers[index].node?.awaitingKeyFrame |= 1 << UInt8(layer)
        viewers[index].node?.requested &= ~(1 << UInt8(layer))
    }

    /// Requests key frames of layers. The node has merged the requests of its own viewers.
    mutating func requestKeyFrames(ofLayers mask: UInt8, stream index: Int) {
        for layer in streams[index].receiver.layers.indices where mask & 1 << UInt8(layer) != 0 {
            requestKeyFrame(stream: index, layer: layer)
        }
    }

    /// Applies the retransmission requests and pauses that a node has sent.
    mutating func followRequests(viewer index: Int, at now: Instant) {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        viewer.pointee.sender.desiredBitrate = desiredBitrate(ofLayersFrom: viewer.pointee.stream)
        noteScheduledSend(viewer: index, at: now)
        var waits = false
        for layer in 0..<viewer.pointee.sender.layerCount where stream.pointee.layers.indices.contains(layer) {
            viewer.pointee.sender.resolveRequests(
                .video, layer: layer, in: stream.pointee.layers[layer].log, at: now)
            waits = waits || viewer.pointee.sender.layer(layer)?.pointee.stream.waitsToResend == true
        }
        if stream.pointee.audio.exists {
            viewer.pointee.sender.resolveRequests(.audio, in: stream.pointee.audio.log, at: now)
            waits = waits || viewer.pointee.sender.audio?.pointee.stream.waitsToResend == true
        }
        if waits { sendScheduled(viewer: index) }
        followPauses(viewer: index, at: now)
    }

    /// Returns the bit rate of all layers and the audio, with a margin for variations.
    private mutating func desiredBitrate(ofLayersFrom index: Int) -> Bitrate {
        // The other rungs of a layer are parts of it.
        let video = streams[index].ladder.rungs.reduce(0) { sum, rung in
            rung.point == .all ? sum + rung.bitrate.bitsPerSecond : sum
        }
        let measured = video + (streams[index].audio.bitrate?.bitsPerSecond ?? 0)
        return max(Bitrate(bitsPerSecond: measured * 5 / 4), streams[index].desiredBitrate)
    }

    /// Subscribes a node to the tracks that it has not paused.
    mutating func followPauses(viewer index: Int, at now: Instant) {
        var hasResumed = false
        while let event = viewers[index].sender.pollPauseEvent() {
            switch event {
            case .paused(.video, let layer): restartLayer(layer, viewer: index)
            case .resumed(.video, _): hasResumed = true
            case .paused(.audio, _): setAudioPaused(true, viewer: index, at: now)
            case .resumed(.audio, _):
                setAudioPaused(false, viewer: index, at: now)
                hasResumed = true
            }
        }
        var wanted: UInt8 = 0
        for layer in 0..<viewers[index].sender.layerCount where !viewers[index].sender.isPaused(.video, layer: layer) {
            wanted |= 1 << UInt8(layer)
        }
        if !viewers[index].isEnding { take(layers: wanted, viewer: index, at: now) }
        if hasResumed, viewers[index].isWatching { sendScheduled(viewer: index) }
    }

    private mutating func setAudioPaused(_ isPaused: Bool, viewer index: Int, at now: Instant) {
        guard viewers[index].node?.isAudioPaused == !isPaused, !viewers[index].isEnding else { return }
        viewers[index].node?.isAudioPaused = isPaused
        viewers[index].receivesAudio = !isPaused
        let stream = viewers[index].stream
        if !isPaused, streams[stream].audio.exists {
            viewers[index].sender.audio?.pointee.stream.beginAtEnd(of: streams[stream].audio.log)
        }
        addSubscribers(isPaused ? -1 : 1, of: .audio, stream: stream, at: now)
    }
}
