public import PCastCore
import PCastIO
import PCastRendering
import Synchronization

/// The origin of an offset in a seek (Phenix: `PhenixSeekOrigin`).
public enum SeekOrigin: String, Hashable, Sendable, CaseIterable {
    /// The beginning of the window.
    case beginning
    /// The frame that is displayed.
    case current
    /// The end of the window, which is the newest media that can be played.
    case end
}

extension Renderer {
    /// Whether the viewer can seek in the window of the stream (Phenix: `seekable`). It requires a running renderer, a
    /// subscribed stream that the platform packages for HLS, and ``PCastOptions/streamingClient``.
    public var isSeekable: Bool { timeShift.isSeekable }

    /// Displays the frame that was captured at a time, and plays from there (Phenix: `seek`).
    ///
    /// The renderer continues to show the stream in real time until the media of that time is loaded. It then plays the
    /// window by HLS on the same surface, with the same audio output, captions, statistics and callbacks of frames.
    /// ``TimeShift/stop()`` returns to real time. The time is clamped to the window.
    ///
    /// - Parameter time: The capture time of the frame, in UTC.
    /// - Returns: The time shift, which is always the same object of the renderer.
    /// - Throws: ``PCastError`` with the status `badRequest` if the stream is not seekable, `gone` if the renderer does not
    ///   run, and `failed` if no thread can be started. A later failure is the state ``TimeShift/State/failed(_:)``.
    @discardableResult
    public func seek(to time: WallTime) throws(PCastError) -> TimeShift {
        try timeShift.seek { _ in .time(time) }
        return timeShift
    }

    /// Displays the frame at a distance from an origin, and plays from there (Phenix: `seek`). See ``seek(to:)``.
    ///
    /// - Parameters:
    ///   - offset: The distance from the origin; negative for an earlier frame.
    ///   - origin: The origin.
    /// - Returns: The time shift, which is always the same object of the renderer.
    /// - Throws: ``PCastError``; see ``seek(to:)``.
    @discardableResult
    public func seek(by offset: Duration, from origin: SeekOrigin = .current) throws(PCastError) -> TimeShift {
        // A century covers every window, and cannot overflow.
        let century = TimeSpan.seconds(3_155_760_000)
        let span = min(max(TimeSpan(offset), .zero - century), century)
        try timeShift.seek { current in
            switch origin {
            case .beginning: .beginning(span)
            case .end: .end(span)
            case .current: current.map { .time($0 + span) } ?? .end(span)
            }
        }
        return timeShift
    }
}

/// The playback of a renderer in the window of a live stream, before real time (Phenix: `PhenixTimeShift`).
///
/// ```swift
/// let timeShift = try renderer.seek(by: .seconds(-30))
/// for await state in timeShift.state.values where state == .playing { break }
/// timeShift.stop()  // back to real time
/// ```
///
/// While the time is shifted, the subscription continues, so that the return is immediate. When the stream ends, the
/// renderer ends with it.
public final class TimeShift: Sendable {
    /// The state of a time shift.
    public enum State: Hashable, Sendable {
        /// The renderer shows the stream in real time.
        case live
        /// The media of a seek is being loaded. The former frames are shown until it is there.
        case seeking
        /// The window is played.
        case playing
        /// A frame of the window is shown.
        case paused
        /// The end of the stream was reached.
        case ended
        /// The window cannot be played, for the reason in the text. The renderer shows the stream in real time.
        case failed(String)
    }

    /// The state as an observable value (Phenix: `observableReadyForPlaybackStatus`, `observableFailure`,
    /// `observableEnded`).
    public let state = ObservableValue(State.live)

    /// The capture time of the displayed frame while the time is shifted; nil in real time (Phenix:
    /// `observablePlaybackHead`).
    public let playbackHead = ObservableValue<WallTime?>(nil)

    private struct Progress {
        weak var rendering: Rendering?
        /// The capture time at which the last seek landed.
        var startTime: WallTime?
        var isPaused = false
    }

    private let progress = Mutex(Progress())
    /// Whether frames of the window are displayed instead of those in real time.
    private let displayed = Atomic(false)

    init() {}

    /// Whether frames of the window are displayed instead of those in real time.
    package var isDisplayed: Bool { displayed.load(ordering: .acquiring) }

    /// Sets whether frames of the window are displayed. Returns the former value.
    func setDisplayed(_ isDisplayed: Bool) -> Bool { displayed.exchange(isDisplayed, ordering: .acquiringAndReleasing) }

    /// The capture time of the frame that the last seek displayed; nil before the first.
    public var startTime: WallTime? { progress.withLock { $0.startTime } }

    /// The capture times of the ends of the window; nil if the stream is not seekable, or if they are not known yet. In
    /// real time, the window ends with the displayed frame, and its beginning is that which the platform has announced.
    public var seekableRange: ClosedRange<WallTime>? {
        guard let rendering else { return nil }
        if let shifted = rendering.shifted, let window = shifted.window { return window }
        let end = rendering.lastFrame?.captureTime ?? MonotonicClock.wallTime()
        return rendering.media?.timeShift?.offer?.window(until: end)
    }

    /// Whether a renderer runs that can seek.
    var isSeekable: Bool { rendering?.isSeekable ?? false }

    /// Whether the window is played or is about to be.
    var isActive: Bool {
        switch state.value {
        case .seeking, .playing, .paused: true
        case .live, .ended, .failed: false
        }
    }

    private var rendering: Rendering? { progress.withLock { $0.rendering } }

    // MARK: Commands

    /// Plays after a pause. It has no effect in real time.
    public func play() { setPaused(false) }

    /// Pauses, and shows the same frame until ``play()``. If the window leaves that frame behind, the beginning of the
    /// window is shown. It has no effect in real time.
    public func pause() { setPaused(true) }

    private func setPaused(_ isPaused: Bool) {
        guard isActive, let shifted = rendering?.shifted else { return }
        progress.withLock { $0.isPaused = isPaused }
        if isPaused { shifted.pause() } else { shifted.play() }
        if state.value != .seeking { state.set(isPaused ? .paused : .playing) }
    }

    /// Returns to real time (Phenix: `stop`). The last frame of the window is shown until the first one in real time is
    /// there. A later seek begins again. It has no effect in real time.
    public func stop() {
        rendering?.endShift()
        returnToLive(.live)
    }

    /// Seeks to the target that `target` returns for the capture time of the displayed frame; nil if it is unknown.
    /// Throws an error if the renderer does not run or cannot seek.
    func seek(_ target: (WallTime?) -> PlaylistTarget) throws(PCastError) {
        guard let rendering else {
            throw PCastError(.gone, .usage, "the renderer does not run: start it before a seek")
        }
        // The state precedes the landing, which another thread reports.
        let before = state.value
        state.set(.seeking)
        do throws(PCastError) {
            try rendering.seek(to: target(rendering.shifted?.time ?? rendering.lastFrame?.captureTime))
        } catch {
            state.set(before)
            throw error
        }
    }

    // MARK: Events

    /// Sets the renderer's run; nil after its end.
    func attach(_ rendering: Rendering?) {
        progress.withLock { $0.rendering = rendering }
        if rendering == nil, isActive { returnToLive(.live) }
    }

    /// Records that a seek has displayed its frame.
    func landed(at time: WallTime?) {
        guard isActive else { return }
        let isPaused = progress.withLock { progress in
            progress.startTime = time
            return progress.isPaused
        }
        if let time { playbackHead.set(time) }
        state.set(isPaused ? .paused : .playing)
    }

    /// Records the capture time of the displayed frame.
    func moved(to time: WallTime) { if isActive { playbackHead.set(time) } }

    /// Records the end of the window's playback, and its failure if there is one.
    func finished(_ failure: String?) { returnToLive(failure.map { .failed($0) } ?? .ended) }

    private func returnToLive(_ end: State) {
        progress.withLock { $0.isPaused = false }
        playbackHead.set(nil)
        state.set(end)
    }
}

extension Rendering {
    /// Whether the stream has a window.
    var isSeekable: Bool { playback != nil || media?.timeShift != nil }

    /// The playback of the window; nil in real time.
    var shifted: (any PlaylistPlayback)? { playback ?? state.withLock { $0.shift } }

    /// Seeks in the window, whose playback begins if it does not exist. Throws an error if there is no window or if it
    /// cannot begin.
    func seek(to target: PlaylistTarget) throws(PCastError) {
        let failure: PCastError? = commands.withLock { _ in
            if let shifted {
                shifted.seek(to: target)
                return nil
            }
            guard let playlist = media?.timeShift else {
                return PCastError(
                    .badRequest, .usage,
                    "the stream is not seekable: publish with the capability streaming or on-demand, and set "
                        + "PCastOptions.streamingClient")
            }
            do {
                try beginShift(to: target, of: playlist)
                return nil
            } catch {
                return PCastError(.failed, .device, "the time shift cannot begin: \(error)")
            }
        }
        if let failure { throw failure }
    }

    /// Begins to play the window. Its first frame, or its audio, replaces the media in real time. Throws an error if no
    /// thread can be created.
    private func beginShift(to target: PlaylistTarget, of playlist: PlaylistMedia) throws {
        let number = state.withLock { state in
            state.shiftCount += 1
            return state.shiftCount
        }
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        var outputs = PlaylistOutputs(
            playsAudio: false,
            isAudioEnabled: { [weak renderer] in tracks.audio?.isEnabled == true && renderer?.isMuted == false },
            onFrame: { [weak self] frame in
                guard let self, tracks.video != nil else { return }
                leaveRealTime()
                if tracks.video?.isEnabled == true { renderer.show(frame) }
            },
            onCaption: { [caption, timeShift] in if timeShift.isDisplayed { caption.set($0) } },
            onEnd: { [weak self] failure in
                // The playback cannot be stopped by its own thread.
                Task { [weak self] in self?.finishShift(number, failure) }
            })
        outputs.audioOutput = renderer.audioOutput
        outputs.audioTap = audioTap
        outputs.onLanded = { [weak self, timeShift] time in
            self?.leaveRealTime()
            timeShift.landed(at: time)
        }
        outputs.onPosition = { [timeShift] in timeShift.moved(to: $0) }
        let shift = try playlist.client.play(playlist.uri, target, outputs)
        state.withLock { $0.shift = shift }
    }

    /// Ends the input in real time, when the first frame of the window is displayed.
    private func leaveRealTime() {
        guard !timeShift.setDisplayed(true) else { return }
        let (leave, captions) = state.withLock { state in
            defer { (state.leave, state.captions) = (nil, nil) }
            return (state.leave, state.captions)
        }
        leave?()
        captions?.cancel()
        renderer.restart()
        caption.set(nil)
    }

    /// Records that the playback of the window with a number has ended or failed. After a failure, the renderer returns
    /// to real time.
    private func finishShift(_ number: Int, _ failure: String?) {
        let isCurrent = state.withLock { $0.shift != nil && $0.shiftCount == number }
        guard failure == nil ? isCurrent : endShift(number) else { return }
        timeShift.finished(failure)
    }

    /// Ends the playback of the window, and continues in real time with the last received key frame or the next one. If
    /// `number` is given, it ends only the playback with that number. Returns whether it ended one.
    @discardableResult
    func endShift(_ number: Int? = nil) -> Bool {
        commands.withLock { _ in
            let shift = state.withLock { state -> (any PlaylistPlayback)? in
                guard number == nil || number == state.shiftCount else { return nil }
                defer { state.shift = nil }
                return state.shift
            }
            guard let shift else {
                // A stream by HLS returns to its live edge.
                if number == nil, timeShift.isActive {
                    playback?.seek(to: .end(.zero))
                    playback?.play()
                }
                return false
            }
            shift.stop()
            let isStopped = state.withLock { state in
                state.framesDropped += shift.framesDropped
                return state.isStopped
            }
            guard timeShift.setDisplayed(false), let media, !isStopped else { return true }
            renderer.restart()
            begin(media)
            media.call.requestKeyFrame()
            return true
        }
    }
}
