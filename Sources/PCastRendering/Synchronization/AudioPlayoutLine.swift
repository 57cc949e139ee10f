import PCastCore

/// Places pieces of audio one after the other, each as close to its presentation time as possible without a break.
///
/// If the delay changes, a period of the audio is occasionally removed or repeated. Deviations of a few milliseconds,
/// such as those between two clocks, are left to the resampling of the audio output (`AudioSchedule`). There is a gap
/// only if audio is missing when the previous piece ends.
struct AudioPlayoutLine {
    /// A piece of audio and the time at which it is played.
    struct TimedAudio {
        var audio: AudioFrame
        var start: Instant
        /// The silence before it that should have been audio.
        var gap: TimeSpan
    }

    /// The largest deviation that is not corrected by stretching.
    private static let tolerance = TimeSpan.milliseconds(5)

    /// The deviation above which the audio is stretched even if no period matches well.
    private static let urgency = TimeSpan.milliseconds(30)

    /// The deviation above which there is a break instead of many seconds of stretching.
    private static let maximumStretching = TimeSpan.milliseconds(500)

    /// The largest correction as a fraction of the audio's length (1/250), which the audio output can follow by
    /// resampling.
    private static let pace: Int64 = 250

    /// The end of the audio that was placed, and the expected timestamp of the next piece.
    private var end: Instant?
    private var next: TimeSpan?

    /// Places audio whose presentation time is `due`, and which can be played from `ready` on at the earliest.
    mutating func append(_ audio: AudioFrame, due: Instant, ready: Instant) -> TimedAudio {
        let follows = next.map { (audio.timestamp.span - $0).magnitude < Self.tolerance } ?? false
        next = audio.timestamp.span + audio.length
        guard let end, follows, (due - end).magnitude <= Self.maximumStretching else {
            return append(audio, at: max(due, ready), gap: .zero)
        }
        if end < ready { return append(audio, at: max(due, ready), gap: max(due, ready) - end) }
        let error = due - end
        let stretched =
            error > Self.tolerance
            ? TimeStretcher.lengthen(audio, by: error, isUrgent: error > Self.urgency)
            : -error > Self.tolerance ? TimeStretcher.shorten(audio, by: -error, isUrgent: -error > Self.urgency) : nil
        let step = audio.length / Self.pace
        return append(stretched ?? audio, at: max(ready, end + min(max(error / 50, -step), step)), gap: .zero)
    }

    private mutating func append(_ audio: AudioFrame, at start: Instant, gap: TimeSpan) -> TimedAudio {
        end = start + audio.length
        return TimedAudio(audio: audio, start: start, gap: gap)
    }
}
