public import PCast
internal import PCastCodecs
internal import PCastCore
internal import PCastIO
internal import PCastRendering
internal import Synchronization

/// A media stream of all that a player plays: its displayed frames and its audio, across all items. It is made before
/// the player, whose pipelines send to it (`PipelineFactory.media`).
///
/// For a subscribed stream of a platform, the outlet has only the video. To publish its audio too, publish that stream
/// itself.
public final class PlaybackOutlet: Sendable {
    private struct State {
        /// The last frame without a graphic, its surface and its time; nil before the first.
        var last: (picture: VideoFrame, surface: (any RenderSurface)?, moment: Instant)?
        /// The graphic over all frames; nil for none.
        var graphic: Graphic?
        /// The end of the audio that was sent; nil before the first.
        var soundEnd: Instant?
    }

    private let media: ApplicationMedia
    private let began = MonotonicClock.now()
    private let state = Mutex(State())
    /// Whether another device plays the content, so the local surface is black. The lock is held while a frame is
    /// displayed, so no frame follows the black one.
    private let isAway = Mutex(false)
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
    func show(_ picture: VideoFrame, on surface: (any RenderSurface)?) {
        let now = MonotonicClock.now()
        let graphic = state.withLock { state in
            state.last = (picture, surface, now)
            return state.graphic
        }
        let picture = blended(picture, graphic)
        media.push(
            picture.retimed(
                captureTime: MonotonicClock.wallTime(),
                timestamp: MediaTime(ticks: ClockRate.video.ticks(in: now - began), rate: .video)))
        isAway.withLock { isAway in
            if !isAway { surface?.show(picture) }
        }
    }

    /// Sets the graphic over all frames from now on, and over a still picture; nil for none.
    func lay(_ graphic: Graphic?) {
        let now = MonotonicClock.now()
        let standing = state.withLock { state in
            state.graphic = graphic
            return state.last.flatMap { now - $0.moment > Self.still ? $0 : nil }
        }
        if let standing { show(standing.picture, on: standing.surface) }
    }

    /// Returns a frame with a graphic, or the frame itself if there is no memory.
    private func blended(_ picture: VideoFrame, _ graphic: Graphic?) -> VideoFrame {
        guard let graphic else { return picture }
        return blender.withLock { blender in (try? blender.blend(graphic, over: picture)) ?? picture }
    }

    /// Sends audio that is due at a time.
    func hear(_ sound: AudioFrame, at due: Instant) {
        // Audio that was sent before a seek cannot be withdrawn, so later audio must begin after it.
        let overlap = state.withLock { state in
            let overlap = state.soundEnd.map { $0 - due } ?? .zero
            // Smaller overlaps are rounding errors of the times.
            guard overlap > .milliseconds(2) else {
                state.soundEnd = due + sound.length
                return TimeSpan.zero
            }
            return overlap
        }
        guard overlap < sound.length, media.isTaken else { return }
        var rest = overlap > .zero ? sound.dropping(overlap) : sound
        let start = due + overlap
        if overlap > .zero { state.withLock { $0.soundEnd = start + rest.length } }
        rest.timestamp = MediaTime(ticks: ClockRate.opus.ticks(in: start - began), rate: .opus)
        rest.captureTime = MonotonicClock.wallTime() + (start - MonotonicClock.now())
        media.push(rest)
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
            surface.show(isAway ? black(like: last.picture) : blended(last.picture, graphic))
        }
    }

    /// Returns a black frame with the size of another.
    private func black(like picture: VideoFrame) -> VideoFrame {
        let frame = pool.frame(
            dimensions: picture.dimensions, captureTime: nil, timestamp: picture.timestamp, color: picture.color)
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
