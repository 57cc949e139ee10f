import PCastCore

/// Measures the presentation: counters, freezes, and latency and skew from the test pattern. It reads no clock; the
/// caller passes the time.
struct RenderMeter {
    private static let second = TimeSpan.seconds(1)

    /// The range of plausible latencies. Other images pass the checksum of the time strip once in 256 times.
    private static let believable = TimeSpan.milliseconds(-50)...TimeSpan.seconds(10)

    var counts = RenderStatistics()
    private var freezes = FreezeMeter()
    private var wholeRun = LatencyHistogram()
    private var startUp = StartUpMeter()
    private var recent = RecentSpans(capacity: 256)
    private var skews = RecentSpans(capacity: 600)
    private var videoLatency: TimeSpan?
    private var lastFrame: Instant?
    private var clapper = ClapperDetector()

    /// The audio delay of encoder and decoder.
    private let audioDecoderDelay: TimeSpan

    init(audioDecoderDelay: TimeSpan) { self.audioDecoderDelay = audioDecoderDelay }

    /// Records that a frame was presented. Its timestamp is nil if it belongs to no track. The stamp is nil if it has
    /// no test pattern.
    mutating func shown(timestamp: MediaTime? = nil, stamp: TestPatternStamp?, at now: Instant, wallTime: WallTime) {
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
        videoLatency = latency
        lastFrame = now
    }

    /// Records concealed audio. `isMadeUp` tells whether it is extrapolated, and not from error correction.
    mutating func concealed(_ length: TimeSpan, isMadeUp: Bool) {
        counts.audioFramesConcealed += 1
        if isMadeUp { counts.audioConcealedDuration += length }
    }

    /// Records audio that was not played.
    mutating func silent(for length: TimeSpan) {
        counts.audioDuration += length
        counts.audioConcealedDuration += length
    }

    /// Records the placement of audio.
    mutating func laid(_ placed: AudioPlayoutLine.TimedAudio) {
        counts.audioDuration += placed.audio.length + placed.gap
        counts.audioConcealedDuration += placed.gap
    }

    /// Records audio that is played from `now` on.
    mutating func played(_ frame: AudioFrame, at now: Instant, wallTime: WallTime) {
        guard let offset = clapper.listen(to: frame), let videoLatency, let lastFrame,
            now - lastFrame < Self.second
        else { return }
        let playedAt = wallTime + offset - audioDecoderDelay
        // A clap slightly before a full second belongs to that second.
        let latency = playedAt - ClapperSchedule.second(of: playedAt + .milliseconds(50))
        skews.add(latency - videoLatency, at: now)
    }

    /// Returns counters since the start, and percentiles of the last second before `now`, or since the start if it is
    /// nil.
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
