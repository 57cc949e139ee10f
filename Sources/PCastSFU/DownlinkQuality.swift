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
