/// How it is shown and heard. Settings are the player's, and hold for all that it plays.
extension Player {
    public var muted: Bool {
        get { read { $0.isMuted } }
        set {
            change { state in
                guard state.isMuted != newValue else { return }
                state.isMuted = newValue
                _ = changeSession(&state) { $0.setMuted(newValue) }
                tell(.mutedChanged(newValue), &state)
            }
        }
    }

    public var volume: Double {
        get { read { $0.volume } }
        set {
            change { state in
                let volume = newValue.isNaN ? state.volume : min(max(newValue, 0), 1)
                guard state.volume != volume else { return }
                state.volume = volume
                _ = changeSession(&state) { $0.livePipeline?.volume = volume }
                tell(.volumeChanged(volume), &state)
            }
        }
    }

    /// What is no speed, or none that goes forwards, is taken for 1.
    public var speed: Double {
        get { read { $0.speed } }
        set {
            change { state in
                let (rates, speed) = (PlayheadClock.rates, newValue.isFinite && newValue > 0 ? newValue : 1)
                let bounded = min(max(speed, rates.lowerBound), rates.upperBound)
                guard state.speed != bounded else { return }
                state.speed = bounded
                _ = changeSession(&state) { $0.livePipeline?.setRate(bounded) }
                tell(.speedChanged(bounded), &state)
            }
        }
    }

    public var loop: Bool {
        get { read { $0.isLooping } }
        set {
            change { state in
                guard state.isLooping != newValue else { return }
                state.isLooping = newValue
                tell(.loopChanged(newValue), &state)
            }
        }
    }

    public var aspectMode: AspectMode {
        get { read { $0.aspectMode } }
        set {
            change { state in
                guard state.aspectMode != newValue else { return }
                state.aspectMode = newValue
                tell(.aspectModeChanged(newValue), &state)
            }
        }
    }

    /// Whether the next video begins when one has been played through its end.
    public var autoAdvance: Bool {
        get { read { $0.autoAdvance } }
        set { change { $0.autoAdvance = newValue } }
    }

    /// Whether a video that is advanced to plays at once; nil, to begin with, for as the one before it did.
    public var autoPlay: Bool? {
        get { read { $0.autoPlay } }
        set { change { $0.autoPlay = newValue } }
    }

    // MARK: Tracks

    /// What there is to choose from; empty before the media were opened.
    public var tracks: [ContentTrack] { session?.overview?.tracks ?? [] }

    public var selectedTracks: Set<ContentTrack.ID> { session?.overview?.selected ?? [] }

    /// The text that is shown now.
    public var subtitle: String? { session?.subtitle }

    /// Takes another track; nil for none of that kind. ``PlayerEvent/Kind/tracksChanged(_:selected:)`` says when it was.
    ///
    /// - Throws: `noTrack` where there is no such track of that kind.
    public func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        let refusal: PlaybackError? = change { state in
            changeSession(&state) { session in
                let tracks = session.overview?.tracks ?? []
                if let track, !tracks.contains(where: { $0.id == track && $0.kind == kind }) {
                    return PlaybackError.noTrack(track.rawValue)
                }
                session.livePipeline?.select(track, of: kind)
                return nil
            } ?? track.map { .noTrack($0.rawValue) }
        }
        if let refusal { throw refusal }
    }
}
