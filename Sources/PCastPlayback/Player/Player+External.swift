/// Playing somewhere else.
extension Player {
    /// Without it external playback is refused; what goes on does.
    public var allowsExternalPlayback: Bool {
        get { read { $0.allowsExternalPlayback } }
        set { change { $0.allowsExternalPlayback = newValue } }
    }

    public var isExternalPlaybackActive: Bool { session?.isExternalPlaybackActive ?? false }

    /// Has another place play what is played here, which is silent then, until it is stopped, or the session is over.
    ///
    /// - Throws: what the other place throws; `CancellationError` when the session is over before it has begun there;
    ///   ``PlaybackError/notPlayable(_:reason:)`` without content, where it is not allowed, or is so already.
    public func startExternalPlayback(_ external: any ExternalPlayback) async throws {
        let session = read { state in
            state.allowsExternalPlayback && state.external == nil ? state.session : nil
        }
        guard let session, session.playerState.hasContent else {
            throw PlaybackError.notPlayable("external playback", reason: "nothing is played, or not only here")
        }
        try await external.start(session)
        let hasBegun = change { state in
            guard state.session === session, state.external == nil else { return false }
            state.external = external
            _ = changeSession(&state) { $0.setPlayedElsewhere(true) }
            return true
        }
        guard hasBegun else {
            await external.stop(session)
            throw CancellationError()
        }
        if external.hasEnded { await stopExternalPlayback(by: external) }
    }

    /// Harmless while nothing is played elsewhere.
    public func stopExternalPlayback() async { await stopExternalPlayback(by: nil) }

    /// - Parameter ended: of this one only; nil for whichever it is.
    func stopExternalPlayback(by ended: (any ExternalPlayback)?) async {
        let (external, session) = change { state in
            let external = ended == nil || state.external === ended ? state.external : nil
            guard external != nil else { return (external, state.session) }
            state.external = nil
            _ = changeSession(&state) { $0.setPlayedElsewhere(false) }
            return (external, state.session)
        }
        if let external, let session { await external.stop(session) }
    }
}
