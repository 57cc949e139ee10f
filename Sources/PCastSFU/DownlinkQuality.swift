import PCastCore
import PCastRTP
import PCastWebRTC

/// What the relay watches of its way to a viewer.
struct DownlinkQuality {
    /// First, as it is asked for with each picture.
    var repair = RetransmissionLatency()
    var machine = ViewerQuality()
    /// Control packets of the viewer's.
    var reports = 0
    private var lastReports = 0
    private var heard: Instant?
    /// Of who was not heard for so long nothing is known: its estimate is of before.
    private static let staleness = TimeSpan.milliseconds(1_200)
    private var video = ReportedLoss()
    private var audio = ReportedLoss()
    var silence = MissingFeedbackDetector()
    var lowJitter = LowJitterDetector()
    /// When the viewer was first looked at after it had its keys.
    private var watchedSince: Instant?
    /// What is lost before this time has passed says nothing of the path: media that overtake the end of the handshake are
    /// discarded, and the frames since the last key frame come in one burst.
    private static let settling = TimeSpan.milliseconds(1_500)

    /// Whether what is lost from now on is the path's.
    mutating func isSettled(at now: Instant) -> Bool {
        let since = watchedSince ?? now
        watchedSince = since
        return now - since >= Self.settling
    }

    /// Whether what the viewer reports is of this moment.
    mutating func isFresh(at now: Instant) -> Bool {
        if reports != lastReports { heard = now }
        lastReports = reports
        return heard.map { now - $0 < Self.staleness } ?? false
    }

    /// - Parameters:
    ///   - hasLayers: the stream's; then the layer that the viewer has says whether its link is limited.
    ///   - wanted: what the stream has at the moment; nil while nobody knows.
    ///   - wantedInFull: what it would have; nil where it is not lowered.
    mutating func evidence(
        _ sender: inout MediaSender, hasLayers: Bool, wanted: Bitrate?, wantedInFull: Bitrate?
    ) -> LinkLimitation.Evidence {
        video.observe(sender.video?.pointee.receiverReport, sent: Int(sender.video?.pointee.stream.packetsSent ?? 0))
        audio.observe(sender.audio?.pointee.receiverReport, sent: Int(sender.audio?.pointee.stream.packetsSent ?? 0))
        // Sound has so few packets that its share says little.
        // A path that was not found to carry less than is wanted carries that; and what arrives, it carries.
        let estimate = sender.estimate
        let target = max(estimate.target, estimate.acknowledged ?? estimate.target)
        let whole = wanted.map { max($0, wantedInFull ?? $0) }
        let carried = estimate.isLimited ? target : max(target, whole ?? target)
        return LinkLimitation.Evidence(
            estimate: hasLayers ? nil : carried, wanted: whole, loss: sender.video == nil ? audio.share : video.share)
    }
}

extension Viewer {
    /// What its link leaves of the stream, where the link was found to be narrow; a layer that it begins with is no matter
    /// of the network.
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
