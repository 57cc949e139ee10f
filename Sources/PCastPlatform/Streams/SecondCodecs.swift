import PCastCore
import PCastSFU
import PCastWebRTC

/// The streams whose publishers are asked for a second codec.
public enum SecondCodecStreams: String, CaseIterable, Sendable {
    /// No stream.
    case off
    /// The streams whose publisher's token has the capability `second-codec`.
    case requested
    /// Every stream.
    case all

    /// The capability of publishers.
    static let capability = "second-codec"

    /// Returns whether the publisher of a stream with these capabilities is asked.
    func applies(to capabilities: [String]) -> Bool {
        self == .all || self == .requested && capabilities.contains(Self.capability)
    }
}

/// The part of a publisher in second codecs.
enum SecondCodecRole: Hashable, Sendable {
    /// The publisher cannot be asked.
    case none
    /// The publisher can be asked for a second codec.
    case offered
    /// The publisher sends the second codec for which another one was asked with this key.
    case key(String)
}

/// A request for the second codec of a stream, which its publisher sends as another stream. That stream has only the viewers
/// who do not decode the first codec.
struct SecondCodecRequest: Sendable {
    /// The codec, which nearly all viewers decode.
    static let codec = Codec.h264
    /// The time for which the second codec is sent after its last viewer.
    static let linger = Duration.seconds(10)
    /// The maximum number of viewers that wait for the first packet. Others are rejected as without a second codec.
    static let maximumWaiting = 256

    /// The secret with which the publisher sends it.
    let key: String
    /// The stream in the second codec; nil until the publisher sends it.
    var stream: StreamID?
    /// Whether packets of that stream have arrived.
    var hasMedia = false
    /// The viewers that receive it or wait for it.
    var viewers: Set<PeerID> = []
    /// The viewers that wait for the first packet.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The number of times that the last viewer has left.
    var vacancies = 0

    /// The event for the publisher.
    var update: StreamUpdate { .secondCodec(Self.codec, key: key) }
}

extension StreamDirectory {
    /// Returns the stream in the second codec of a stream, for a viewer that does not decode the first one. It asks the
    /// publisher and waits for the first packet, if nobody else has. It returns nil if there is none: the setting excludes
    /// it, the publisher cannot be asked, or does not send it in time.
    func secondCodec(of id: StreamID, for viewer: PeerID, _ offer: SessionDescription) async -> StreamID? {
        let offered = Set(offer.media.filter { !$0.isRejected }.flatMap(\.payloadFormats).map(\.codec))
        guard let stream = registry.streams[id], secondCodecStreams.applies(to: stream.capabilities),
            stream.place == .independent, !stream.isPulled,
            let codec = stream.codecs.first(where: { $0.mediaType == .video }), !offered.contains(codec),
            codec != SecondCodecRequest.codec, offered.contains(SecondCodecRequest.codec),
            registry.participants[stream.peer]?.acceptsSecondCodec == true
        else { return nil }
        let request: SecondCodecRequest
        if let present = secondCodecs[id] {
            request = present
        } else {
            request = SecondCodecRequest(key: RandomIdentifier.make())
            secondCodecs[id] = request
            notify(stream.peer, request.update)
            logger.info("publisher asked for a second codec", metadata: ["stream": "\(id)"])
            Task { [weak self, secondCodecTimeout] in
                try? await Task.sleep(for: secondCodecTimeout.duration)
                await self?.expireSecondCodec(of: id, key: request.key)
            }
        }
        secondCodecs[id]?.viewers.insert(viewer)
        if !request.hasMedia {
            guard request.waiting.count < SecondCodecRequest.maximumWaiting else { return nil }
            await withCheckedContinuation { secondCodecs[id]?.waiting.append($0) }
        }
        // The viewer may have left meanwhile.
        guard let current = secondCodecs[id], current.key == request.key, current.hasMedia,
            registry.participants[viewer]?.isClosed == false
        else { return nil }
        return current.stream
    }

    /// Returns the stream of which a publisher sends the second codec; nil without a key.
    ///
    /// - Throws: ``APIError`` with the kind `conflict` if it is not requested any more.
    func firstStream(of role: SecondCodecRole, _ principal: Principal) throws(APIError) -> StreamID? {
        guard case .key(let key) = role else { return nil }
        let first = secondCodecs.first { $0.value.key == key }
        guard let first, first.value.stream == nil, registry.streams[first.key]?.application == principal.application
        else { throw APIError(.conflict, "The second codec is not requested any more.") }
        return first.key
    }

    /// Returns the event with the request for a second codec of a publisher; nil if there is none.
    func currentSecondCodec(of stream: StreamID) -> StreamUpdate? { secondCodecs[stream]?.update }

    /// Continues with the viewers that wait for the second codec of a stream, whose first packet has arrived.
    func noteSecondCodec(_ second: StreamID, of first: StreamID) {
        guard secondCodecs[first]?.stream == second else { return }
        secondCodecs[first]?.hasMedia = true
        resumeWaiting(for: first)
    }

    private func resumeWaiting(for first: StreamID) {
        let waiting = secondCodecs[first]?.waiting ?? []
        secondCodecs[first]?.waiting = []
        for viewer in waiting { viewer.resume() }
    }

    /// Removes a viewer from those of the second codec. The codec is stopped some time after the last one.
    func leaveSecondCodec(of first: StreamID, _ viewer: PeerID) {
        guard secondCodecs[first]?.viewers.remove(viewer) != nil, let request = secondCodecs[first],
            request.viewers.isEmpty
        else { return }
        let vacancies = request.vacancies + 1
        secondCodecs[first]?.vacancies = vacancies
        Task { [weak self] in
            try? await Task.sleep(for: SecondCodecRequest.linger)
            await self?.releaseSecondCodec(of: first, key: request.key, vacancies: vacancies)
        }
    }

    /// Ends a request of which no packet has arrived in time.
    private func expireSecondCodec(of first: StreamID, key: String) async {
        guard let request = secondCodecs[first], request.key == key, !request.hasMedia else { return }
        logger.warning("the publisher did not send the second codec", metadata: ["stream": "\(first)"])
        await stopSecondCodec(of: first)
    }

    /// Ends a request if no viewer has come since its last one left.
    private func releaseSecondCodec(of first: StreamID, key: String, vacancies: Int) async {
        guard let request = secondCodecs[first], request.key == key, request.vacancies == vacancies,
            request.viewers.isEmpty
        else { return }
        await stopSecondCodec(of: first)
    }

    /// Follows the end of a publisher: that of a stream with a second codec, or that of the second codec.
    func followSecondCodec(endOf stream: LiveStream) async {
        if case .secondCodec(let first) = stream.place {
            guard secondCodecs[first]?.stream == stream.id else { return }
            await stopSecondCodec(of: first)
        } else {
            await stopSecondCodec(of: stream.id)
        }
    }

    /// Ends the second codec of a stream, and notifies the publisher. Waiting viewers continue without it.
    private func stopSecondCodec(of first: StreamID) async {
        guard let request = secondCodecs[first] else { return }
        resumeWaiting(for: first)
        secondCodecs[first] = nil
        if let peer = registry.streams[first]?.peer { notify(peer, .secondCodec(nil, key: nil)) }
        if let second = request.stream { await end(second, reason: .ended, description: "") }
    }

    private func notify(_ peer: PeerID, _ update: StreamUpdate) {
        guard let participant = registry.participants[peer] else { return }
        for listener in participant.listeners.values { listener.yield(update) }
    }
}
