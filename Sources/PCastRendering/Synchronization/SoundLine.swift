import PCastMedia

/// Lays frames of sound one behind the other, each as near to the instant at which it is due as can be without a break.
///
/// Where the delay that sound is held for changes, a period of it is left out or repeated now and then; what is a few
/// milliseconds off, as between two clocks, is left to the loudspeaker's resampling (`DueSound`). Only what is not there when
/// the sound before it ends makes a gap.
struct SoundLine {
    /// A frame and the instant from which it is heard.
    struct Placed {
        var sound: AudioFrame
        var start: Instant
        /// How long nothing was heard before it that should have been.
        var gap: TimeSpan
    }

    /// So far off nothing is stretched.
    private static let tolerance = TimeSpan.milliseconds(5)

    /// So far off it is stretched wherever it fits best.
    private static let urgency = TimeSpan.milliseconds(30)

    /// Beyond this there is a break, rather than many seconds of stretching.
    private static let longestStretching = TimeSpan.milliseconds(500)

    /// Of a frame's length, by which the line moves to its instants: what a loudspeaker follows by resampling.
    private static let pace: Int64 = 250

    /// When what was laid is over, and which time of the track comes next.
    private var end: Instant?
    private var next: TimeSpan?

    /// - Parameters:
    ///   - due: when it is to be heard.
    ///   - ready: when it can be heard at the earliest.
    mutating func lay(_ sound: AudioFrame, due: Instant, ready: Instant) -> Placed {
        let follows = next.map { (sound.timestamp.span - $0).magnitude < Self.tolerance } ?? false
        next = sound.timestamp.span + sound.length
        guard let end, follows, (due - end).magnitude <= Self.longestStretching else {
            return place(sound, at: max(due, ready), gap: .zero)
        }
        if end < ready { return place(sound, at: max(due, ready), gap: max(due, ready) - end) }
        let error = due - end
        let stretched =
            error > Self.tolerance
            ? SoundStretch.lengthen(sound, by: error, isUrgent: error > Self.urgency)
            : -error > Self.tolerance ? SoundStretch.shorten(sound, by: -error, isUrgent: -error > Self.urgency) : nil
        let step = sound.length / Self.pace
        return place(stretched ?? sound, at: max(ready, end + min(max(error / 50, -step), step)), gap: .zero)
    }

    private mutating func place(_ sound: AudioFrame, at start: Instant, gap: TimeSpan) -> Placed {
        end = start + sound.length
        return Placed(sound: sound, start: start, gap: gap)
    }
}
