public import PCast
internal import PCastCodecs
internal import PCastCore
internal import PCastIO
internal import PCastRendering
internal import Synchronization

/// What a player plays, as one stream that can be published: its pictures as they are shown and its sound as it is heard,
/// whatever items they are of. It is made before the player, whose pipelines give to it (``PipelineFactory/media``).
///
/// Of a stream of a platform it has the pictures alone: whoever wants its sound as well passes on that stream itself.
public final class PlaybackOutlet: Sendable {
    private struct State {
        /// What would be seen here without a graphic, where, and since when.
        var last: (picture: VideoFrame, surface: (any RenderSurface)?, moment: Instant)?
        /// What is over all pictures.
        var graphic: Graphic?
        /// Up to where sound was given out.
        var soundEnd: Instant?
    }

    private let media: ApplicationMedia
    private let began = MonotonicClock.now()
    private let state = Mutex(State())
    /// Whether another place plays it, and here it is dark. Held while anything is shown on the surface: a picture that is on
    /// its way when the screen is cleared comes before that, and none comes after it.
    private let isAway = Mutex(false)
    private let pool = VideoFramePool(capacity: 1)
    private let blender = Mutex(GraphicBlender())
    /// A picture that stands for longer is a still one, and is shown again with another graphic.
    private static let still = TimeSpan.milliseconds(100)

    /// - Parameter frameRate: pictures a second at most, as far as that is known beforehand: what encoders are told.
    public init(frameRate: Double = 30) { media = ApplicationMedia(frameRate: frameRate, channels: 2) }

    /// What is published. It goes on from item to item, and ends with the outlet.
    public var mediaStream: MediaStream { media.mediaStream }

    // MARK: What comes

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

    /// Lays a graphic over all pictures from now on, and over one that stands; nil for none.
    func lay(_ graphic: Graphic?) {
        let now = MonotonicClock.now()
        let standing = state.withLock { state in
            state.graphic = graphic
            return state.last.flatMap { now - $0.moment > Self.still ? $0 : nil }
        }
        if let standing { show(standing.picture, on: standing.surface) }
    }

    /// Without the graphic where there is no memory for it.
    private func blended(_ picture: VideoFrame, _ graphic: Graphic?) -> VideoFrame {
        guard let graphic else { return picture }
        return blender.withLock { blender in (try? blender.blend(graphic, over: picture)) ?? picture }
    }

    func hear(_ sound: AudioFrame, at due: Instant) {
        // What was given out before a seek cannot be taken back: what follows begins behind it.
        let overlap = state.withLock { state in
            let overlap = state.soundEnd.map { $0 - due } ?? .zero
            // By so much instants are rounded.
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

    // MARK: Away

    /// Shows black here for as long as another place plays it, and then what is played.
    func setAway(_ isAway: Bool) {
        self.isAway.withLock { isAwayNow in
            guard isAwayNow != isAway else { return }
            isAwayNow = isAway
            // Read behind the change: what comes meanwhile waits for the screen.
            let (last, graphic) = state.withLock { ($0.last, $0.graphic) }
            guard let last, let surface = last.surface else { return }
            surface.show(isAway ? black(like: last.picture) : blended(last.picture, graphic))
        }
    }

    private func black(like picture: VideoFrame) -> VideoFrame {
        let frame = pool.frame(
            dimensions: picture.dimensions, captureTime: nil, timestamp: picture.timestamp, color: picture.color)
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        // Limited range, as all pictures here (ITU-R BT.601-7, section 2.5.3).
        for row in 0..<height { (frame.planeY + row * frame.strideY).update(repeating: 16, count: width) }
        for plane in [frame.planeU, frame.planeV] {
            for row in 0..<(height + 1) / 2 {
                (plane + row * frame.strideUV).update(repeating: 128, count: (width + 1) / 2)
            }
        }
        return frame
    }
}
