import PCastCore

@testable import PCastRendering

/// A viewer's playback of arrivals: the synchronizer, the audio line and the meters on virtual time.
struct PlayoutRun {
    static let wallOrigin = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)
    static let instantOrigin = Instant(nanoseconds: 7_000_000_000)

    /// The milliseconds from capture to display without the first two seconds, in order.
    private(set) var lags: [Double] = []
    private(set) var framesRendered = 0
    /// The longest time without a new frame, without the first second.
    private(set) var longestGap = 0.0
    private(set) var freezes = FreezeMeter()
    /// The share of the time in which audio was missing.
    private(set) var silence = 0.0
    /// The delay at the end of each second.
    private(set) var delays: [Double] = []
    /// The time at which each frame was shown, by its capture time.
    private(set) var shown: [Double: Double] = [:]

    init(
        _ arrivals: [PlayoutNetwork.Arrival], seconds: Double,
        synchronizer: MediaSynchronizer = MediaSynchronizer(mode: .lipSync)
    ) {
        var synchronizer = synchronizer
        var line = AudioPlayoutLine()
        var last = 0.0
        for (index, arrival) in arrivals.enumerated() {
            let now = Self.instantOrigin + TimeSpan(seconds: arrival.ready / 1_000)
            let span = TimeSpan(seconds: arrival.captured / 1_000)
            // The capture time is known after the first report.
            let captureTime = arrival.ready > 300 ? Self.wallOrigin + span : nil
            if arrival.media == .audio {
                let timestamp = MediaTime(ticks: ClockRate.opus.ticks(in: span), rate: .opus)
                let decision = synchronizer.scheduleAudio(captureTime: captureTime, timestamp: timestamp, at: now)
                guard case .present(let due) = decision else {
                    silence += 20
                    continue
                }
                let audio = AudioFrame(
                    samples: Array(repeating: 0, count: 960), channels: 1, captureTime: nil, timestamp: timestamp)
                silence += line.append(audio, due: due, ready: now).gap.milliseconds
                continue
            }
            let decision = synchronizer.scheduleFrame(
                captureTime: captureTime, timestamp: MediaTime(ticks: ClockRate.video.ticks(in: span), rate: .video),
                at: now)
            var instant = now
            switch decision {
            case .present(let due): instant = max(due, now)
            case .late:
                let isNewerThere = arrivals[(index + 1)...].prefix(4)
                    .contains { $0.media == .video && $0.ready - arrival.ready < 1 }
                if isNewerThere { continue }
            }
            let moment = max((instant - Self.instantOrigin).milliseconds, last)
            if last > 1_000 { longestGap = max(longestGap, moment - last) }
            last = moment
            freezes.shown(at: Self.instantOrigin + TimeSpan(seconds: moment / 1_000))
            framesRendered += 1
            shown[arrival.captured] = moment
            if arrival.captured > 2_000 { lags.append(moment - arrival.captured) }
            if let delay = synchronizer.playoutDelay?.milliseconds {
                let second = Int(arrival.captured / 1_000)
                if delays.count <= second { delays.append(delay) } else { delays[second] = delay }
            }
        }
        lags.sort()
        silence /= seconds * 1_000
    }

    var medianLag: Double { lags[lags.count / 2] }
}
