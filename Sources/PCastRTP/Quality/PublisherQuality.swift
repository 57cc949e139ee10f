package import PCastCore

/// The data quality of a publisher as the platform sees it: a row of Phenix's table "Data Quality Status For
/// Publishers" (see `docs/DATA-QUALITY.md`).
///
/// | row | cause |
/// |---|---|
/// | NoData, None | No expected media arrive, for an unknown reason. |
/// | NoData, UploadLimited | Nothing arrives, and before that the uplink was limited by available bandwidth or loss. |
/// | All, None | Everything that is published arrives in full quality. |
/// | All, UploadLimited | The uplink has too little bandwidth for what the publisher wants to send, or loses much. |
/// | All, NetworkLimited | The stream has one layer, and was lowered because half of its viewers or more are limited. |
/// | AudioOnly, UploadLimited | Audio arrives without video over a limited uplink. |
/// | AudioOnly, NetworkLimited | Viewers lack bandwidth for video, or the stream was lowered until none was left. |
///
/// Deliberate actions of the publisher, such as muting a track or stopping the camera, do not affect the data quality.
/// It is All with reason None, and ``hasVideo`` states whether video is available. The same applies before the first
/// media arrives.
///
/// Media is silent if none arrives for a second, or for four seconds if fewer than five packets per second arrive. If
/// nothing shows a limit, video alone is silent after two seconds, or after three before the first frame.
/// ``LinkLimitation`` contains the thresholds of the limits, and ``DebouncedQuality`` the time before an improvement is
/// reported.
package struct PublisherQuality: Sendable {
    /// A track from the publisher.
    package struct Track: Hashable, Sendable {
        /// The number of packets that arrived since the beginning.
        package var packets: Int
        /// Whether the publisher sends nothing deliberately.
        package var isWithheld: Bool
        /// Whether the publisher was asked to pause the track, because no viewer needs it at present.
        package var isPaused: Bool

        /// Creates the state of a track.
        package init(packets: Int, isWithheld: Bool = false, isPaused: Bool = false) {
            self.packets = packets
            self.isWithheld = isWithheld
            self.isPaused = isPaused
        }

        /// Whether packets should arrive.
        var isExpected: Bool { !isWithheld && !isPaused }
    }

    /// The state of the publisher at one time, which should be observed twice per second.
    package struct Observation: Hashable, Sendable {
        /// The video track; nil if the stream has none.
        package var video: Track?
        /// The audio track; nil if the stream has none.
        package var audio: Track?
        /// The measurements of the uplink.
        package var uplink: LinkLimitation.Evidence
        /// Whether the publisher reports that its available bandwidth is too small for video.
        package var isVideoCut: Bool
        /// Whether nothing was received from the publisher for several seconds.
        package var isAway: Bool
        /// Whether the publisher was asked for a lower bit rate because of its viewers' links; see ``SharedLimit``.
        package var isLowered: Bool
        /// Whether viewers request video, but none of their links has enough bandwidth for it.
        package var isVideoDropped: Bool

        /// Creates an observation.
        package init(
            video: Track?, audio: Track?, uplink: LinkLimitation.Evidence = LinkLimitation.Evidence(),
            isVideoCut: Bool = false,
            isAway: Bool = false, isLowered: Bool = false, isVideoDropped: Bool = false
        ) {
            self.video = video
            self.audio = audio
            self.uplink = uplink
            self.isVideoCut = isVideoCut
            self.isAway = isAway
            self.isLowered = isLowered
            self.isVideoDropped = isVideoDropped
        }
    }

    /// The time after which a track is silent.
    private static let timeout = InactivityDetector.Timeouts(
        typical: .seconds(1 as Int64), rareTimeout: .seconds(4 as Int64), rareRate: 5)
    /// The time after which video beside audio is silent if nothing shows a limit.
    private static let videoTimeouts = InactivityDetector.Timeouts(
        typical: .seconds(2 as Int64), rareTimeout: .seconds(6 as Int64), rareRate: 5)

    /// The maximum delay between the first audio and the first video.
    private static let firstFrameTimeout = TimeSpan.seconds(3 as Int64)

    /// The watch of the video.
    private var video = InactivityDetector(timeout)
    /// The watch of the video with more timeout.
    private var videoDetector = InactivityDetector(videoTimeouts)
    /// The watch of the audio.
    private var audio = InactivityDetector(timeout)
    /// The time at which video is no longer expected to begin; nil before the first audio.
    private var firstFrameDue: Instant?
    /// Whether the uplink is limited.
    private var uplink = LinkLimitation()
    /// The data quality that is reported.
    private var debounced = DebouncedQuality()
    /// The reason for the present NoData, as it was at its beginning; nil if there is data.
    private var reasonForSilence: DataQuality.Reason?

    /// Whether video is available, apart from limits of the network.
    package private(set) var hasVideo = false
    /// Whether audio is available, apart from limits of the network.
    package private(set) var hasAudio = false

    /// Creates a state with good data quality.
    package init() {}

    /// The current data quality.
    package var quality: DataQuality { debounced.reported }

    /// Updates the state, and returns the data quality; nil if it has not changed.
    @discardableResult
    package mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        uplink.observe(observation.uplink, at: now)
        Self.observe(observation.video, by: &video, at: now)
        Self.observe(observation.video, by: &videoDetector, at: now)
        Self.observe(observation.audio, by: &audio, at: now)
        updateAvailability(observation, at: now)
        return debounced.observe(row(observation, at: now), at: now)
    }

    /// Updates the watch of a track.
    private static func observe(_ track: Track?, by watch: inout InactivityDetector, at now: Instant) {
        watch.observe(count: track?.packets ?? 0, at: now)
        if track?.isExpected != true { watch.restart(at: now) }
    }

    /// Updates which media are available.
    private mutating func updateAvailability(_ observation: Observation, at now: Instant) {
        hasAudio = audio.hasBegun && observation.audio?.isWithheld == false
        guard let track = observation.video, !track.isWithheld else { return hasVideo = false }
        if audio.hasBegun, firstFrameDue == nil { firstFrameDue = now + Self.firstFrameTimeout }
        let isToCome = firstFrameDue.map { now < $0 } ?? false
        hasVideo = video.hasBegun ? !videoDetector.isSilent(at: now) : isToCome || observation.isVideoCut
    }

    /// Returns the row for the current state.
    private mutating func row(_ observation: Observation, at now: Instant) -> DataQuality {
        // A reduction for the viewers is not a limit of the uplink.
        let isLowered = observation.isLowered || observation.isVideoDropped
        let isLimited = uplink.holds || (observation.isVideoCut && !isLowered)
        let expectsVideo =
            observation.video?.isExpected == true && (video.hasBegun || observation.isVideoCut && audio.hasBegun)
        let expectsAudio = observation.audio?.isExpected == true && audio.hasBegun
        let lacksVideo = expectsVideo && (observation.isVideoCut || video.isSilent(at: now))
        let lacksAudio = expectsAudio && audio.isSilent(at: now)
        let receivesNothing =
            (expectsVideo || expectsAudio) && lacksVideo == expectsVideo && lacksAudio == expectsAudio
        if observation.isAway || receivesNothing {
            return silence(observation, isLimited: isLimited, expectsAudio: expectsAudio)
        }
        reasonForSilence = nil
        if lacksVideo, isLimited {
            hasVideo = true
            return DataQuality(status: .audioOnly, reason: .uploadLimited)
        }
        if isLowered {
            let isVideoDropped =
                lacksVideo || observation.isVideoDropped || observation.video?.isPaused == true
            if isVideoDropped { hasVideo = true }
            return isLimited
                ? DataQuality(status: .all, reason: .uploadLimited)
                : DataQuality(status: isVideoDropped ? .audioOnly : .all, reason: .networkLimited)
        }
        // If video is missing without a limit, the publisher stopped it.
        return isLimited && !lacksVideo ? DataQuality(status: .all, reason: .uploadLimited) : .good
    }

    /// Returns the row if no expected media arrive.
    private mutating func silence(
        _ observation: Observation, isLimited: Bool, expectsAudio: Bool
    ) -> DataQuality {
        // A stream without audio that was lowered until no video was left: the table has no other row with this reason.
        if observation.isLowered || observation.isVideoDropped, !expectsAudio, !observation.isAway {
            hasVideo = true
            return DataQuality(status: .audioOnly, reason: .networkLimited)
        }
        let reason = reasonForSilence.flatMap { $0 == .none ? nil : $0 } ?? (isLimited ? .uploadLimited : .none)
        reasonForSilence = reason
        return DataQuality(status: .noData, reason: reason)
    }
}

/// Determines whether something that is expected regularly still arrives.
///
/// Something rare is awaited for longer: audio of a silent room arrives every 400 ms (RFC 7587, section 3.1.3), and
/// video of an unchanged screen once a second.
struct InactivityDetector: Sendable {
    /// The time without arrivals after which there is silence.
    struct Timeouts: Sendable {
        /// The usual time.
        var typical: TimeSpan
        /// The time for arrivals that are rarer than ``rareRate``.
        var rareTimeout: TimeSpan
        /// The number of arrivals per second below which they are rare.
        var rareRate: Double
    }

    /// The time without arrivals after which there is silence.
    let timeout: Timeouts
    private var lastCount = 0
    /// The time of the last arrival; nil before the first.
    private var newest: Instant?
    /// The arrivals per second, smoothed; nil before the second arrival.
    private var rate: Double?

    /// Creates a watch without arrivals.
    init(_ timeout: Timeouts) { self.timeout = timeout }

    /// Whether anything has arrived.
    var hasBegun: Bool { newest != nil }

    /// Updates the watch.
    ///
    /// - Parameters:
    ///   - count: The number of arrivals since the beginning.
    ///   - now: The current time.
    mutating func observe(count: Int, at now: Instant) {
        guard count != lastCount else { return }
        defer {
            lastCount = count
            newest = now
        }
        guard let newest, now > newest, count > lastCount else { return }
        let current = Double(count - lastCount) / (now - newest).seconds
        rate = rate.map { $0 + (current - $0) / 4 } ?? current
    }

    /// Restarts waiting, because nothing is expected at present.
    mutating func restart(at now: Instant) {
        if newest != nil { newest = now }
    }

    /// Returns whether arrivals have begun and stopped.
    func isSilent(at now: Instant) -> Bool {
        guard let newest else { return false }
        let isRare = rate.map { $0 < timeout.rareRate } ?? true
        return now - newest >= (isRare ? timeout.rareTimeout : timeout.typical)
    }
}
