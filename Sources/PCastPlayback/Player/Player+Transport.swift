public import PCastCore

/// Play, pause and go about.
extension Player {
    public var state: PlayerState { read { $0.session }?.playerState ?? .idle }

    /// As an overlay sees it.
    public var overlayState: OverlayPlayerState { read { $0.session }?.overlayState ?? .stopped }

    /// What is played at this moment; nil without content.
    public var playhead: Playhead? { session?.playhead }

    public var position: Double { playhead?.position.seconds ?? 0 }

    public var duration: Double {
        guard let overview = session?.overview else { return 0 }
        return overview.duration?.seconds ?? (overview.kind == .live ? .infinity : 0)
    }

    public var bufferedPosition: Double {
        guard let session else { return 0 }
        return (session.bufferedPosition ?? session.playhead.position).seconds
    }

    public func play() { change { state in _ = changeSession(&state) { $0.play() } } }

    public func pause() { change { state in _ = changeSession(&state) { $0.pause() } } }

    public func toggle() {
        change { state in
            _ = changeSession(&state) { session in
                if session.isSetToPlay { session.pause() } else { session.play() }
            }
        }
    }

    public func stop() { change { state in _ = changeSession(&state) { $0.stop() } } }

    @discardableResult
    public func seek(to position: Double) async throws -> Double {
        try await seek(to: TimeSpan(boundedSeconds: position)).seconds
    }

    /// Goes elsewhere, within the seekable range, as soon as the media are open.
    ///
    /// - Returns: where it came.
    /// - Throws: as ``SeekRequest/landing`` does.
    @discardableResult
    public func seek(to position: TimeSpan) async throws -> TimeSpan {
        try await startSeek(to: position).landing
    }

    /// Goes to the picture of a moment.
    @discardableResult
    public func seek(to moment: WallTime) async throws -> TimeSpan { try await startSeek(to: moment).landing }

    /// Goes as near to the edge of a live programme as it is played by default.
    @discardableResult
    public func seekToLiveEdge() async throws -> TimeSpan { try await startSeek(.liveEdge).landing }

    /// Begins to seek before it returns, in the order of calls; who wants to wait for it does.
    @discardableResult
    public func startSeek(to position: TimeSpan) -> SeekRequest { startSeek(.position(position)) }

    @discardableResult
    public func startSeek(to moment: WallTime) -> SeekRequest { startSeek(.moment(moment)) }

    /// In seconds.
    @discardableResult
    public func startSeek(to position: Double) -> SeekRequest { startSeek(to: TimeSpan(boundedSeconds: position)) }

    private func startSeek(_ target: SeekTarget) -> SeekRequest {
        let request = SeekRequest()
        let hasContent = change { state in changeSession(&state) { $0.seek(to: target, request) } } != nil
        if !hasContent { request.settle(.failed(.notSeekable)) }
        return request
    }
}

extension TimeSpan {
    /// What is no time is zero, and what is beyond thirty years that.
    init(boundedSeconds seconds: Double) {
        self.init(seconds: seconds.isNaN ? 0 : min(max(seconds, -1e9), 1e9))
    }
}
