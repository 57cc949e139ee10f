public import PCast
internal import PCastCodecs
internal import PCastCore
internal import PCastIO
internal import PCastRendering
internal import Synchronization

/// A media stream of all that a player plays: its displayed frames and its audio, across all items. It is made before
/// the player, whose pipelines send to it (`PipelineFactory.media`).
///
/// A subscribed stream of a platform is decoded, and encoded again when it is published.
public final class PlaybackCapture: Sendable {
    private struct State {
        /// The last frame without a graphic, its surface and the time at which it has arrived; nil before the first.
        var last: (frame: VideoFrame, surface: (any RenderSurface)?, moment: Instant)?
        /// The graphic over all frames; nil for none.
        var graphic: Graphic?
    }

    private struct Audio {
        /// The end of the content's audio that was sent; nil before the first.
        var end: Instant?
        /// Mixes the audio of pages with that of the content; nil without a page that may have audio.
        var mixer: AudioMixer?
        /// The number of pages whose audio is mixed in.
        var pageCount = 0
        /// Ends the thread that sends mixed audio.
        var sleep: CancellableSleep?
    }

    private let media: ApplicationMedia
    private let began = MonotonicClock.now()
    private let state = Mutex(State())
    /// The audio. The lock is held while audio is sent, because audio must not be sent concurrently.
    private let audio = Mutex(Audio())
    /// Whether another device plays the content, so the local surface is black. The lock is held while a frame is
    /// displayed, so no frame follows the black one.
    private let isAway = Mutex(false)
    /// The last frame for the surface. It is separate from the lock that is held while a frame is displayed, because the
    /// surface may read it.
    private let displayed = Mutex<VideoFrame?>(nil)
    private let pool = VideoFramePool(capacity: 1)
    private let blender = Mutex(GraphicBlender())
    /// The time after which a frame counts as a still picture, which is displayed again with a new graphic.
    private static let still = TimeSpan.milliseconds(100)

    /// Creates an outlet. `frameRate` is the expected maximum frame rate in frames per second, which encoders use.
    public init(frameRate: Double = 30) { media = ApplicationMedia(frameRate: frameRate, channels: 2) }

    /// The media stream to publish. It continues from item to item, and ends with the outlet.
    public var mediaStream: MediaStream { media.mediaStream }

    // MARK: Media

    /// Displays and sends a frame.
    func show(_ videoFrame: VideoFrame, on surface: (any RenderSurface)?) {
        let now = MonotonicClock.now()
        let graphic = state.withLock { state in
            state.last = (videoFrame, surface, now)
            return state.graphic
        }
        send(videoFrame, graphic, on: surface, at: now)
    }

    private func send(
        _ videoFrame: VideoFrame, _ graphic: Graphic?, on surface: (any RenderSurface)?, at now: Instant
    ) {
        let videoFrame = blended(videoFrame, graphic)
        media.push(
            videoFrame.retimed(
                captureTime: MonotonicClock.wallTime(),
                timestamp: MediaTime(ticks: ClockRate.video.ticks(in: now - began), rate: .video)))
        isAway.withLock { isAway in
            if !isAway { display(videoFrame, on: surface) }
        }
    }

    /// The last frame as it was displayed: with its graphic, and black while another device plays; nil before the first.
    var displayedFrame: VideoFrame? { displayed.withLock { $0 } }

    private func display(_ frame: VideoFrame, on surface: (any RenderSurface)?) {
        displayed.withLock { $0 = frame }
        surface?.show(frame)
    }

    /// Sets the graphic over all frames from now on, and over a still picture; nil for none.
    func setGraphic(_ graphic: Graphic?) {
        let now = MonotonicClock.now()
        let lastShown = state.withLock { state in
            state.graphic = graphic
            return state.last.flatMap { now - $0.moment > Self.still ? $0 : nil }
        }
        if let lastShown { send(lastShown.frame, graphic, on: lastShown.surface, at: now) }
    }

    /// Returns a frame with a graphic, or the frame itself if there is no memory.
    private func blended(_ videoFrame: VideoFrame, _ graphic: Graphic?) -> VideoFrame {
        guard let graphic else { return videoFrame }
        return blender.withLock { blender in (try? blender.blend(graphic, over: videoFrame)) ?? videoFrame }
    }

    /// Sends audio that is due at a time.
    func play(_ frame: AudioFrame, at due: Instant) {
        audio.withLock { audio in
            // Audio that was sent before a seek cannot be withdrawn, so later audio must begin after it.
            let overlap = max(audio.end.map { $0 - due } ?? .zero, .zero)
            guard overlap < frame.length else { return }
            // Smaller overlaps are rounding errors of the times.
            let rest = overlap > .milliseconds(2) ? frame.dropping(overlap) : frame
            let start = overlap > .milliseconds(2) ? due + overlap : due
            audio.end = start + rest.length
            if audio.mixer != nil { return add(rest, of: .content, at: start, to: &audio) }
            guard media.hasSubscribers else { return }
            send(rest.samples, rest.channels, from: start)
        }
    }

    /// Sends samples whose first one is due at a time.
    private func send(_ samples: [Int16], _ channels: Int, from start: Instant) {
        media.push(
            AudioFrame(
                samples: samples, channels: channels,
                captureTime: MonotonicClock.wallTime() + (start - MonotonicClock.now()),
                timestamp: MediaTime(ticks: ClockRate.opus.ticks(in: start - began), rate: .opus)))
    }

    // MARK: Audio of pages

    /// Begins to mix the audio of a page with that of the content. Until ``endMixing()`` audio is sent in blocks of
    /// 20 ms, each at its end. Throws an error if the thread for that cannot be created.
    func beginMixing() throws(IOError) {
        let sleep = audio.withLock { audio -> CancellableSleep? in
            audio.pageCount += 1
            guard audio.pageCount == 1 else { return nil }
            let sleep = CancellableSleep()
            // Mixed audio follows the content's audio that was sent already.
            let start = max(MonotonicClock.now(), audio.end ?? began)
            (audio.mixer, audio.sleep) = (AudioMixer(from: position(of: start)), sleep)
            return sleep
        }
        guard let sleep else { return }
        do throws(IOError) {
            _ = try WorkerThread(name: "mix-audio") { [weak self] in
                // The outlet is released between the blocks, so that it can end meanwhile.
                while let due = self?.nextBlockDue(sleep), sleep.sleep(until: due) { self?.sendBlocks(sleep) }
            }
        } catch {
            endMixing()
            throw error
        }
    }

    /// Ends mixing the audio of a page. Without further pages, the mixed audio that is not due yet is sent, and that of
    /// the content follows as it is.
    func endMixing() {
        audio.withLock { audio in
            audio.pageCount -= 1
            guard audio.pageCount == 0 else { return }
            audio.sleep?.cancel()
            if let end = audio.end, media.hasSubscribers {
                while let start = audio.mixer?.start, instant(of: start) < end { sendBlock(&audio) }
                // The last block is sent whole.
                audio.end = audio.mixer.map { instant(of: $0.start) }
            }
            (audio.mixer, audio.sleep) = (nil, nil)
        }
    }

    /// Mixes in the audio of a page that is due at a time. It has no effect outside of ``beginMixing()`` and
    /// ``endMixing()``.
    func mix(_ frame: AudioFrame, at due: Instant) {
        audio.withLock { add(frame, of: .page, at: due, to: &$0) }
    }

    private func add(_ frame: AudioFrame, of input: AudioMixer.Input, at due: Instant, to audio: inout Audio) {
        guard due >= began else { return }
        audio.mixer?.add(frame, of: input, at: position(of: due))
    }

    /// The position of the sample that is due at a time.
    private func position(of due: Instant) -> Int64 { ClockRate.opus.ticks(in: due - began) }

    /// The time at which the sample at a position is due.
    private func instant(of position: Int64) -> Instant { began + ClockRate.opus.span(ofTicks: position) }

    /// Returns the time at which the next block is sent; nil if the thread of `sleep` has ended.
    private func nextBlockDue(_ sleep: CancellableSleep) -> Instant? {
        audio.withLock { audio in
            guard audio.sleep === sleep else { return nil }
            return audio.mixer.map { instant(of: $0.start + AudioMixer.block) }
        }
    }

    /// Sends the blocks whose ends have passed.
    private func sendBlocks(_ sleep: CancellableSleep) {
        let now = MonotonicClock.now()
        audio.withLock { audio in
            while audio.sleep === sleep, let start = audio.mixer?.start, instant(of: start + AudioMixer.block) <= now {
                sendBlock(&audio)
            }
        }
    }

    /// Sends the next block, if it has audio.
    private func sendBlock(_ audio: inout Audio) {
        guard let (position, samples) = audio.mixer?.take(), let samples, media.hasSubscribers else { return }
        send(samples, 2, from: instant(of: position))
    }

    // MARK: External playback

    /// Displays black while another device plays the content, and then the content again.
    func setAway(_ isAway: Bool) {
        self.isAway.withLock { isAwayNow in
            guard isAwayNow != isAway else { return }
            isAwayNow = isAway
            // The state is read after the change. A frame that arrives meanwhile waits for the lock.
            let (last, graphic) = state.withLock { ($0.last, $0.graphic) }
            guard let last, let surface = last.surface else { return }
            display(isAway ? black(like: last.frame) : blended(last.frame, graphic), on: surface)
        }
    }

    /// Returns a black frame with the size of another.
    private func black(like videoFrame: VideoFrame) -> VideoFrame {
        let frame = pool.frame(
            dimensions: videoFrame.dimensions, captureTime: nil, timestamp: videoFrame.timestamp,
            color: videoFrame.color)
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        // Limited range has black at luma 16 and chroma 128 (ITU-R BT.601-7, section 2.5.3).
        for row in 0..<height { (frame.planeY + row * frame.strideY).update(repeating: 16, count: width) }
        for plane in [frame.planeU, frame.planeV] {
            for row in 0..<(height + 1) / 2 {
                (plane + row * frame.strideUV).update(repeating: 128, count: (width + 1) / 2)
            }
        }
        return frame
    }
}

/// An audio output that passes audio to a function, such as an outlet, as well as to another output. The volume affects
/// only the other output.
final class CapturedAudioOutput: AudioOutput {
    private let tap: @Sendable (AudioFrame, Instant) -> Void
    private let other: any AudioOutput

    /// Creates an output that passes audio to a function and to another output.
    init(beside other: any AudioOutput, _ tap: @escaping @Sendable (AudioFrame, Instant) -> Void) {
        (self.tap, self.other) = (tap, other)
    }

    var lead: TimeSpan { other.lead }

    var volume: Double {
        get { other.volume }
        set { other.volume = newValue }
    }

    /// Presents audio at both.
    func present(_ frame: AudioFrame, at due: Instant) {
        tap(frame, due)
        other.present(frame, at: due)
    }

    /// Discards the audio that the other output has not played yet.
    func discardPending() { other.discardPending() }

    /// Stops the other output.
    func stop() { other.stop() }
}
