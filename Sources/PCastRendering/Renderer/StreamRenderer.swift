import PCastCodecs
package import PCastCore
package import PCastIO

/// Decodes a stream and presents it: frames at their presentation time, audio in sync with them. Without a surface or
/// an audio output, everything is still decoded, timed and measured, and the last frame is available.
///
/// It has one thread each for decoding video and audio, one for presenting frames with lip sync, and one for the audio
/// output. `push` is called by the network thread and never blocks.
package final class StreamRenderer: Sendable {
    private let shared: SharedRendererState
    private let video: VideoPipeline
    private let audio: AudioPipeline

    /// Starts the threads. Throws `IOError` if no thread can be created or the audio output cannot be opened.
    package init(
        options: StreamRendererOptions = StreamRendererOptions(), callbacks: RendererCallbacks = RendererCallbacks()
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

    /// Adds the next frame of a track, in decoding order and without gaps after a key frame. If a frame cannot be
    /// decoded or queued, it is dropped and a key frame is requested.
    package func push(_ frame: EncodedFrame) {
        switch frame.codec.mediaType {
        case .video: video.push(frame)
        case .audio: audio.push(frame)
        }
    }

    /// Adds the next frame of an unencoded source. The oldest queued frame is dropped if necessary.
    package func push(_ frame: VideoFrame) { video.push(frame) }

    /// Adds a frame that is presented at once, because its user has its own clock.
    package func show(_ frame: VideoFrame) { video.show(frame) }

    /// Discards the media that is queued. Video is decoded again from the next key frame on, like that of a new viewer.
    package func restart() {
        video.restart()
        audio.restart()
    }

    /// The audio output, on which others may play audio while nothing is pushed here; nil without one. It is not stopped
    /// with its user.
    package var audioOutput: (any AudioOutput)? { audio.output }

    /// Adds the next audio of an unencoded source.
    package func push(_ audioFrame: AudioFrame) { audio.push(audioFrame) }

    /// Reports that audio of this duration is lost before the next packet.
    package func concealAudio(_ span: TimeSpan) { audio.conceal(span) }

    /// Whether the audio is replaced with silence.
    package var isMuted: Bool {
        get { shared.withLock { $0.isMuted } }
        set { shared.withLock { $0.isMuted = newValue } }
    }

    /// The volume as a factor of the amplitude, 0 to 1. It has no effect without an audio output.
    package var volume: Double {
        get { audio.volume }
        set { audio.volume = newValue }
    }

    /// The surface on which frames are presented; nil for none. A surface that is set later receives the last frame at
    /// once.
    package var surface: (any RenderSurface)? {
        get { shared.withLock { $0.surface } }
        set {
            let last = shared.withLock { state in
                state.surface = newValue
                return state.lastFrame
            }
            if let last { newValue?.show(last) }
        }
    }

    /// Sets the callback for each decoded frame, which can replace or drop it; nil for none. Decoding waits for it, so
    /// it must return quickly.
    package func setFrameReadyCallback(_ callback: FrameReadyCallback?) {
        shared.withLock { $0.onFrameReady = callback }
    }

    /// The statistics of the audio output; nil without one.
    package var audioOutputStatistics: AudioOutputStatistics? { audio.audioDevice }

    /// The last frame that was presented, also after `stop`; nil before the first.
    package var lastFrame: VideoFrame? { shared.withLock { $0.lastFrame } }

    /// Writes the last presented frame as PNG or JPEG, by the file extension. Returns its size; nil if no frame was
    /// presented. Throws `CodecError` for another extension or if the file cannot be written.
    package func screenshot(to path: String) throws -> Dimensions? {
        guard let frame = lastFrame else { return nil }
        try StillImage.write(frame, to: path)
        return frame.dimensions
    }

    /// Returns counters since the start and percentiles of the last second.
    package func statistics() -> RenderStatistics {
        let now = MonotonicClock.now()
        return shared.withLock { state in
            var statistics = state.meter.statistics(lastSecondBefore: now)
            statistics.playoutDelay = state.synchronizer.playoutDelay
            return statistics
        }
    }

    /// Returns counters and percentiles since the start.
    package func summary() -> RenderStatistics {
        shared.withLock { state in
            var statistics = state.meter.statistics(lastSecondBefore: nil)
            statistics.playoutDelay = state.synchronizer.playoutDelay
            return statistics
        }
    }

    // MARK: Playout

    /// The current playout delay: the time for which frames wait beyond the minimum of path and decoder; nil before the
    /// first frame.
    package var playoutDelay: TimeSpan? { shared.withLock { $0.synchronizer.playoutDelay } }

    /// The minimum and maximum playout delay that the sender requests.
    package var playoutBounds: PlayoutBounds {
        get { shared.withLock { $0.synchronizer.bounds } }
        set { shared.withLock { $0.synchronizer.bounds = newValue } }
    }

    /// The playout delay that replaces both the measured one and the sender's bounds; nil for none.
    package var playoutDelayOverride: TimeSpan? {
        get { shared.withLock { $0.synchronizer.override } }
        set { shared.withLock { $0.synchronizer.override = newValue } }
    }

    /// Synchronizes the presentation with other viewers, at a fixed time after capture.
    ///
    /// - Parameters:
    ///   - target: The time from capture to presentation; nil to leave the group.
    ///   - clockOffset: The local monotonic clock minus the SFU's wall clock; nil while unknown.
    package func synchronize(at target: TimeSpan?, clockOffset: TimeSpan?) {
        shared.withLock { state in
            guard let target else {
                state.synchronizer.shared = nil
                return
            }
            if state.synchronizer.shared?.target != target { state.synchronizer.shared = SharedPlayout(target: target) }
            state.synchronizer.shared?.clockOffset = clockOffset
        }
    }

    /// The state in the group of synchronized viewers; nil without a group.
    package var membership: SharedPlayout.Membership? { shared.withLock { $0.synchronizer.shared?.membership } }

    /// The longest time in which `finish` decodes what is queued, in addition to the playout delay.
    private static let decodingTime = TimeSpan.seconds(1)

    /// The longest playout delay for which `finish` waits.
    private static let longestPlayoutDelay = TimeSpan.seconds(10)

    /// Presents the frames and the audio that are queued at their times, waits for that, and then stops. More media is
    /// not accepted. It waits at most until `deadline`; nil for the playout delay and a second. `stop` ends it earlier.
    package func finish(by deadline: Instant? = nil) {
        let delay = min(playoutDelay ?? .zero, Self.longestPlayoutDelay)
        let deadline = deadline ?? MonotonicClock.now() + delay + Self.decodingTime
        // Both kinds of media end at the same time.
        video.close()
        audio.close()
        video.finish(by: deadline)
        audio.finish(by: deadline)
    }

    /// Stops the threads and waits for them. Queued frames and audio are discarded. It may be called repeatedly, but
    /// not from a callback.
    package func stop() {
        video.stop()
        audio.stop()
    }
}
