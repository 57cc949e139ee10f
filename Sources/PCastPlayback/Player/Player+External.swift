/// External playback.
extension Player {
    /// Whether external playback may start. Current external playback continues after a change to false.
    public var allowsExternalPlayback: Bool {
        get { read { $0.allowsExternalPlayback } }
        set { change { $0.allowsExternalPlayback = newValue } }
    }

    /// Whether another device plays the content.
    public var isExternalPlaybackActive: Bool { session?.isExternalPlaybackActive ?? false }

    /// Starts external playback of the current session. Local playback is silent until it is stopped or the session is
    /// over. Throws the error of `external`; `CancellationError` if the session ends before the start is complete; or
    /// ``PlaybackError/notPlayable(_:reason:)`` without content, while it is not allowed, or while it is active
    /// already.
    public func startExternalPlayback(_ external: any ExternalPlayback) async throws {
        let session = read { state in
            state.allowsExternalPlayback && state.external == nil ? state.session : nil
        }
        guard let session, session.playerState.hasContent else {
            throw PlaybackError.notPlayable("external playback", reason: "nothing is playing on this device")
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

    /// Stops external playback. It has no effect if there is none.
    public func stopExternalPlayback() async { await stopExternalPlayback(by: nil) }

    /// Stops external playback by `ended` only, or by any if it is nil.
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
