/// The settings of a player, which apply to all its content.
extension Player {
    /// Whether the audio is muted.
    public var muted: Bool {
        get { read { $0.isMuted } }
        set {
            change { state in
                guard state.isMuted != newValue else { return }
                state.isMuted = newValue
                _ = changeSession(&state) { $0.setMuted(newValue) }
                notify(.mutedChanged(newValue), &state)
            }
        }
    }

    /// The volume, clamped to 0 to 1. NaN has no effect.
    public var volume: Double {
        get { read { $0.volume } }
        set {
            change { state in
                let volume = newValue.isNaN ? state.volume : min(max(newValue, 0), 1)
                guard state.volume != volume else { return }
                state.volume = volume
                _ = changeSession(&state) { $0.livePipeline?.volume = volume }
                notify(.volumeChanged(volume), &state)
            }
        }
    }

    /// The playback rate, as a factor, clamped to 0.25 to 4. A value that is not finite or not positive counts as 1.
    public var speed: Double {
        get { read { $0.speed } }
        set {
            change { state in
                let (rates, speed) = (PlayheadClock.rates, newValue.isFinite && newValue > 0 ? newValue : 1)
                let bounded = min(max(speed, rates.lowerBound), rates.upperBound)
                guard state.speed != bounded else { return }
                state.speed = bounded
                _ = changeSession(&state) { $0.livePipeline?.setRate(bounded) }
                notify(.speedChanged(bounded), &state)
            }
        }
    }

    /// Whether content restarts after its end.
    public var loop: Bool {
        get { read { $0.isLooping } }
        set {
            change { state in
                guard state.isLooping != newValue else { return }
                state.isLooping = newValue
                notify(.loopChanged(newValue), &state)
            }
        }
    }

    /// The mode that fits frames into the display area. A change applies to the current frame at once.
    public var aspectMode: AspectMode {
        get { read { $0.aspectMode } }
        set {
            change { state in
                guard state.aspectMode != newValue else { return }
                state.aspectMode = newValue
                pipelines.setAspectMode(newValue)
                notify(.aspectModeChanged(newValue), &state)
            }
        }
    }

    /// Whether the next video begins when one was played to its end. The default is true.
    public var autoAdvance: Bool {
        get { read { $0.autoAdvance } }
        set { change { $0.autoAdvance = newValue } }
    }

    /// Whether a video that the player advances to plays at once. Nil, the default, keeps the state of the video
    /// before.
    public var autoPlay: Bool? {
        get { read { $0.autoPlay } }
        set { change { $0.autoPlay = newValue } }
    }

    // MARK: Tracks

    /// The tracks to select from; empty before the media is open.
    public var tracks: [ContentTrack] { session?.overview?.tracks ?? [] }

    /// The IDs of the selected tracks.
    public var selectedTracks: Set<ContentTrack.ID> { session?.overview?.selected ?? [] }

    /// The text of the subtitle that is displayed; nil for none.
    public var subtitle: String? { session?.subtitle }

    /// Selects a track of a kind, or none if `track` is nil. ``PlayerEvent/Kind/tracksChanged(_:selected:)`` reports
    /// the change. Throws ``PlaybackError/noTrack(_:)`` if there is no such track of that kind.
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
