import PCastCodecs
public import PCastIO
public import PCastMedia

/// Decodes a stream and presents it: pictures when they are due, sound in step with them. Without a surface or a
/// loudspeaker the devices are null: everything is decoded, timed and measured, and the last picture can be kept.
///
/// It owns a thread that decodes pictures, one that decodes sound, in lip sync one that shows pictures when due, and with a
/// loudspeaker one that plays sound when due.
/// `push` is called by the network's thread and never blocks.
public final class StreamRenderer: Sendable {
    private let shared: SharedRendererState
    private let video: VideoPipeline
    private let audio: AudioPipeline

    /// Throws when no thread can be had, or the loudspeaker cannot be opened.
    public init(
        options: RendererOptions = RendererOptions(), callbacks: RendererCallbacks = RendererCallbacks()
    ) throws(IOError) {
        shared = SharedRendererState(options)
        video = try VideoPipeline(shared: shared, callbacks: callbacks, options: options)
        do throws(IOError) {
            audio = try AudioPipeline(shared: shared, callbacks: callbacks, options: options)
        } catch {
            video.stop()
            throw error
        }
    }

    deinit { stop() }

    /// Takes the next frame of a track, in decoding order and without holes after a key frame. A picture that cannot
    /// be decoded, or for which there is no room, is dropped and a key frame asked for.
    public func push(_ frame: EncodedFrame) {
        switch frame.codec.mediaType {
        case .video: video.push(frame)
        case .audio: audio.push(frame)
        }
    }

    /// Takes the next picture of a source that is not coded; the oldest that waits makes room for it.
    public func push(_ picture: VideoFrame) { video.push(picture) }

    /// Takes the next sound of a source that is not coded.
    public func push(_ sound: AudioFrame) { audio.push(sound) }

    /// Says that sound of this length is missing before the next packet of sound, and will not come.
    public func concealAudio(_ span: TimeSpan) { audio.conceal(span) }

    /// Whether the sound that is handed on is silent.
    public var isMuted: Bool {
        get { shared.withLock { $0.isMuted } }
        set { shared.withLock { $0.isMuted = newValue } }
    }

    /// How loud the loudspeaker is, 0 to 1 of the samples' height; of no effect without one.
    public var volume: Double {
        get { audio.volume }
        set { audio.volume = newValue }
    }

    /// Where pictures are shown; nil for nowhere. A surface that is set while this runs is shown the last picture at once.
    public var surface: (any RenderSurface)? {
        get { shared.withLock { $0.surface } }
        set {
            let last = shared.withLock { state in
                state.surface = newValue
                return state.lastFrame
            }
            if let last { newValue?.show(last) }
        }
    }

    /// Is told of each decoded picture, which it may replace or leave out; nil for nobody. It must be quick: decoding
    /// waits for it.
    public func setFrameReadyCallback(_ callback: FrameReadyCallback?) {
        shared.withLock { $0.onFrameReady = callback }
    }

    /// What the loudspeaker has done; nil without one.
    public var loudspeakerStatistics: LoudspeakerStatistics? { audio.loudspeaker }

    /// The picture that was shown last; also after `stop`.
    public var lastFrame: VideoFrame? { shared.withLock { $0.lastFrame } }

    /// Writes the picture that was shown last as PNG or JPEG, by the path's extension.
    ///
    /// - Returns: its dimensions; nil when none has been shown.
    /// - Throws: when the file cannot be written, or its extension names neither.
    public func screenshot(to path: String) throws -> Dimensions? {
        guard let frame = lastFrame else { return nil }
        try StillImage.write(frame, to: path)
        return frame.dimensions
    }

    /// Counts since the beginning; percentiles of the last second.
    public func statistics() -> RenderStatistics {
        let now = MonotonicClock.now()
        return shared.withLock { state in
            var statistics = state.meter.statistics(lastSecondBefore: now)
            statistics.playoutDelay = state.synchronizer.playoutDelay
            return statistics
        }
    }

    /// Counts and percentiles of the whole run.
    public func summary() -> RenderStatistics {
        shared.withLock { state in
            var statistics = state.meter.statistics(lastSecondBefore: nil)
            statistics.playoutDelay = state.synchronizer.playoutDelay
            return statistics
        }
    }

    // MARK: Playout

    /// How long frames wait at this moment beyond what path and decoder take at least; nil before the first.
    public var playoutDelay: TimeSpan? { shared.withLock { $0.synchronizer.playoutDelay } }

    /// How long they wait at least and at most, as the sender asks.
    public var playoutBounds: PlayoutBounds {
        get { shared.withLock { $0.synchronizer.bounds } }
        set { shared.withLock { $0.synchronizer.bounds = newValue } }
    }

    /// How long they wait instead, whatever the path and the sender say; nil leaves it to them.
    public var playoutDelayOverride: TimeSpan? {
        get { shared.withLock { $0.synchronizer.override } }
        set { shared.withLock { $0.synchronizer.override = newValue } }
    }

    /// Shows the same as others at the same time: this long after capture.
    ///
    /// - Parameters:
    ///   - target: nil leaves the group.
    ///   - clockOffset: our monotonic clock less the relay's wall clock; nil while unknown.
    public func synchronize(at target: TimeSpan?, clockOffset: TimeSpan?) {
        shared.withLock { state in
            guard let target else {
                state.synchronizer.shared = nil
                return
            }
            if state.synchronizer.shared?.target != target { state.synchronizer.shared = SharedPlayout(target: target) }
            state.synchronizer.shared?.clockOffset = clockOffset
        }
    }

    /// Where this stands to those who show the same at the same time; nil where nobody asked for it.
    public var membership: SharedPlayout.Membership? { shared.withLock { $0.synchronizer.shared?.membership } }

    /// Ends the threads and waits for them. Pictures and sound that wait are not shown. Harmless when called again; not
    /// from a callback.
    public func stop() {
        video.stop()
        audio.stop()
    }
}
