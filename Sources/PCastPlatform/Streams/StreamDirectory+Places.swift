import PCastCore
import PCastIO
import PCastSFU

/// Quotas of streams and subscribers.
extension StreamDirectory {
    /// Counts a new stream or viewing. A job does not count, because the client that started it already did.
    ///
    /// - Throws: ``APIError``.
    func takeJoin(_ principal: Principal, _ clientContext: ClientContext) throws(APIError) {
        guard principal.job == nil else { return }
        try limiter.takeJoin(from: clientContext.address, at: MonotonicClock.now())
    }

    func reserve(_ kind: QuotaReservation.Kind, _ principal: Principal, _ clientContext: ClientContext) throws(APIError)
        -> QuotaReservation
    {
        let address = principal.job.map(\.address) ?? clientContext.address
        return try limiter.reservation(kind, of: principal.application, from: address)
    }

    /// Checks that there is a share of the bit rate for another publisher.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func checkBitrate(for application: ApplicationID, _ reservation: QuotaReservation) throws(APIError) {
        guard let limit = shares.exceeded(application, reservation.block, in: limiter.limits) else { return }
        limiter.noteNoBitrate(limit)
        throw .noBitrate
    }
}

extension StreamDirectory {
    /// Returns the error for a client that the SFU rejects.
    static func refusal(_ error: SFUError) -> APIError {
        switch error {
        case .description(let problem):
            APIError(.badRequest, "The session description is invalid: \(problem).")
        case .noCommonCodec:
            APIError(
                .unsupported,
                "No media section can be accepted. H.264, VP8 and Opus are supported, and a viewer has to offer "
                    + "a track of the stream in its codec.")
        case .unacceptable(let sections): .unacceptable(sections)
        case .wrongDirection:
            APIError(
                .badRequest,
                "The media direction is wrong: a publisher sends sendonly or sendrecv, and a viewer "
                    + "recvonly or sendrecv.")
        case .unknownStream: .noStream
        case .streamExists: APIError(.conflict, "The stream already exists.")
        case .noOffer: APIError(.conflict, "There is no pending offer: it was already answered, or none was made.")
        case .unknownLayer(let name): APIError(.badRequest, "The stream has no layer “\(name)”.")
        case .unknownPeer: APIError(.gone, "The session has ended.")
        case .full: APIError(.capacity, "The platform has reached its capacity: retry later.")
        }
    }
}

/// The end of a participation whose media connection is closed before its client says why: Phenix's Web SDK closes the
/// peer connection, and sends `DestroyStream` afterwards.
extension StreamDirectory {
    /// Records the end of a peer at the SFU: at once if its reason is known, otherwise when the reason arrives or its
    /// timeout expires.
    func noteClosed(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard reason == .ended, awaitsReason(peer) else { return await noteEnd(peer, reason) }
        participants[peer]?.isClosed = true
        let timeout = Duration.nanoseconds(reasonTimeout.nanoseconds)
        Task { [weak self] in
            try? await Task.sleep(for: timeout)
            await self?.noteEnd(peer, reason)
        }
    }

    /// Records the end of a stream and of its viewers after a reason arrived for the closed media connections.
    func noteClosed(of id: StreamID) async {
        let closed = participants.filter { $0.value.isClosed && ($0.value.streamID == id || $0.value.origin == id) }
        for peer in closed.keys.sorted(by: { $0.value < $1.value }) { await noteEnd(peer, .ended) }
    }

    /// Whether the media connection of a stream's publisher is closed.
    func isClosed(_ stream: LiveStream) -> Bool { participants[stream.peer]?.isClosed ?? false }

    /// Whether the reason of an end is awaited. The SFU ends viewers together with their publisher, whose session may
    /// give the reason of all these ends.
    private func awaitsReason(_ peer: PeerID) -> Bool {
        guard let participant = participants[peer], participant.ending == nil else { return false }
        let publisher = streams[participant.origin].flatMap { participants[$0.peer] }
        return participant.hasSession || publisher?.hasSession ?? false
    }
}

extension Principal {
    /// Whether a client's session owns the stream. The platform's own jobs give the reason of an end before they close
    /// the stream.
    func hasSession(_ clientContext: ClientContext) -> Bool { work == nil && clientContext.sessionID != nil }
}

/// Captions, which a stream's publisher sends and its viewers receive.
extension StreamDirectory {
    /// Receives the captions of a viewing's stream.
    typealias CaptionAction = @Sendable (StreamID, [CaptionCue]) async -> Void

    /// The maximum time for which captions wait for the publisher's first sender report, and the interval of looks.
    private static let clockTimeout = TimeSpan.seconds(1)
    private static let clockInterval = Duration.milliseconds(50)

    /// Adds captions to a stream, and sends them to its viewers.
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
            throw APIError(.badRequest, "A request has 1 to \(CaptionCue.maximumCount) captions, not \(cues.count).")
        }
        for cue in cues {
            if let problem = cue.problem { throw APIError(.badRequest, problem) }
            guard (cue.captureTime - sentAt).magnitude <= CaptionCue.maximumDistance else {
                throw APIError(.badRequest, "A capture time is more than 60 s from the time of the request.")
            }
        }
        guard let stream = streams[id] else { throw .ended }
        try streams[id]?.captions.count(cues.count, at: MonotonicClock.now())
        // The time of the request measures the client's clock. It is used before the first sender report, and for media
        // that a job publishes, which has another clock than the client.
        let isOwnMedia = stream.address != nil
        let measured = isOwnMedia ? await captureClockOffset(of: stream.peer) : nil
        let offset = measured ?? (arrival - sentAt)
        guard streams[id] != nil else { throw .ended }
        let converted = cues.map {
            CaptionCue(text: $0.text, captureTime: $0.captureTime + offset, duration: $0.duration)
        }
        streams[id]?.captions.add(converted, at: MonotonicClock.wallTime())
        await send(converted, of: id)
    }

    /// Returns the offset from a publisher's capture clock to the platform's, and waits for it for a short time.
    private func captureClockOffset(of peer: PeerID) async -> TimeSpan? {
        let end = MonotonicClock.now() + Self.clockTimeout
        while true {
            if let offset = await router.captureClockOffset(of: peer) { return offset }
            guard MonotonicClock.now() < end, participants[peer] != nil,
                (try? await Task.sleep(for: Self.clockInterval)) != nil
            else { return nil }
        }
    }

    /// Sends captions to all viewers of a stream.
    private func send(_ cues: [CaptionCue], of id: StreamID) async {
        var actions: [(StreamID, CaptionAction)] = []
        for (_, viewer) in participants where viewer.origin == id && !viewer.isPublisher {
            for listener in viewer.listeners.values { listener.yield(.captions(cues)) }
            if let action = viewer.onCaptions { actions.append((viewer.streamID, action)) }
        }
        for (view, action) in actions { await action(view, cues) }
    }

    /// Sets the function that receives the captions of a viewing; nil for a client that does not request them.
    func setCaptions(of id: StreamID, _ action: CaptionAction?) {
        guard let peer = peers[id], participants[peer]?.isPublisher == false else { return }
        participants[peer]?.onCaptions = action
    }

    /// Sends the present captions of the stream to one viewing, because it has begun or its client has reconnected.
    func sendCurrentCaptions(to id: StreamID) async {
        guard let peer = peers[id], let viewer = participants[peer], let action = viewer.onCaptions else { return }
        let cues = currentCaptions(of: viewer.origin)
        if !cues.isEmpty { await action(id, cues) }
    }

    /// Returns the captions of a stream that are shown now or later, or ended recently.
    func currentCaptions(of origin: StreamID) -> [CaptionCue] {
        streams[origin]?.captions.current(at: MonotonicClock.wallTime()) ?? []
    }
}
