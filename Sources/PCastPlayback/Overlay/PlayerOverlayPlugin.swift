import PCastCore
import PCastIO
import PCastJSON
public import PCastOverlay
import Synchronization

/// The adapter of a ``Player`` for an overlay. It posts the player's state, time, volume and errors as messages, and
/// carries out requests with the player's public methods.
public final class PlayerOverlayPlugin: OverlayPlayerPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var tasks: [Task<Void, Never>] = []
        /// The session that was reported as ready; nil for none.
        var readySession: PlaybackSession.ID?
        // The values that were reported last.
        var reportedState: OverlayPlayerState?
        var reportedEpoch: PlayheadEpoch?
        /// The time that was reported last in this epoch; nil for none.
        var reportedTime: OverlayTime?
        var reportedTimeAt: Instant?
        /// The reported visibility of the controls; nil before the first report.
        var controls: OverlayControls?
        /// The changes of the built-in controls since the plugin was created; nil once an overlay reads them.
        var changes: AsyncStream<OverlayControls>?
    }

    /// The minimum interval between two reported times during playback. It is slightly less than 250 ms, so that a
    /// frame that is a little early does not double the interval.
    private static let timeInterval = TimeSpan.milliseconds(230)
    /// The range of times in milliseconds since 1970, from 1684 to 2255, which a number of nanoseconds can represent.
    private static let moments: ClosedRange<Int64> = -9_000_000_000_000...9_000_000_000_000

    /// The player.
    public let player: Player
    /// The built-in controls of the player's surface; nil if it has none.
    public let controls: PlayerControls?
    private let state = Mutex(State())

    /// Creates an adapter. Each change of the visibility of `builtIn` is reported as `playerStage`. If `builtIn` is
    /// nil, the visibility of the overlay's controls is reported in its place.
    public init(_ player: Player, controls builtIn: PlayerControls? = nil) {
        self.player = player
        controls = builtIn
        // An overlay creates its plugins asynchronously. It reports the changes before that, too.
        state.withLock { $0.changes = builtIn?.changes }
    }

    deinit { cancel() }

    // MARK: Lifecycle

    /// Begins to follow the player, and posts its current values.
    public func create(_ overlay: Overlay) {
        let (events, positions) = (player.events(), player.positions())
        var tasks = [
            Task { [weak self] in
                for await event in events { self?.follow(event) }
            },
            Task { [weak self] in
                for await _ in positions { self?.postTime() }
            },
        ]
        let pending = state.withLock { state in
            defer { state.changes = nil }
            return state.changes
        }
        if let changes = pending ?? controls?.changes {
            tasks.append(
                Task { [weak self] in
                    for await change in changes { self?.overlay?.post(.playerStage(change)) }
                })
        }
        state.withLock { state in
            state.overlay = overlay
            state.tasks = tasks
        }
        // The current values are for pages that connect later, and are no news for observers.
        state.withLock { state in
            for message: OverlayMessage in [
                .playerVolume(percent(player.volume)), .playerMute(player.muted), .playerSpeed(player.speed),
            ] {
                overlay.post(message, isPublished: true)
            }
            let session = player.session
            if let session { overlay.setEpoch(session.playhead.epoch, isNewItem: true) }
            postState(&state, overlay)
            if let session, session.isReady { postReady(session, &state, overlay) }
            postTime(&state, overlay)
        }
    }

    /// Ends following the player.
    public func destroy() { cancel() }

    /// Ends following the player.
    private func cancel() {
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    private var overlay: Overlay? { state.withLock { $0.overlay } }

    // MARK: Reports

    // The player's current values are read and posted under one lock. Otherwise a task with older values could post
    // last.

    /// Posts the messages for an event of the player.
    private func follow(_ event: PlayerEvent) {
        guard let overlay else { return }
        state.withLock { state in
            switch event.kind {
            case .videoChanged: overlay.setEpoch(event.epoch, isNewItem: true)
            case .ready: if let session = event.session { postReady(session, &state, overlay) }
            case .volumeChanged(let volume): overlay.post(.playerVolume(percent(volume)))
            case .mutedChanged(let isMuted): overlay.post(.playerMute(isMuted))
            case .speedChanged(let speed): overlay.post(.playerSpeed(speed))
            case .videoScaleChanged(let scale): overlay.post(.playerVideoScale(scale))
            case .error(let error):
                overlay.post(.playerError(.playerConnectivity(level: .warning, reason: error.description)))
            case .metadata(let metadata): overlay.post(.playerMetadata(metadata.overlayText))
            case .passedCuePoints(let passage): postCuePoints(passage, overlay)
            default: break
            }
            postState(&state, overlay)
            // The seekable range or the wall-clock time may change while nothing else does.
            postTime(&state, overlay)
        }
    }

    /// Posts that a session is ready, once.
    private func postReady(_ session: PlaybackSession, _ state: inout State, _ overlay: Overlay) {
        guard state.readySession != session.id else { return }
        state.readySession = session.id
        overlay.post(.playerReady)
    }

    /// Posts the state after a change.
    private func postState(_ state: inout State, _ overlay: Overlay) {
        let now = player.overlayState
        guard state.reportedState != now else { return }
        state.reportedState = now
        overlay.post(.playerState(now))
    }

    /// Posts the time after a change.
    private func postTime() {
        guard let overlay else { return }
        state.withLock { postTime(&$0, overlay) }
    }

    /// Posts the time after a change. During playback it does so at most about four times per second.
    private func postTime(_ state: inout State, _ overlay: Overlay) {
        guard let playhead = player.playhead else { return }
        if playhead.epoch != state.reportedEpoch {
            (state.reportedEpoch, state.reportedTime) = (playhead.epoch, nil)
            overlay.setEpoch(playhead.epoch, isNewItem: false)
        }
        guard let time = self.time(of: playhead, state) else { return }
        guard time != state.reportedTime else { return }
        let now = MonotonicClock.now()
        if playhead.rate > 0, state.reportedTime != nil, let reportedAt = state.reportedTimeAt,
            now - reportedAt < Self.timeInterval
        {
            return
        }
        (state.reportedTime, state.reportedTimeAt) = (time, now)
        overlay.post(.playerTime(time))
    }

    /// Returns the time of the playhead; nil before it is known. Media without wall-clock time, such as a file, count
    /// from their beginning.
    private func time(of playhead: Playhead, _ state: State) -> OverlayTime? {
        if let timecode = playhead.timecode {
            return OverlayTime(
                timecode: timecode.millisecondsSinceEpoch,
                initialTimecode: playhead.timecodeRange?.lowerBound.millisecondsSinceEpoch,
                maxTimecode: playhead.timecodeRange?.upperBound.millisecondsSinceEpoch)
        }
        // Before the session is ready, the wall-clock time may still become known.
        guard let session = player.session, state.readySession == session.id else { return nil }
        let range = playhead.seekableRange
        return OverlayTime(
            timecode: playhead.position.wholeMilliseconds, initialTimecode: range?.lowerBound.wholeMilliseconds,
            maxTimecode: range?.upperBound.wholeMilliseconds)
    }

    /// Posts passed cue points to pages as `cue.passed`. Cue points of a timeline are excluded, because
    /// ``TimelineOverlayPlugin`` posts and withdraws them.
    private func postCuePoints(_ passage: CuePointPassage, _ overlay: Overlay) {
        let playhead = player.playhead
        for cuePoint in passage.cuePoints where cuePoint.position.seconds.isFinite && !cuePoint.isOfTimeline {
            var metadata: JSONObject = [
                "type": .string(cuePoint.type ?? ""), "position": .number(cuePoint.position.seconds),
                "properties": .object(JSONObject(sorting: cuePoint.properties)),
            ]
            if let playhead, case .at(let position) = cuePoint.position {
                let moment = playhead.timecode.map { $0.advanced(by: position - playhead.position) }
                metadata["timecode"] = .integer(moment?.millisecondsSinceEpoch ?? position.wholeMilliseconds)
            }
            let message: JSONObject = ["event": "cue.passed", "metadata": .object(metadata)]
            overlay.post(.appMessage(message.text))
        }
    }

    /// Returns a volume in percent.
    private func percent(_ volume: Double) -> Int { Int((volume * 100).rounded()) }

    // MARK: Requests

    /// Seeks to the frame of a time in milliseconds since 1970. A failure is posted as `playerError`.
    public func setTime(_ timecode: Int64) {
        let moments = Self.moments
        let moment = WallTime(
            millisecondsSinceEpoch: min(max(timecode, moments.lowerBound), moments.upperBound))
        // For media without wall-clock time, the time counts from the beginning, as in reports.
        let isCounted = player.playhead.map { $0.timecode == nil } ?? false
        let seek =
            isCounted
            ? player.startSeek(to: Duration.milliseconds(moment.millisecondsSinceEpoch)) : player.startSeek(to: moment)
        Task { [weak self] in
            do {
                _ = try await seek.reachedPosition
                self?.postTime()
            } catch is CancellationError {
                // Another seek replaced this one.
            } catch {
                let reason =
                    (error as? PlaybackError) == .notSeekable
                    ? "the position of that time is unknown, or it is not seekable" : "\(error)"
                self?.overlay?.post(
                    .playerError(.playerConnectivity(level: .warning, reason: "the seek failed: \(reason)")))
            }
        }
    }

    /// Plays, pauses or stops. Other states are ignored.
    public func setState(_ state: OverlayPlayerState) {
        switch state {
        case .playing: player.play()
        case .paused: player.pause()
        case .stopped: player.stop()
        // A request cannot set these states.
        case .seeking, .buffering: break
        }
    }

    /// Sets the playback rate, as a factor.
    public func setSpeed(_ speed: Double) { player.speed = speed }

    /// Sets the volume, 0 to 100.
    public func setVolume(_ volume: Int) { player.volume = Double(volume) / 100 }

    /// Mutes or unmutes the audio.
    public func setMute(_ isMuted: Bool) { player.muted = isMuted }

    /// Sets the scale of the video. A player that cannot do so posts `playerError`.
    public func setVideoScale(_ scale: VideoScale) {
        guard !player.setVideoScale(scale) else { return }
        overlay?.post(
            .playerError(.playerConnectivity(level: .warning, reason: "this player cannot change the video's scale")))
    }

    /// Shows or hides the built-in controls, which report the change. Without built-in controls, this reports the state
    /// of the overlay's controls.
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

extension Duration {
    /// The duration in whole milliseconds.
    fileprivate var wholeMilliseconds: Int64 { TimeSpan(self).nanoseconds / 1_000_000 }
}

extension PlaybackSession {
    /// Whether the session is ready.
    fileprivate var isReady: Bool { withState { $0.lifecycle.isReady } }
}

extension TimedMetadata {
    /// The metadata as JSON for `playerMetadata`, with times in seconds.
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
