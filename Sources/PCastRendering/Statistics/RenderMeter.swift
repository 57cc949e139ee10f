import PCastMedia

/// Measures what is shown and heard: counts, freezes, and from the test signal latency and skew. It is told the time.
struct RenderMeter {
    private static let second = TimeSpan.seconds(1)

    /// Latencies that can be believed: a strip that only looks like one passes its checksum once in 256.
    private static let believable = TimeSpan.milliseconds(-50)...TimeSpan.seconds(10)

    var counts = RenderStatistics()
    private var freezes = FreezeMeter()
    private var wholeRun = LatencyHistogram()
    private var startUp = StartUpMeter()
    private var recent = RecentSpans(capacity: 256)
    private var skews = RecentSpans(capacity: 600)
    private var pictureLatency: TimeSpan?
    private var lastPicture: Instant?
    private var clapper = ClapperDetector()

    /// The sound that the decoder itself holds back.
    private let soundDecoderDelay: TimeSpan

    init(soundDecoderDelay: TimeSpan) { self.soundDecoderDelay = soundDecoderDelay }

    /// Takes in that a picture was shown.
    ///
    /// - Parameters:
    ///   - timestamp: its time in the track; nil where the frame is not part of one.
    ///   - stamp: what its time strip says, if it was read and has one.
    mutating func shown(timestamp: MediaTime? = nil, stamp: TestPictureStamp?, at now: Instant, wallTime: WallTime) {
        counts.framesRendered += 1
        freezes.shown(at: now)
        let latency = stamp.map { wallTime - $0.captureTime(near: wallTime) }.flatMap {
            Self.believable.contains($0) ? $0 : nil
        }
        if let timestamp { startUp.shown(timestamp: timestamp, latency: latency, at: now) }
        guard stamp != nil else {
            if let broken = counts.framesBroken { counts.framesBroken = broken + 1 }
            return
        }
        guard let latency else { return }
        counts.framesBroken = counts.framesBroken ?? 0
        wholeRun.add(latency)
        recent.add(latency, at: now)
        pictureLatency = latency
        lastPicture = now
    }

    /// Takes in that a frame of sound stands for a packet that was lost.
    ///
    /// - Parameter isMadeUp: without anything of it.
    mutating func concealed(_ length: TimeSpan, isMadeUp: Bool) {
        counts.soundsConcealed += 1
        if isMadeUp { counts.soundConcealedDuration += length }
    }

    /// Takes in that sound was not heard at all.
    mutating func silent(for length: TimeSpan) {
        counts.soundDuration += length
        counts.soundConcealedDuration += length
    }

    /// Takes in where a frame of sound was laid.
    mutating func laid(_ placed: SoundLine.Placed) {
        counts.soundDuration += placed.sound.length + placed.gap
        counts.soundConcealedDuration += placed.gap
    }

    /// Takes in that a frame of sound is played from `now` on.
    mutating func played(_ frame: AudioFrame, at now: Instant, wallTime: WallTime) {
        guard let offset = clapper.listen(to: frame), let pictureLatency, let lastPicture,
            now - lastPicture < Self.second
        else { return }
        let heard = wallTime + offset - soundDecoderDelay
        // A sound that is a little early belongs to the second that has not quite begun.
        let latency = heard - ClapperSchedule.second(of: heard + .milliseconds(50))
        skews.add(latency - pictureLatency, at: now)
    }

    /// Counts of the whole run; percentiles of the whole run, or of the last second before `now` when that is given.
    func statistics(lastSecondBefore now: Instant?) -> RenderStatistics {
        var statistics = counts
        statistics.freezeCount = freezes.freezeCount
        statistics.freezeDuration = freezes.freezeDuration
        if let now {
            statistics.latencyP50 = recent.percentile(0.5, since: now - Self.second)
            statistics.latencyP99 = recent.percentile(0.99, since: now - Self.second)
            statistics.audioVideoSkew = skews.percentile(0.5, since: now - Self.second * 2)
        } else {
            statistics.latencyP50 = wholeRun.percentile(0.5)
            statistics.latencyP99 = wholeRun.percentile(0.99)
            statistics.audioVideoSkew = skews.percentile(0.5)
            measureStartUp(&statistics)
        }
        return statistics
    }

    private func measureStartUp(_ statistics: inout RenderStatistics) {
        guard let result = startUp.result else { return }
        statistics.timeToLiveEdge = result.timeToLiveEdge
        statistics.startUpFramesRendered = result.framesRendered
        statistics.startUpLatencyMaximum = result.latencies.max()
        var steady = wholeRun
        for latency in result.latencies { steady.remove(latency) }
        statistics.steadyLatencyP50 = steady.percentile(0.5)
        statistics.steadyLatencyP99 = steady.percentile(0.99)
    }
}
