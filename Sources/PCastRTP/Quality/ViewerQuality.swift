public import PCastMedia

/// The data quality of one viewer's end, as the platform sees it: one row of the seed's table for viewers at any moment
/// (seed 004, "Data Quality Status For Viewers").
///
/// | row | what causes it |
/// |---|---|
/// | NoData, None | nothing is heard of the viewer any more, and no cause is known |
/// | NoData, DownloadLimited | the downlink has no room for anything or loses everything; or it was limited before the viewer went silent |
/// | NoData, PublisherLimited | nothing arrives of the publisher |
/// | NoData, NetworkLimited | a stream without sound was lowered for other viewers' sake until nothing was left |
/// | All, None | the viewer is sent everything there is, in full |
/// | All, DownloadLimited | it gets a lower layer, or its downlink's estimate or loss shows a limit |
/// | All, PublisherLimited | the publisher's uplink is limited |
/// | All, NetworkLimited | the stream has one layer and was lowered for other viewers' sake |
/// | AudioOnly, None | there is no picture: none was published, the publisher keeps it back, or the viewer wants none |
/// | AudioOnly, DownloadLimited | the downlink has no room for a picture |
/// | AudioOnly, PublisherLimited | the publisher's uplink is limited, and has no room for a picture |
/// | AudioOnly, NetworkLimited | the stream was lowered for other viewers' sake, and no picture is left |
///
/// The reason is that of the hop that takes most away. Where several take nothing away but quality, it is the viewer's own,
/// then the publisher's, then the others'.
public struct ViewerQuality: Sendable {
    /// What the relay's choice for this viewer lets through.
    public enum Selection: Hashable, Sendable {
        /// All that the viewer wants.
        case full
        /// All of it, in a lower layer than the viewer wants.
        case reduced
        case audioOnly
        case nothing
    }

    /// What is seen at one moment; a look each half second is meant.
    public struct Observation: Hashable, Sendable {
        /// The publisher's row, and what there is to be had of the stream.
        public var publisher: DataQuality
        public var hasVideo: Bool
        public var hasAudio: Bool
        /// What of it the viewer wants at all.
        public var takesVideo: Bool
        public var takesAudio: Bool
        /// What the downlink leaves of it.
        public var selection: Selection
        public var downlink: HopLimit.Evidence
        /// Reports and other signs of life of the viewer since the beginning.
        public var reports: Int
        /// Nothing at all was heard of the viewer for seconds.
        public var isAway: Bool

        public init(
            publisher: DataQuality, hasVideo: Bool, hasAudio: Bool, takesVideo: Bool = true, takesAudio: Bool = true,
            selection: Selection = .full, downlink: HopLimit.Evidence = HopLimit.Evidence(), reports: Int,
            isAway: Bool = false
        ) {
            self.publisher = publisher
            self.hasVideo = hasVideo
            self.hasAudio = hasAudio
            self.takesVideo = takesVideo
            self.takesAudio = takesAudio
            self.selection = selection
            self.downlink = downlink
            self.reports = reports
            self.isAway = isAway
        }
    }

    /// Who reports each second or more often is silent after two; others are when they are away.
    private static let patience = ArrivalWatch.Patience(
        usual: .seconds(2 as Int64), seldom: .seconds(20 as Int64), seldomRate: 0.8)
    /// So much is lost that nothing can be said to arrive.
    private static let everything = 0.95

    private var reports = ArrivalWatch(patience)
    private var downlink = HopLimit()
    private var losesEverything = SustainedCondition(onset: .seconds(1 as Int64), release: .milliseconds(500))
    private var settled = SettledQuality()
    private var reasonForSilence: DataQuality.Reason?

    public init() {}

    /// The row that holds.
    public var quality: DataQuality { settled.told }

    /// Whether the downlink is limited.
    public var isLimited: Bool { downlink.holds }

    /// - Returns: the row that holds from now on, where it is another than before.
    @discardableResult
    public mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        downlink.observe(observation.downlink, at: now)
        losesEverything.observe(observation.downlink.loss.map { $0 >= Self.everything }, at: now)
        reports.observe(count: observation.reports, at: now)
        // The publisher's row was waited for at its own end.
        let isPublishers = [.publisherLimited, .networkLimited].contains(settled.told.reason)
        return settled.observe(row(observation, at: now), isSettled: isPublishers, at: now)
    }

    private mutating func row(_ observation: Observation, at now: Instant) -> DataQuality {
        if observation.publisher.status == .noData {
            return DataQuality(status: .noData, reason: .publisherLimited)
        }
        if observation.isAway || reports.isSilent(at: now) {
            let reason = reasonForSilence ?? (downlink.holds ? .downloadLimited : .none)
            reasonForSilence = reason
            return DataQuality(status: .noData, reason: reason)
        }
        reasonForSilence = nil
        let takesAudio = observation.hasAudio && observation.takesAudio
        let takesVideo = observation.hasVideo && observation.takesVideo
        guard takesAudio || takesVideo else { return .good }
        if losesEverything.holds || observation.selection == .nothing {
            return DataQuality(status: .noData, reason: .downloadLimited)
        }
        return offered(observation, takesVideo: takesVideo, takesAudio: takesAudio)
    }

    /// Something gets through: what, and what holds the rest back.
    private func offered(_ observation: Observation, takesVideo: Bool, takesAudio: Bool) -> DataQuality {
        let isPublisherLimited = observation.publisher.reason == .uploadLimited
        let isLowered = observation.publisher.reason == .networkLimited
        // A stream is lowered before a limit has held for its second. Whose link has no room for all of it is not told of
        // others: it was lowered for this viewer's sake.
        let isLimited = downlink.holds || observation.selection != .full || isLowered && downlink.isShort
        let withoutPicture: DataQuality.Status = takesAudio ? .audioOnly : .noData
        if takesVideo, observation.publisher.status == .audioOnly {
            let reason: DataQuality.Reason =
                isPublisherLimited ? .publisherLimited : isLimited ? .downloadLimited : .networkLimited
            return DataQuality(status: withoutPicture, reason: reason)
        }
        if takesVideo, observation.selection == .audioOnly {
            return DataQuality(status: withoutPicture, reason: .downloadLimited)
        }
        let reason: DataQuality.Reason =
            isLimited ? .downloadLimited : isPublisherLimited ? .publisherLimited : isLowered ? .networkLimited : .none
        return DataQuality(status: takesVideo ? .all : .audioOnly, reason: reason)
    }
}
