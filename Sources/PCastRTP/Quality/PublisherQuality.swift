public import PCastMedia

/// The data quality of a publisher's end, as the platform sees it: one row of the seed's table for publishers at any
/// moment (seed 004, "Data Quality Status For Publishers").
///
/// | row | what causes it |
/// |---|---|
/// | NoData, None | nothing arrives of what should, and no cause is known |
/// | NoData, UploadLimited | nothing arrives, and before that the uplink's estimate or loss showed a limit |
/// | All, None | everything that is published arrives, in full |
/// | All, UploadLimited | the uplink's estimate is too small for what the publisher wants to send, or it loses much |
/// | All, NetworkLimited | the stream has one layer and was lowered, as half of its viewers or more are limited |
/// | AudioOnly, UploadLimited | sound arrives, and no picture, over an uplink that is limited |
/// | AudioOnly, NetworkLimited | a stream was lowered for its viewers' sake and no picture is left; or none of them has room for one |
///
/// What the publisher does of its own accord (a track that is muted, a camera that is gone) is no matter of the network:
/// then the row is All, None, and `hasVideo` tells viewers' ends what there is. So it is before media came the first time.
///
/// Media that stays away for a second is silent (for four, where it comes less than five times a second); a picture alone
/// for two seconds, where nothing shows a limit, and for three before its first. `HopLimit` has the limits' thresholds,
/// `SettledQuality` how long a row stands before a better one is told.
public struct PublisherQuality: Sendable {
    /// One medium on its way to the platform.
    public struct Track: Hashable, Sendable {
        /// Packets that arrived since the beginning.
        public var packets: Int
        /// The publisher keeps it back of its own accord.
        public var isWithheld: Bool
        /// The publisher was asked to pause it, as nobody takes it at the moment.
        public var isPaused: Bool

        public init(packets: Int, isWithheld: Bool = false, isPaused: Bool = false) {
            self.packets = packets
            self.isWithheld = isWithheld
            self.isPaused = isPaused
        }

        /// Whether it should arrive.
        var isExpected: Bool { !isWithheld && !isPaused }
    }

    /// What is seen at one moment; a look each half second is meant.
    public struct Observation: Hashable, Sendable {
        /// Nil where the stream has no such track.
        public var video: Track?
        public var audio: Track?
        public var uplink: HopLimit.Evidence
        /// The publisher itself says that its congestion control leaves no room for a picture.
        public var isVideoCut: Bool
        /// Nothing at all was heard of the publisher for seconds.
        public var isAway: Bool
        /// The publisher was asked for less on account of its viewers' links; see `SharedLimit`.
        public var isLowered: Bool
        /// Viewers would take pictures, and none of their links has room for them.
        public var isPictureLeftOut: Bool

        public init(
            video: Track?, audio: Track?, uplink: HopLimit.Evidence = HopLimit.Evidence(), isVideoCut: Bool = false,
            isAway: Bool = false, isLowered: Bool = false, isPictureLeftOut: Bool = false
        ) {
            self.video = video
            self.audio = audio
            self.uplink = uplink
            self.isVideoCut = isVideoCut
            self.isAway = isAway
            self.isLowered = isLowered
            self.isPictureLeftOut = isPictureLeftOut
        }
    }

    private static let patience = ArrivalWatch.Patience(
        usual: .seconds(1 as Int64), seldom: .seconds(4 as Int64), seldomRate: 5)
    /// Of a picture beside sound, when nothing shows a limit.
    private static let patienceWithPicture = ArrivalWatch.Patience(
        usual: .seconds(2 as Int64), seldom: .seconds(6 as Int64), seldomRate: 5)

    /// A picture may begin so much later than the sound.
    private static let patienceForFirstPicture = TimeSpan.seconds(3 as Int64)

    private var video = ArrivalWatch(patience)
    private var picture = ArrivalWatch(patienceWithPicture)
    private var audio = ArrivalWatch(patience)
    private var firstPictureDue: Instant?
    private var uplink = HopLimit()
    private var settled = SettledQuality()
    /// Why nothing arrives, as it was when that began.
    private var reasonForSilence: DataQuality.Reason?

    /// Whether pictures and sound are there to be had, the network aside.
    public private(set) var hasVideo = false
    public private(set) var hasAudio = false

    public init() {}

    /// The row that holds.
    public var quality: DataQuality { settled.told }

    /// - Returns: the row that holds from now on, where it is another than before.
    @discardableResult
    public mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        uplink.observe(observation.uplink, at: now)
        Self.observe(observation.video, by: &video, at: now)
        Self.observe(observation.video, by: &picture, at: now)
        Self.observe(observation.audio, by: &audio, at: now)
        noteWhatThereIs(observation, at: now)
        return settled.observe(row(observation, at: now), at: now)
    }

    private static func observe(_ track: Track?, by watch: inout ArrivalWatch, at now: Instant) {
        watch.observe(count: track?.packets ?? 0, at: now)
        if track?.isExpected != true { watch.excuse(at: now) }
    }

    private mutating func noteWhatThereIs(_ observation: Observation, at now: Instant) {
        hasAudio = audio.hasBegun && observation.audio?.isWithheld == false
        guard let track = observation.video, !track.isWithheld else { return hasVideo = false }
        if audio.hasBegun, firstPictureDue == nil { firstPictureDue = now + Self.patienceForFirstPicture }
        let isToCome = firstPictureDue.map { now < $0 } ?? false
        hasVideo = video.hasBegun ? !picture.isSilent(at: now) : isToCome || observation.isVideoCut
    }

    private mutating func row(_ observation: Observation, at now: Instant) -> DataQuality {
        // What is cut for the viewers' sake is not the uplink's fault.
        let isLowered = observation.isLowered || observation.isPictureLeftOut
        let isLimited = uplink.holds || (observation.isVideoCut && !isLowered)
        let expectsVideo =
            observation.video?.isExpected == true && (video.hasBegun || observation.isVideoCut && audio.hasBegun)
        let expectsAudio = observation.audio?.isExpected == true && audio.hasBegun
        let lacksVideo = expectsVideo && (observation.isVideoCut || video.isSilent(at: now))
        let lacksAudio = expectsAudio && audio.isSilent(at: now)
        let lacksEverything =
            (expectsVideo || expectsAudio) && lacksVideo == expectsVideo && lacksAudio == expectsAudio
        if observation.isAway || lacksEverything {
            return silence(observation, isLimited: isLimited, expectsAudio: expectsAudio)
        }
        reasonForSilence = nil
        if lacksVideo, isLimited {
            hasVideo = true
            return DataQuality(status: .audioOnly, reason: .uploadLimited)
        }
        if isLowered {
            let isPictureLeftOut =
                lacksVideo || observation.isPictureLeftOut || observation.video?.isPaused == true
            if isPictureLeftOut { hasVideo = true }
            return isLimited
                ? DataQuality(status: .all, reason: .uploadLimited)
                : DataQuality(status: isPictureLeftOut ? .audioOnly : .all, reason: .networkLimited)
        }
        // A picture that is lacking where nothing shows a limit is the publisher's own doing.
        return isLimited && !lacksVideo ? DataQuality(status: .all, reason: .uploadLimited) : .good
    }

    /// Nothing comes of what should.
    private mutating func silence(
        _ observation: Observation, isLimited: Bool, expectsAudio: Bool
    ) -> DataQuality {
        // A stream without sound, lowered until no picture was left: the table has no other row with this reason.
        if observation.isLowered || observation.isPictureLeftOut, !expectsAudio, !observation.isAway {
            hasVideo = true
            return DataQuality(status: .audioOnly, reason: .networkLimited)
        }
        let reason = reasonForSilence.flatMap { $0 == .none ? nil : $0 } ?? (isLimited ? .uploadLimited : .none)
        reasonForSilence = reason
        return DataQuality(status: .noData, reason: reason)
    }
}
