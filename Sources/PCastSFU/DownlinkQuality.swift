import PCastCore
import PCastRTP
import PCastWebRTC

/// The SFU's measurements of its path to a viewer.
struct DownlinkQuality {
    /// The first member, because it is read for each frame.
    var repair = RetransmissionLatency()
    var machine = ViewerQuality()
    /// The number of control packets received from the viewer.
    var reports = 0
    private var lastReports = 0
    private var lastReport: Instant?
    /// Without control packets for this time the state of the path is unknown, because the estimate is out of date.
    private static let staleness = TimeSpan.milliseconds(1_200)
    private var video = ReportedLoss()
    private var audio = ReportedLoss()
    var silence = MissingFeedbackDetector()
    var lowJitter = LowJitterDetector()
    /// The time of the first look after the viewer had its keys.
    private var watchedSince: Instant?
    /// The time before which losses say nothing about the path. Media that arrive before the end of the handshake are
    /// discarded, and the frames since the last key frame are sent in one burst.
    private static let ignoredStart = TimeSpan.milliseconds(1_500)

    /// Whether losses from now on are losses of the path.
    mutating func isSettled(at now: Instant) -> Bool {
        let since = watchedSince ?? now
        watchedSince = since
        return now - since >= Self.ignoredStart
    }

    /// Whether the viewer's reports are recent.
    mutating func isFresh(at now: Instant) -> Bool {
        if reports != lastReports { lastReport = now }
        lastReports = reports
        return lastReport.map { now - $0 < Self.staleness } ?? false
    }

    /// Returns the measurements by which a limitation of the viewer's link is detected.
    ///
    /// - Parameters:
    ///   - sender: The sender of the viewer's media.
    ///   - hasLayers: Whether the stream has layers. If so, the layer that the viewer receives shows whether its link
    ///     is limited.
    ///   - wanted: The stream's current bit rate; nil while it is unknown.
    ///   - desiredBitrateInFull: The bit rate that the stream would have; nil unless it is lowered.
    /// - Returns: The estimated and wanted bit rates, and the loss.
    mutating func evidence(
        _ sender: inout MediaSender, hasLayers: Bool, wanted: Bitrate?, desiredBitrateInFull: Bitrate?
    ) -> LinkLimitation.Evidence {
        video.observe(sender.video?.pointee.receiverReport, sent: Int(sender.video?.pointee.stream.packetsSent ?? 0))
        audio.observe(sender.audio?.pointee.receiverReport, sent: Int(sender.audio?.pointee.stream.packetsSent ?? 0))
        // Audio counts only without video, because it has too few packets for a reliable share. A path that was not
        // found to carry less than the wanted bit rate is assumed to carry it. A path also carries what the viewer
        // acknowledged.
        let estimate = sender.estimate
        let target = max(estimate.target, estimate.acknowledged ?? estimate.target)
        let whole = wanted.map { max($0, desiredBitrateInFull ?? $0) }
        let deliverable = estimate.isLimited ? target : max(target, whole ?? target)
        return LinkLimitation.Evidence(
            estimate: hasLayers ? nil : deliverable, wanted: whole,
            loss: sender.video == nil ? audio.share : video.share)
    }
}

extension Viewer {
    /// The part of the stream that the viewer receives because its link was found to be narrow. The layer that a viewer
    /// starts with is not attributed to its network.
    var qualitySelection: ViewerQuality.Selection {
        mutating get {
            guard selection.cause == .link, sender.estimate.isLimited else { return .full }
            switch selection.choice {
            case .layer: return .reduced
            case .audioOnly: return .audioOnly
            case .nothing: return .nothing
            }
        }
    }
}

/// Whether a viewer's path has had low jitter for a while: no losses, no queue, little jitter.
///
/// Frames on such a path are best shown as they arrive. A browser does so only if the playout-delay extension asks for
/// it, and otherwise holds frames for about 40 ms. A new path counts as low-jitter, so that the first frame is not
/// held.
struct LowJitterDetector {
    static let loss = 0.004
    static let queue = TimeSpan.milliseconds(15)
    static let jitter = TimeSpan.milliseconds(10)
    private static let timeout = TimeSpan.seconds(20 as Int64)

    private var restlessUntil: Instant?

    mutating func observe(loss: Double, queue: TimeSpan, jitter: TimeSpan, at now: Instant) {
        guard loss >= Self.loss || queue >= Self.queue || jitter >= Self.jitter else { return }
        restlessUntil = now + Self.timeout
    }

    func isLowJitter(at now: Instant) -> Bool { restlessUntil.map { now >= $0 } ?? true }
}

/// Finds the packets that a viewer would have requested if its reports had not been lost.
///
/// A viewer sends little: Chromium 156 sends a report every 100 ms. A burst of losses that drops four of its packets
/// removes all requests of 400 ms, and retransmissions would come too late. Packets since then that cannot have been
/// reported are therefore retransmitted once without a request. TCP probes the tail of a flight similarly (RFC 8985,
/// section 7). This is meant for a hop that loses much and is not full.
struct MissingFeedbackDetector {
    /// The assumed interval of reports until the viewer's own interval is known, and its maximum.
    private static let maximumDefaultInterval = TimeSpan.milliseconds(300)
    private static let minimumDefaultInterval = TimeSpan.milliseconds(40)
    /// The tolerance for a late report.
    private static let grace = TimeSpan.milliseconds(20)
    /// Packets that were sent longer ago are already too late.
    private static let reach = TimeSpan.milliseconds(500)
    /// A viewer that is silent for longer is gone or disconnected.
    private static let longest = TimeSpan.seconds(1 as Int64)

    /// The time of the viewer's last report.
    private var lastReport: Instant?
    /// The maximum interval of the viewer's reports while none is lost.
    private var typical = maximumDefaultInterval
    /// The time before which all packets have been handled.
    private var repaired: Instant?

    /// Records a report of the viewer.
    mutating func observe(at now: Instant) {
        if let lastReport {
            let pause = now - lastReport
            // A much longer interval is a lost report. If such intervals continue, they become the usual ones.
            let isSilence = pause > typical * 3 / 2
            typical = isSilence ? typical * 17 / 16 : max(pause, typical * 15 / 16)
            typical = min(max(typical, Self.minimumDefaultInterval), Self.maximumDefaultInterval)
        }
        lastReport = now
    }

    /// Returns the range of times at which the packets that are to be retransmitted without a request were first sent.
    /// Returns nil if there are none, and each moment only once. The round trip is that to the viewer.
    mutating func takeUnreported(roundTrip: TimeSpan, at now: Instant) -> Range<Instant>? {
        guard let lastReport, now - lastReport < Self.longest else { return nil }
        let end = now - roundTrip - typical - Self.grace
        // A report covers packets that were sent one round trip before it arrived.
        let begin = max(lastReport - roundTrip, max(repaired ?? lastReport - roundTrip, now - Self.reach))
        guard begin < end else { return nil }
        repaired = end
        return begin..<end
    }
}

/// The time for which a viewer should hold frames, so that retransmissions arrive before the frames are shown.
///
/// A receiver adapts to late packets by itself. A browser does so only after its video has frozen, and never enough for
/// packets that are lost twice. The sender of retransmissions knows the loss and the round trip.
struct RetransmissionLatency {
    /// The loss from which the time for one request is added. At higher losses one answer in a thousand is lost too.
    private static let once = 0.008
    /// The loss from which the time for two requests is added.
    private static let twice = 0.035
    /// The time for which the value is kept after the loss, because losses recur.
    private static let memory = TimeSpan.seconds(30 as Int64)
    /// The weight of the newest value in the mean, which covers about five seconds.
    private static let weight = 0.1
    private static let samplesForFirstResult = 4
    /// With fewer values the mean may be wrong by up to `uncertainty`. For example, 2 % of a few hundred packets may appear
    /// as 5 %.
    private static let minimumSamples = 16
    private static let uncertainty = 0.03
    /// The time that the first answer may be late. A browser repeats a request every 100 ms, whatever the round-trip time
    /// is, so a packet that is lost three times arrives late. With 20 ms, two of five minutes at 2 % loss had a freeze.
    private static let firstGrace = TimeSpan.milliseconds(35)
    /// The additional time that the second answer may be late.
    private static let secondGrace = TimeSpan.milliseconds(5)

    private var mean = 0.0
    private var samples = 0
    private var requests: Int64 = 0
    private var until: Instant?

    /// Updates the mean by the loss since the last call: the share of packets lost on the hop, 0...1.
    mutating func observe(_ loss: Double, at now: Instant) {
        samples = min(samples + 1, 1_000)
        mean += (loss - mean) * max(Self.weight, 1 / Double(samples))
        guard samples >= Self.samplesForFirstResult else { return }
        let missing =
            Double(max(Self.minimumSamples - samples, 0)) / Double(Self.minimumSamples - Self.samplesForFirstResult)
        let needed: Int64 = mean >= Self.twice + Self.uncertainty * missing ? 2 : mean >= Self.once ? 1 : 0
        // A high value that was based on few values is dropped as soon as enough values contradict it.
        let isCorrected = samples == Self.minimumSamples && needed < requests
        if needed >= requests, needed > 0 {
            requests = needed
            until = now + Self.memory
        } else if let until, now >= until || isCorrected {
            requests = needed
            self.until = needed > 0 ? now + Self.memory : nil
        }
    }

    /// Whether the loss is so high that even answers to requests are lost.
    var losesAnswers: Bool { requests > 1 }

    /// Returns the time for which frames should be held, for a round trip over the hop.
    func delay(roundTrip: TimeSpan) -> TimeSpan {
        guard requests > 0 else { return .zero }
        return NACKRequester.interval(roundTrip: roundTrip) * requests + Self.firstGrace
            + Self.secondGrace * (requests - 1)
    }
}
