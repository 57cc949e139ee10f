internal import PCastCore

/// The state that all renditions of a packager share: the clock, the frozen durations and the discontinuities.
struct PackagerClock {
    let configuration: PackagerConfiguration
    let hasVideo: Bool
    /// The capture time of media time zero; nil before the first access unit.
    private(set) var origin: WallTime?
    /// The media time at which the first rendition began, in nanoseconds; nil before.
    var start: Int64?
    /// The target duration; nil until it is frozen.
    var targetDuration: TimeSpan?
    /// The value of `PART-HOLD-BACK`; nil until the first part.
    var partHoldBack: TimeSpan?
    /// The number of discontinuities so far.
    private(set) var discontinuities: Int64 = 0
    /// The media time of the latest discontinuity in nanoseconds.
    private(set) var discontinuityTime: Int64 = 0
    /// The sum of all backward steps of the capture clock, which media times do not follow.
    private var offset: Int64 = 0
    /// The events that were not taken yet.
    var updates = PackagerUpdates()

    /// Renditions may begin up to this much before the first access unit.
    private static let lead = TimeSpan.seconds(10 as Int64)
    /// The maximum distance of a capture time from the first one, in nanoseconds: ten years.
    private static let maximumDistance: Int64 = 315_360_000_000_000_000

    /// The maximum media time in nanoseconds, which backward steps of the capture clock cannot exceed.
    private static let maximumTime: Int64 = 1_000_000_000_000_000_000

    init(_ configuration: PackagerConfiguration, hasVideo: Bool) {
        self.configuration = configuration
        self.hasVideo = hasVideo
        if configuration.answersKeyFrameRequests || !hasVideo { targetDuration = configuration.targetDuration }
    }

    /// Returns the media time of a capture time in nanoseconds; nil if it is more than ten years from the first one or
    /// before media time zero.
    mutating func mediaTime(of captureTime: WallTime) -> Int64? {
        if origin == nil, captureTime.nanosecondsSinceEpoch > 0 { origin = captureTime - Self.lead }
        guard let origin else { return nil }
        let (distance, overflows) = captureTime.nanosecondsSinceEpoch.subtractingReportingOverflow(
            origin.nanosecondsSinceEpoch)
        guard !overflows, distance.magnitude < Self.maximumDistance else { return nil }
        let time = distance + offset
        return time < Self.maximumTime ? time : nil
    }

    /// Compensates for a capture clock that was set back, so that media times do not decrease.
    mutating func compensate(_ step: Int64) { offset += step }

    /// Adds a discontinuity, which every rendition begins at its next opportunity.
    mutating func addDiscontinuity(at time: Int64) {
        discontinuities += 1
        discontinuityTime = time
    }

    /// Returns whether a media time in nanoseconds is so near to the latest discontinuity that it belongs to it. When a
    /// publisher reconnects, the capture clock may be corrected several times until all tracks have begun.
    func isAtDiscontinuity(_ time: Int64) -> Bool {
        discontinuities > 0 && abs(time - discontinuityTime) < configuration.segmentDuration.nanoseconds
    }

    /// Raises `PART-HOLD-BACK` to three and a half parts, which is the least for 200 ms parts of most frame rates.
    mutating func raisePartHoldBack(to partTarget: TimeSpan) {
        partHoldBack = max(partHoldBack ?? configuration.partDuration * 7 / 2, partTarget * 3)
    }

    /// Records that the playlist of a rendition changed.
    mutating func changed(_ rendition: RenditionDescription) { updates.changed.insert(rendition.name) }

    /// Records that a rendition needs a key frame.
    mutating func needsKeyFrame(of rendition: RenditionDescription) {
        if rendition.isVideo { updates.needsKeyFrame.insert(rendition.name) }
    }

    /// Returns the wall-clock time of a media time in nanoseconds.
    func wallTime(at time: Int64) -> WallTime { (origin ?? WallTime(nanosecondsSinceEpoch: 0)) + .nanoseconds(time) }
}

/// Converts the timestamps of a track to media times, which run on the capture clock.
///
/// Media times advance like the timestamps, so that frames have exact durations. They follow the drift between the two
/// clocks by at most 1,000 ppm, ten times the drift of a usual audio clock.
struct CaptureTimeline {
    /// A conversion.
    enum Conversion {
        /// The media time in ticks continues the track.
        case continues(Int64)
        /// The clocks diverged, or this is the first one: the media time begins a new sequence of timestamps.
        case jumps(Int64)
        /// The capture time cannot be used.
        case unusable
    }

    private let rate: ClockRate
    /// The timestamp and the media time of the newest frame; nil before the first.
    private(set) var last: (timestamp: Int64, time: Int64)?

    /// The difference of the clocks from which on they are considered unrelated.
    private static let maximumDrift: Int64 = 500_000_000
    /// The largest step between the timestamps of frames that follow each other, in nanoseconds.
    private static let usualStep: Int64 = 2_000_000_000
    /// The largest step of a timestamp in ticks.
    private static let maximumStep: Int64 = 1 << 40

    init(rate: ClockRate) { self.rate = rate }

    /// Forgets the track's timestamps, which begin again.
    mutating func restart() { last = nil }

    /// Converts a timestamp.
    ///
    /// - Parameters:
    ///   - unit: The access unit.
    ///   - end: The media time in ticks before which no other frame may begin.
    ///   - clock: The clock of the packager.
    /// - Returns: The media time in ticks.
    mutating func convert(_ unit: AccessUnit, notBefore end: Int64, _ clock: inout PackagerClock) -> Conversion {
        guard let captured = clock.mediaTime(of: unit.captureTime) else { return .unusable }
        let expected = rate.ticks(in: .nanoseconds(captured))
        if let last {
            let (step, overflows) = unit.timestamp.subtractingReportingOverflow(last.timestamp)
            if !overflows, step.magnitude < Self.maximumStep {
                let time = last.time + step
                let drift = expected - time
                if rate.span(ofTicks: drift).magnitude.nanoseconds <= Self.maximumDrift {
                    let limit = max(0, step) / 1_000
                    let followed = time + min(max(drift, -limit), limit)
                    if step > 0 { self.last = (unit.timestamp, followed) }
                    return .continues(followed)
                }
                // The capture clock was set back, such as that of an encoder whose first frames were late. Frames with usual
                // timestamps keep their distances, so that B-frames keep their order.
                if drift < 0, rate.span(ofTicks: step).magnitude.nanoseconds <= Self.usualStep {
                    clock.compensate(rate.span(ofTicks: -drift).nanoseconds)
                    if step > 0 { self.last = (unit.timestamp, time) }
                    return .jumps(time)
                }
            }
        }
        // A clock that is set back by more than the lead continues after the frames before.
        guard expected >= 0 || end > 0 else { return .unusable }
        var time = expected
        if time < end {
            clock.compensate(rate.span(ofTicks: end - time).nanoseconds)
            time = end
        }
        last = (unit.timestamp, time)
        return .jumps(time)
    }
}
