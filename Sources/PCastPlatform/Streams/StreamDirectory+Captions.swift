import PCastCore
import PCastIO
import PCastSFU

/// Captions, which a stream's publisher sends and its viewers receive.
extension StreamDirectory {
    /// Receives the captions of a viewing's stream.
    typealias CaptionAction = @Sendable (StreamID, [CaptionCue]) async -> Void

    /// The maximum time for which captions wait for the publisher's first sender report, and the interval of looks.
    private static let clockTimeout = TimeSpan.seconds(1)
    private static let clockInterval = Duration.milliseconds(50)

    /// Adds captions to a stream, and sends them to its viewers and to those of the channels that it is presented in.
    ///
    /// - Parameters:
    ///   - cues: The captions, by the publisher's clock.
    ///   - id: The stream.
    ///   - sentAt: The time of the request by the publisher's clock.
    /// - Throws: ``APIError`` if a cue is invalid or too far from `sentAt`, if there are too many, or if the stream has
    ///   ended. Nothing is added then.
    func add(_ cues: [CaptionCue], to id: StreamID, sentAt: WallTime) async throws(APIError) {
        let arrival = MonotonicClock.wallTime()
        guard (1...CaptionCue.maximumCount).contains(cues.count) else {
            throw APIError(
                .badRequest, "\(cues.count) captions in one request: send 1 to \(CaptionCue.maximumCount).")
        }
        for cue in cues {
            if let problem = cue.problem { throw APIError(.badRequest, problem) }
            guard (cue.captureTime - sentAt).magnitude <= TimeSpan(CaptionCue.maximumDistance) else {
                throw APIError(
                    .badRequest, "A capture time is more than 60 s from the time of the request: correct the clock.")
            }
        }
        guard let stream = registry.streams[id] else { throw .ended }
        let now = MonotonicClock.now()
        try registry.update(id) { stream throws(APIError) in try stream.captions.count(cues.count, at: now) }
        // The time of the request measures the client's clock. It is used before the first sender report, and for media
        // that a job publishes, which has another clock than the client.
        let isOwnMedia = stream.address != nil
        let measured = isOwnMedia ? await captureClockOffset(of: stream.peer) : nil
        let offset = measured ?? (arrival - sentAt)
        guard registry.streams[id] != nil else { throw .ended }
        let converted = cues.map {
            CaptionCue(text: $0.text, captureTime: $0.captureTime + offset, duration: $0.duration)
        }
        let channels = registry.streams[id]?.channelStreams ?? []
        for shown in [id] + channels {
            registry.update(shown) { $0.captions.add(converted, at: MonotonicClock.wallTime()) }
            packaging?.add(converted, to: shown)
            await send(converted, of: shown)
        }
    }

    /// Returns the offset from a publisher's capture clock to the platform's clock. It waits for a short
    /// time until the offset is known.
    private func captureClockOffset(of peer: PeerID) async -> TimeSpan? {
        let end = MonotonicClock.now() + Self.clockTimeout
        while true {
            if let offset = await router.captureClockOffset(of: peer) { return offset }
            guard MonotonicClock.now() < end, registry.participants[peer] != nil,
                (try? await Task.sleep(for: Self.clockInterval)) != nil
            else { return nil }
        }
    }

    /// Sends captions to all viewers of a stream.
    private func send(_ cues: [CaptionCue], of id: StreamID) async {
        var actions: [(StreamID, CaptionAction)] = []
        for peer in registry.subscribers[id] ?? [] {
            guard let viewer = registry.participants[peer] else { continue }
            for listener in viewer.listeners.values { listener.yield(.captions(cues)) }
            if let action = viewer.onCaptions { actions.append((viewer.streamID, action)) }
        }
        for (view, action) in actions { await action(view, cues) }
    }

    /// Sets the function that receives the captions of a viewing; nil for a client that does not request them.
    func setCaptions(of id: StreamID, _ action: CaptionAction?) {
        guard let peer = registry.peers[id], registry.participants[peer]?.isPublisher == false else { return }
        registry.update(peer) { $0.onCaptions = action }
    }

    /// Sends the present captions of the stream to one viewing, because it has begun or its client has reconnected.
    func sendCurrentCaptions(to id: StreamID) async {
        guard let viewer = registry.participant(of: id), let action = viewer.onCaptions else { return }
        let cues = currentCaptions(of: viewer.origin)
        if !cues.isEmpty { await action(id, cues) }
    }

    /// Returns the captions of a stream that are shown now or later, or ended recently.
    func currentCaptions(of origin: StreamID) -> [CaptionCue] {
        registry.streams[origin]?.captions.current(at: MonotonicClock.wallTime()) ?? []
    }
}
