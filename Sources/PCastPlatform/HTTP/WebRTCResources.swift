import PCastWebRTC

/// A WHIP or WHEP session, which a resource URI represents.
struct WebRTCResource: Sendable {
    let peerSession: PeerSession
    /// The username fragment (ufrag) of the peer. A PATCH with another one requests an ICE restart.
    var remoteUfrag: String
    /// The strong entity tag, which changes with each restart (RFC 9725, section 4.3.1).
    var entityTag: String
    var hasRestarted = false
    /// Whether the platform's counter-offer is not answered yet.
    var isAwaitingAnswer = false
    /// The event streams by their unguessable names.
    var eventStreams: [String: SessionEventStream] = [:]

    /// The maximum number of event streams of a session.
    static let maximumEventStreams = 4

    /// The value of `Accept-Patch`.
    var acceptedPatches: String { Self.acceptedPatches(awaitingAnswer: isAwaitingAnswer) }

    /// Returns the value of `Accept-Patch`. A session whose counter-offer is not answered accepts only the answer.
    static func acceptedPatches(awaitingAnswer: Bool) -> String {
        awaitingAnswer ? MediaTypeName.description : MediaTypeName.trickle
    }
}

/// The sessions of an endpoint by their unguessable names. The maximum number of peers is the bound, because each
/// session has one.
actor WebRTCResources {
    private var resources: [String: WebRTCResource] = [:]

    func insert(_ resource: WebRTCResource, name: String) { resources[name] = resource }

    func find(_ name: String) -> WebRTCResource? { resources[name] }

    func restarted(_ name: String, remoteUfrag: String) -> String? {
        guard resources[name] != nil else { return nil }
        let tag = Self.newEntityTag()
        resources[name]?.remoteUfrag = remoteUfrag
        resources[name]?.entityTag = tag
        resources[name]?.hasRestarted = true
        return tag
    }

    /// Records that the counter-offer of a session was answered by a peer with a ufrag.
    func answered(_ name: String, remoteUfrag: String) {
        resources[name]?.remoteUfrag = remoteUfrag
        resources[name]?.isAwaitingAnswer = false
    }

    /// Adds an event stream to a session, and returns its name. Returns nil if the session has ended.
    ///
    /// - Throws: ``APIError`` with the kind `capacity` if the session has the maximum number of event streams.
    func add(_ stream: SessionEventStream, to name: String) throws(APIError) -> String? {
        guard let resource = resources[name] else { return nil }
        guard resource.eventStreams.count < WebRTCResource.maximumEventStreams else {
            throw APIError(
                .capacity,
                "A session has at most \(WebRTCResource.maximumEventStreams) event streams: delete one of them.")
        }
        let id = RandomIdentifier.make()
        resources[name]?.eventStreams[id] = stream
        return id
    }

    /// Removes and returns an event stream of a session; nil if there is none.
    func removeEventStream(_ id: String, of name: String) -> SessionEventStream? {
        resources[name]?.eventStreams.removeValue(forKey: id)
    }

    @discardableResult
    func remove(_ name: String) -> WebRTCResource? { resources.removeValue(forKey: name) }

    static func newEntityTag() -> String { "\"\(RandomIdentifier.make().prefix(12))\"" }
}

extension SessionDescription {
    /// The first username fragment (ufrag) of the media sections; empty if there is none.
    var firstUfrag: String { media.lazy.compactMap(\.iceUfrag).first ?? "" }
}
