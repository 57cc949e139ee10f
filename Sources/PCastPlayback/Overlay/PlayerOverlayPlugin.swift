import PCastCore
import PCastIO
import PCastJSON
public import PCastOverlay
import Synchronization

/// A ``Player`` as an overlay sees it: its state, time, loudness and errors become messages, and what the overlay asks for is
/// done by the same calls that everybody uses. It keeps nothing of the player's.
public final class PlayerOverlayPlugin: OverlayPlayerPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var tasks: [Task<Void, Never>] = []
        /// The sessions of which it was told that they can be played.
        var readySession: PlaybackSession.ID?
        var toldState: OverlayPlayerState?
        var toldEpoch: PlayheadEpoch?
        /// Of this epoch.
        var toldTime: OverlayTime?
        var toldTimeAt: Instant?
        /// What is known of them.
        var controls: OverlayControls?
    }

    /// Between two times that are told, while it plays: a little less than a quarter of a second, so that pictures which come
    /// a little early do not make it a half.
    private static let timeInterval = TimeSpan.milliseconds(230)
    /// The years 1684 to 2255: more a moment in nanoseconds cannot say.
    private static let moments: ClosedRange<Int64> = -9_000_000_000_000...9_000_000_000_000

    public let player: Player
    /// The built-in controls of the surface on which the player is shown; nil where it has none.
    public let controls: PlayerControls?
    private let state = Mutex(State())

    /// - Parameter builtIn: The built-in controls: each change of their visibility, by a click, a key, the timeout or the overlay,
    ///   is reported as `playerStage`. Nil for a player without controls of its own: those of the overlay are the player's.
    public init(_ player: Player, controls builtIn: PlayerControls? = nil) {
        self.player = player
        controls = builtIn
    }

    deinit { cancel() }

    // MARK: Its life

    public func create(_ overlay: Overlay) {
        let (events, positions) = (player.events(), player.positions())
        var tasks = [
            Task { [weak self] in
                for await event in events { self?.follow(event) }
            },
            Task { [weak self] in
                for await _ in positions { self?.tellTime() }
            },
        ]
        if let changes = controls?.changes {
            tasks.append(
                Task { [weak self] in
                    for await change in changes { self?.overlay?.post(.playerStage(change)) }
                })
        }
        state.withLock { state in
            state.overlay = overlay
            state.tasks = tasks
        }
        // What is so already is for pages that come, and no news for anybody else.
        state.withLock { state in
            for message: OverlayMessage in [
                .playerVolume(percent(player.volume)), .playerMute(player.muted), .playerSpeed(player.speed),
            ] {
                overlay.post(message, isPublished: true)
            }
            let session = player.session
            if let session { overlay.setEpoch(session.playhead.epoch, isNewItem: true) }
            tellState(&state, overlay)
            if let session, session.isReady { tellReady(session, &state, overlay) }
            tellTime(&state, overlay)
        }
    }

    public func destroy() { cancel() }

    private func cancel() {
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    private var overlay: Overlay? { state.withLock { $0.overlay } }

    // MARK: From the player

    // What the player is at this moment is read and said under one lock: of two that tell of it at once, the one who has read
    // the older would else have the last word.

    private func follow(_ event: PlayerEvent) {
        guard let overlay else { return }
        state.withLock { state in
            switch event.kind {
            case .videoChanged: overlay.setEpoch(event.epoch, isNewItem: true)
            case .ready: if let session = event.session { tellReady(session, &state, overlay) }
            case .volumeChanged(let volume): overlay.post(.playerVolume(percent(volume)))
            case .mutedChanged(let isMuted): overlay.post(.playerMute(isMuted))
            case .speedChanged(let speed): overlay.post(.playerSpeed(speed))
            case .videoScaleChanged(let scale): overlay.post(.playerVideoScale(scale))
            case .error(let error):
                overlay.post(.playerError(.playerConnectivity(level: .warning, reason: error.description)))
            case .metadata(let metadata): overlay.post(.playerMetadata(metadata.overlayText))
            case .passedCuePoints(let passage): tellCuePoints(passage, overlay)
            default: break
            }
            tellState(&state, overlay)
            // The window may have moved, or the time of day become known, while nothing else moves.
            tellTime(&state, overlay)
        }
    }

    private func tellReady(_ session: PlaybackSession, _ state: inout State, _ overlay: Overlay) {
        guard state.readySession != session.id else { return }
        state.readySession = session.id
        overlay.post(.playerReady)
    }

    private func tellState(_ state: inout State, _ overlay: Overlay) {
        let now = player.overlayState
        guard state.toldState != now else { return }
        state.toldState = now
        overlay.post(.playerState(now))
    }

    private func tellTime() {
        guard let overlay else { return }
        state.withLock { tellTime(&$0, overlay) }
    }

    /// While it plays a few times a second; what stands now is where it is, and is told once.
    private func tellTime(_ state: inout State, _ overlay: Overlay) {
        guard let playhead = player.playhead else { return }
        if playhead.epoch != state.toldEpoch {
            (state.toldEpoch, state.toldTime) = (playhead.epoch, nil)
            overlay.setEpoch(playhead.epoch, isNewItem: false)
        }
        guard let time = self.time(of: playhead, state) else { return }
        guard time != state.toldTime else { return }
        let now = MonotonicClock.now()
        if playhead.rate > 0, state.toldTime != nil, let toldAt = state.toldTimeAt, now - toldAt < Self.timeInterval {
            return
        }
        (state.toldTime, state.toldTimeAt) = (time, now)
        overlay.post(.playerTime(time))
    }

    /// By the time of day, where anything tells it. Media without one, such as a file, have a timeline of their own, which
    /// counts from their start.
    private func time(of playhead: Playhead, _ state: State) -> OverlayTime? {
        if let timecode = playhead.timecode {
            return OverlayTime(
                timecode: timecode.millisecondsSinceEpoch,
                initialTimecode: playhead.timecodeRange?.lowerBound.millisecondsSinceEpoch,
                maxTimecode: playhead.timecodeRange?.upperBound.millisecondsSinceEpoch)
        }
        // Before it is ready, the time of day may just not be known yet.
        guard let session = player.session, state.readySession == session.id else { return nil }
        let range = playhead.seekableRange
        return OverlayTime(
            timecode: playhead.position.wholeMilliseconds, initialTimecode: range?.lowerBound.wholeMilliseconds,
            maxTimecode: range?.upperBound.wholeMilliseconds)
    }

    /// To pages as `cue.passed`: what somebody wants to be said when the picture comes there. Of what a timeline has released
    /// they hear by ``TimelineOverlayPlugin``, which also takes it back.
    private func tellCuePoints(_ passage: CuePointPassage, _ overlay: Overlay) {
        let playhead = player.playhead
        for cuePoint in passage.cuePoints where cuePoint.position.seconds.isFinite && !cuePoint.isOfTimeline {
            var metadata: JSONObject = [
                "type": .string(cuePoint.type ?? ""), "position": .number(cuePoint.position.seconds),
                "properties": .object(JSONObject(sorting: cuePoint.properties)),
            ]
            if let playhead, case .at(let position) = cuePoint.position {
                let moment = playhead.timecode.map { $0 + (position - playhead.position) }
                metadata["timecode"] = .integer(moment?.millisecondsSinceEpoch ?? position.wholeMilliseconds)
            }
            let message: JSONObject = ["event": "cue.passed", "metadata": .object(metadata)]
            overlay.post(.appMessage(message.text))
        }
    }

    private func percent(_ volume: Double) -> Int { Int((volume * 100).rounded()) }

    // MARK: To the player

    public func setTime(_ timecode: Int64) {
        let moments = Self.moments
        let moment = WallTime(
            millisecondsSinceEpoch: min(max(timecode, moments.lowerBound), moments.upperBound))
        // Counted as it was told: from the start of media that have no time of day.
        let isCounted = player.playhead.map { $0.timecode == nil } ?? false
        let seek =
            isCounted
            ? player.startSeek(to: TimeSpan.milliseconds(moment.millisecondsSinceEpoch)) : player.startSeek(to: moment)
        Task { [weak self] in
            do {
                _ = try await seek.landing
                self?.tellTime()
            } catch is CancellationError {
                // Another seek took its place.
            } catch {
                let reason =
                    (error as? PlaybackError) == .notSeekable
                    ? "nothing tells where that moment is, or it cannot be gone there" : "\(error)"
                self?.overlay?.post(
                    .playerError(.playerConnectivity(level: .warning, reason: "the seek failed: \(reason)")))
            }
        }
    }

    public func setState(_ state: OverlayPlayerState) {
        switch state {
        case .playing: player.play()
        case .paused: player.pause()
        case .stopped: player.stop()
        // Of these nobody can ask for.
        case .seeking, .buffering: break
        }
    }

    public func setSpeed(_ speed: Double) { player.speed = speed }

    public func setVolume(_ volume: Int) { player.volume = Double(volume) / 100 }

    public func setMute(_ isMuted: Bool) { player.muted = isMuted }

    public func setVideoScale(_ scale: VideoScale) {
        guard !player.setVideoScale(scale) else { return }
        overlay?.post(
            .playerError(.playerConnectivity(level: .warning, reason: "this player cannot change the video's scale")))
    }

    /// The built-in controls report the change themselves. Without them those of the overlay are the player's, and what is seen of
    /// them is reported.
    public func setControllerVisible(_ isVisible: Bool) {
        if let controls { return controls.setVisible(isVisible) }
        let controls: OverlayControls = isVisible ? .visible : .hidden
        let overlay = state.withLock { state in
            defer { state.controls = controls }
            return state.controls == controls ? nil : state.overlay
        }
        overlay?.post(.playerStage(controls))
    }
}

extension TimeSpan {
    fileprivate var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension PlaybackSession {
    fileprivate var isReady: Bool { withState { $0.lifecycle.isReady } }
}

extension TimedMetadata {
    /// As JSON (`playerMetadata`); positions and lengths in seconds.
    var overlayText: String {
        var fields: JSONObject = [
            "source": .string(source.rawValue), "name": .string(name), "value": .string(value),
            "position": .number(position.seconds),
        ]
        if let duration { fields["duration"] = .number(duration.seconds) }
        if let identifier { fields["identifier"] = .string(identifier) }
        return fields.text
    }
}
