import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSFU
import PCastWebRTC

/// Queries of streams, and ICE restarts.
extension StreamDirectory {
    /// Restarts the ICE of a peer. Returns the platform's new credentials (RFC 9725, section 4.3.2).
    ///
    /// - Throws: ``APIError``.
    func restart(_ peer: PeerID, remote: ICECredentials) async throws(APIError) -> TrickleFragment {
        do {
            let local = try await router.restart(peer, remote: remote)
            logger.info("ICE restarted", metadata: ["peer": "\(peer.value)"])
            return local
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Restarts the ICE of a stream with a complete offer. Returns the original answer with new credentials and
    /// candidates.
    ///
    /// - Throws: ``APIError``.
    func restart(_ id: StreamID, offer: SessionDescription) async throws(APIError) -> SessionDescription {
        guard let peer = registry.peers[id], var answer = registry.participants[peer]?.answer else { throw .ended }
        guard let section = offer.media.first(where: { $0.iceUfrag != nil && $0.icePwd != nil }),
            let remote = ICECredentials(ufrag: section.iceUfrag ?? "", password: section.icePwd ?? "")
        else { throw APIError(.badRequest, "An ICE restart requires ice-ufrag and ice-pwd: send both.") }
        guard offer.media.count == answer.media.count else {
            throw APIError(.badRequest, "An ICE restart may not change media sections: send the same sections.")
        }
        let local = try await restart(peer, remote: remote)
        answer.origin.sessionVersion += 1
        for index in answer.media.indices where answer.media[index].iceUfrag != nil {
            answer.media[index].iceUfrag = local.iceUfrag
            answer.media[index].icePwd = local.icePwd
            answer.media[index].candidates = local.candidates
        }
        let restarted = answer
        registry.update(peer) { $0.answer = restarted }
        return restarted
    }

    /// Returns the platform's offer that is not answered yet; nil if there is none.
    func outstandingOffer(to id: StreamID) -> SessionDescription? { registry.participant(of: id)?.offer }

    /// Returns the options of a publisher. H.264 is preferred if every stream is packaged, because VP8 cannot be, and the
    /// codec of a declared stream for its publishers.
    func publishingOptions(
        _ capabilities: StreamCapabilities, for name: NamedStreamService.Admission? = nil
    ) -> PeerOptions {
        var terms = capabilities.terms
        if let name, !terms.insistsOnCodecs { terms.preferring = [name.codec] }
        if terms.preferring.isEmpty, packaging?.packagesEveryStream == true { terms.preferring = [.h264] }
        if renditions?.applies(to: []) == true { terms.hasRenditions = true }
        // A name has the layers of its publishers only.
        if name != nil { terms.hasRenditions = false }
        return terms
    }

    /// Parses the capabilities of a publisher. Those that this platform does not support have no effect.
    ///
    /// - Throws: ``APIError``.
    func publishingCapabilities(
        _ names: [String], options: [String] = []
    ) throws(APIError) -> StreamCapabilities {
        var capabilities = try StreamCapabilities(names, options: options, for: .publish)
        if renditions == nil { capabilities.excludeRenditions() }
        return capabilities
    }

    /// Returns a packaged stream that a client may view. The client counts as a viewer who joins, but not longer, because
    /// it has no connection.
    ///
    /// - Parameters:
    ///   - origin: The requested stream; nil for the one that the token requires, or else the newest.
    ///   - principal: The authenticated client.
    ///   - clientContext: The client of the request.
    ///   - countsAsViewer: Whether the client joins. Otherwise it needs only the permission.
    /// - Returns: The stream.
    /// - Throws: ``APIError``, with the kind `playlistUnavailable` if the stream is not packaged.
    func packagedStream(
        _ origin: StreamID?, for principal: Principal, clientContext: ClientContext, countsAsViewer: Bool = true
    ) async throws(APIError) -> PackagedStream {
        var channel = channel(requested: origin, for: principal)
        if let presented = channel {
            channel = await openChannel(presented, requested: origin, for: principal, clientContext)
        } else {
            try await waitForName(origin, for: principal, clientContext)
            try await waitForRequestedStream(of: origin, for: principal, clientContext)
        }
        var stream = try policy.find(
            origin, of: channel, in: registry, for: principal, clientContext: clientContext, prefersOwn: true)
        if stream.place.isChannel, packaging?.packages(stream) != true {
            // It began when no presenter's stream was packaged.
            channel?.stream = nil
            stream = try policy.find(
                origin, of: channel, in: registry, for: principal, clientContext: clientContext, prefersOwn: true)
        }
        if countsAsViewer { try policy.takeJoin(principal, clientContext) }
        try await policy.authenticator.checkHook(.subscribe(stream.id), principal, clientContext)
        if countsAsViewer { _ = try policy.reserve(.viewer, principal, clientContext) }
        guard let packaging, packaging.packages(stream) else { throw .noPlaylist }
        guard let packaged = await packaged(stream, by: packaging) else { throw .playlistNotReady }
        return packaged
    }

    /// Returns the window in which a viewer of a stream can seek; nil if its stream is not packaged.
    ///
    /// - Parameters:
    ///   - viewing: The viewing.
    ///   - time: The current time.
    /// - Returns: The window.
    func timeShiftWindow(of viewing: StreamID, at time: WallTime) -> TimeShiftWindow? {
        guard let packaging, let origin = registry.participant(of: viewing)?.origin,
            let stream = registry.streams[origin]
        else { return nil }
        if stream.isPulled {
            guard let (start, duration) = stream.originWindow?.times, let video = edges?.video else { return nil }
            // The publication of a name changes when another origin replaces the link of the stream.
            let name = stream.originName.map { StreamID($0) }
            let known = name == nil ? video.signedPath(of: origin) : nil
            let path = known ?? VideoRoutes.path(of: name ?? origin) + "?token="
            return TimeShiftWindow(path: path, start: start, duration: duration)
        }
        guard packaging.packages(stream) else { return nil }
        let path =
            packaging.stream(origin).map { VideoRoutes.signedPath($0, at: time) }
            ?? VideoRoutes.path(of: origin) + "?token="
        return TimeShiftWindow(path: path, start: stream.startTime, duration: TimeSpan(packaging.window))
    }

    /// Returns the layers that a subscriber can receive, and the sent one; nil if the peer has left or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? { await router.layers(viewedBy: peer) }

    /// Returns the mapping from RTP timestamps to times of capture of the video that a subscriber receives; nil if there
    /// is none yet.
    func videoClock(viewedBy peer: PeerID) async -> CaptureClock? { await router.videoClock(viewedBy: peer) }

    /// Selects the best layer to send to a subscriber. A nil layer removes the selection.
    ///
    /// - Throws: ``APIError``.
    func pin(_ peer: PeerID, layer: String?) async throws(APIError) {
        do {
            try await router.pin(peer, layer: layer)
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Returns the streams of an application, oldest first, with their numbers of subscribers.
    func list(_ application: ApplicationID) -> [(stream: LiveStream, viewers: Int)] {
        registry.list(application).map { ($0.stream, viewers(of: $0.stream.id)) }
    }

    /// Returns a published stream of an application; nil if there is none.
    func live(_ id: StreamID, of application: ApplicationID) -> (stream: LiveStream, viewers: Int)? {
        let id = registry.resolve(id)
        guard let stream = registry.streams[id], stream.application == application else { return nil }
        return (stream, viewers(of: id))
    }

    /// Returns whether a stream of an application has ended, as far as this node remembers.
    func hasEnded(_ id: StreamID, of application: ApplicationID) -> Bool { registry.hasEnded(id, of: application) }

    /// Returns the number of viewers of a stream, including those of HLS that wait for a part.
    func viewers(of stream: StreamID) -> Int {
        registry.viewers(of: stream) + (packaging?.viewerCount(of: stream) ?? 0)
    }

    /// Returns the number of viewers of the stream that a subscriber receives; nil if the subscriber has left.
    func viewerCount(viewedBy peer: PeerID) -> Int? { registry.participants[peer].map { viewers(of: $0.origin) } }

    /// Returns the data quality of a stream; nil if it has ended.
    func quality(of stream: LiveStream) -> DataQuality? { registry.participants[stream.peer]?.quality }

    /// The numbers of subscribers of each stream.
    var viewerCounts: [StreamID: ViewerCounts] { registry.streams.mapValues(\.counts) }

    /// The current numbers of streams and subscribers.
    var counts: (streams: Int, viewers: Int) { registry.counts }

    /// The application of each stream.
    var owners: [StreamID: ApplicationID] { registry.streams.mapValues(\.application) }

    /// The current numbers of streams and subscribers of each application that has a stream.
    var countsOfApplications: [ApplicationID: (streams: Int, viewers: Int)] { registry.countsOfApplications }

    /// Returns whether a stream or viewing has not ended.
    func isPresent(_ peerSession: PeerSession) -> Bool { registry.participants[peerSession.peer] != nil }
}

extension SessionDescription {
    /// Returns the platform's offer in the form of an answer, as if the peer had offered what was negotiated. The
    /// response to an ICE restart of the peer is made from it.
    func asAnswer(of session: NegotiatedSession) -> SessionDescription {
        var answer = self
        for index in answer.media.indices {
            guard let agreed = session.media.first(where: { $0.index == index }) else {
                answer.media[index].port = 0
                continue
            }
            answer.media[index].setup = session.localSetup
            answer.media[index].direction = agreed.direction
            answer.media[index].keep(agreed.format)
        }
        answer.bundle = answer.bundle?.filter { mid in session.media.contains { $0.mid == mid } }
        return answer
    }
}

extension MediaDescription {
    /// Removes all formats except one with its repair formats.
    fileprivate mutating func keep(_ format: PayloadFormat) {
        // If the peer's answer has other payload types, the media section does not change.
        guard payloadTypes.contains(format.payloadType) else { return }
        let kept = [format.payloadType, format.rtxPayloadType, format.redPayloadType].compactMap { $0 }
        payloadTypes.removeAll { !kept.contains($0) }
        rtpMaps.removeAll { !kept.contains($0.payloadType) }
        formatParameters = formatParameters.filter { kept.contains($0.key) }
        feedback.removeAll { line in line.payloadType.map { !kept.contains($0) } ?? false }
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
                "No media section can be accepted. H.264, VP8, VP9, AV1, H.265 and Opus are supported, and a viewer has "
                    + "to offer or accept a track of the stream in its codec, which the capabilities of its token have "
                    + "to permit. Most viewers decode H.264: publish it for those that lack the codec.")
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

/// The end of a peer session whose media connection is closed before its client gives a reason: Phenix's Web SDK closes the
/// peer connection, and sends `DestroyStream` afterwards.
extension StreamDirectory {
    /// Records the end of a peer at the SFU: at once if its reason is known, otherwise when the reason arrives or its
    /// timeout expires.
    func noteClosed(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard reason == .ended, awaitsReason(peer) else { return await noteEnd(peer, reason) }
        registry.close(peer)
        let timeout = Duration.nanoseconds(reasonTimeout.nanoseconds)
        Task { [weak self] in
            try? await Task.sleep(for: timeout)
            await self?.noteEnd(peer, reason)
        }
    }

    /// Records the end of a stream and of its viewers after a reason arrived for the closed media connections.
    func noteClosed(of id: StreamID) async {
        var ended = registry.subscribers[id] ?? []
        if let peer = registry.peers[id] { ended.insert(peer) }
        let closed = ended.filter { registry.participants[$0]?.isClosed == true }
        for peer in closed.sorted(by: { $0.value < $1.value }) { await noteEnd(peer, .ended) }
    }

    /// Whether the reason of an end is awaited. The SFU ends viewers together with their publisher, whose session may
    /// give the reason of all these ends.
    private func awaitsReason(_ peer: PeerID) -> Bool {
        guard let participant = registry.participants[peer], participant.ending == nil else { return false }
        let publisher = registry.streams[participant.origin].flatMap { registry.participants[$0.peer] }
        return participant.hasSession || publisher?.hasSession ?? false
    }
}

/// The window in which a viewer of a stream in real time can seek, as the platform announces it.
struct TimeShiftWindow: Hashable, Sendable {
    /// The path of the multivariant playlist. It has a signature or, before the first media of the stream, an empty query
    /// parameter `token`, to which the client adds its token.
    let path: String
    /// The start of the stream.
    let start: WallTime
    /// The duration, unless memory is scarce.
    let duration: TimeSpan

    /// Returns the options of a response of the PCast protocol, which has the origin of the platform's addresses.
    func options(at origin: String) -> [String] {
        [
            "time-shift=\(origin)\(path)", "time-shift-start=\(start.millisecondsSinceEpoch)",
            "time-shift-duration=\(Int64(duration.milliseconds))",
        ]
    }

    /// The value of the `Link` field of a WHEP session.
    var link: String {
        "<\(path)>; rel=\"urn:ietf:params:whep:ext:pcast:time-shift\"; start=\"\(start.millisecondsSinceEpoch)\"; "
            + "duration=\"\(Int64(duration.milliseconds))\""
    }
}
