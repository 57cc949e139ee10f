package import PCastCore

/// The data quality of a viewer as the platform sees it: a row of Phenix's table "Data Quality Status For Viewers" (see
/// `docs/DATA-QUALITY.md`).
///
/// | row | cause |
/// |---|---|
/// | NoData, None | Nothing arrives from the viewer any more, for an unknown reason. |
/// | NoData, DownloadLimited | The downlink carries nothing, or it was limited before nothing arrived any more. |
/// | NoData, PublisherLimited | Nothing arrives from the publisher. |
/// | NoData, NetworkLimited | A stream without audio was lowered for other viewers until nothing was left. |
/// | All, None | The viewer is sent everything that is available in full quality. |
/// | All, DownloadLimited | The viewer gets a lower layer, or its downlink is limited by bandwidth or loss. |
/// | All, PublisherLimited | The publisher's uplink is limited. |
/// | All, NetworkLimited | The stream has one layer, and was lowered for other viewers. |
/// | AudioOnly, None | No video is published, the publisher stopped it, or the viewer does not request it. |
/// | AudioOnly, DownloadLimited | The downlink has too little bandwidth for video. |
/// | AudioOnly, PublisherLimited | The publisher's uplink is limited, and has too little bandwidth for video. |
/// | AudioOnly, NetworkLimited | The stream was lowered for other viewers until no video was left. |
///
/// The reason is the link that removes most. If several only reduce the quality, the viewer's own link takes
/// precedence, then the publisher's, then those of other viewers.
package struct ViewerQuality: Sendable {
    /// The media that the SFU sends to this viewer according to its downlink.
    package enum Selection: Hashable, Sendable {
        /// Everything that the viewer requests.
        case full
        /// Everything, but in a lower layer than the viewer requests.
        case reduced
        /// Audio without video.
        case audioOnly
        /// Nothing.
        case nothing
    }

    /// The state of the viewer at one time, which should be observed twice per second.
    package struct Observation: Hashable, Sendable {
        /// The data quality of the publisher.
        package var publisher: DataQuality
        /// Whether the stream has video.
        package var hasVideo: Bool
        /// Whether the stream has audio.
        package var hasAudio: Bool
        /// Whether the viewer requests video.
        package var requestsVideo: Bool
        /// Whether the viewer requests audio.
        package var requestsAudio: Bool
        /// The media that are sent according to the downlink.
        package var selection: Selection
        /// The measurements of the downlink.
        package var downlink: LinkLimitation.Evidence
        /// The number of reports and other messages from the viewer since the beginning.
        package var reports: Int
        /// Whether nothing was received from the viewer for several seconds.
        package var isAway: Bool

        /// Creates an observation.
        package init(
            publisher: DataQuality, hasVideo: Bool, hasAudio: Bool, requestsVideo: Bool = true,
            requestsAudio: Bool = true,
            selection: Selection = .full, downlink: LinkLimitation.Evidence = LinkLimitation.Evidence(), reports: Int,
            isAway: Bool = false
        ) {
            self.publisher = publisher
            self.hasVideo = hasVideo
            self.hasAudio = hasAudio
            self.requestsVideo = requestsVideo
            self.requestsAudio = requestsAudio
            self.selection = selection
            self.downlink = downlink
            self.reports = reports
            self.isAway = isAway
        }
    }

    /// The time after which a viewer is silent: two seconds if it reports about every second; otherwise
    /// ``Observation/isAway`` is usually set before.
    private static let timeout = InactivityDetector.Timeouts(
        typical: .seconds(2 as Int64), rareTimeout: .seconds(20 as Int64), rareRate: 0.8)
    /// The loss from which on nothing arrives.
    private static let totalLossThreshold = 0.95

    /// The watch of the viewer's reports.
    private var reports = InactivityDetector(timeout)
    /// Whether the downlink is limited.
    private var downlink = LinkLimitation()
    /// Whether the downlink loses everything.
    private var totalLoss = SustainedCondition(onset: .seconds(1 as Int64), release: .milliseconds(500))
    /// The data quality that is reported.
    private var debounced = DebouncedQuality()
    /// The reason for the present silence of the viewer; nil if there is none.
    private var reasonForSilence: DataQuality.Reason?

    /// Creates a state with good data quality.
    package init() {}

    /// The current data quality.
    package var quality: DataQuality { debounced.reported }

    /// Whether the downlink is limited.
    package var isLimited: Bool { downlink.holds }

    /// Updates the state, and returns the data quality; nil if it has not changed.
    @discardableResult
    package mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        downlink.observe(observation.downlink, at: now)
        totalLoss.observe(observation.downlink.loss.map { $0 >= Self.totalLossThreshold }, at: now)
        reports.observe(count: observation.reports, at: now)
        // The publisher's data quality was already waited for.
        let isPublishers = [.publisherLimited, .networkLimited].contains(debounced.reported.reason)
        return debounced.observe(row(observation, at: now), isSettled: isPublishers, at: now)
    }

    /// Returns the row for the current state.
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
        let requestsAudio = observation.hasAudio && observation.requestsAudio
        let requestsVideo = observation.hasVideo && observation.requestsVideo
        guard requestsAudio || requestsVideo else { return .good }
        if totalLoss.holds || observation.selection == .nothing {
            return DataQuality(status: .noData, reason: .downloadLimited)
        }
        return offered(observation, requestsVideo: requestsVideo, requestsAudio: requestsAudio)
    }

    /// Returns the row if something is sent to the viewer.
    private func offered(_ observation: Observation, requestsVideo: Bool, requestsAudio: Bool) -> DataQuality {
        let isPublisherLimited = observation.publisher.reason == .uploadLimited
        let isLowered = observation.publisher.reason == .networkLimited
        // A stream is lowered before a limit has lasted for a second. A viewer whose own link has too little bandwidth
        // is one of those for whom it was lowered.
        let isLimited = downlink.holds || observation.selection != .full || isLowered && downlink.isShort
        let withoutVideo: DataQuality.Status = requestsAudio ? .audioOnly : .noData
        if requestsVideo, observation.publisher.status == .audioOnly {
            let reason: DataQuality.Reason =
                isPublisherLimited ? .publisherLimited : isLimited ? .downloadLimited : .networkLimited
            return DataQuality(status: withoutVideo, reason: reason)
        }
        if requestsVideo, observation.selection == .audioOnly {
            return DataQuality(status: withoutVideo, reason: .downloadLimited)
        }
        let reason: DataQuality.Reason =
            isLimited ? .downloadLimited : isPublisherLimited ? .publisherLimited : isLowered ? .networkLimited : .none
        return DataQuality(status: requestsVideo ? .all : .audioOnly, reason: reason)
    }
}
