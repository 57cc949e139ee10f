/// A property of an encoder's video that costs its viewers latency, or that viewers of WebRTC cannot decode. The
/// publisher is notified of it.
package enum IngestFinding: Hashable, Sendable {
    /// Frames are presented in another order than they are decoded (B-frames).
    case reorderedFrames
    /// Key frames are farther apart than ``IngestReview/longestKeyFrameInterval``.
    case longKeyFrameInterval(TimeSpan)
    /// There was no key frame for ``IngestReview/longestWait``.
    case noKeyFrame
    /// The H.264 profile is one that browsers do not decode.
    case undecodableProfile(H264ProfileIDC)
    /// The H.265 profile, by its number, is neither Main nor Main 10.
    case undecodableH265Profile(UInt8)
    /// The video is interlaced.
    case interlaced
    /// The media arrives late or only in part, because the uplink carries less than the stream.
    case weakUplink

    /// The name in messages for programs, such as those of the management API.
    package var code: String {
        switch self {
        case .reorderedFrames: "b-frames"
        case .longKeyFrameInterval: "long-key-frame-interval"
        case .noKeyFrame: "no-key-frame"
        case .undecodableProfile, .undecodableH265Profile: "undecodable-profile"
        case .interlaced: "interlaced"
        case .weakUplink: "weak-uplink"
        }
    }
}

extension IngestFinding: CustomStringConvertible {
    /// The message for a person: the problem, its effect and the remedy.
    package var description: String {
        switch self {
        case .reorderedFrames:
            "The video has B-frames, which WebRTC viewers cannot show; set the number of B-frames to 0."
        case .longKeyFrameInterval(let interval):
            "Key frames are \(Int(interval.seconds.rounded())) s apart, so viewers wait for video; set the keyframe "
                + "interval to 2 s or less."
        case .noKeyFrame:
            "There was no key frame for \(Int(IngestReview.longestWait.seconds)) s, so new viewers see no video; set "
                + "the keyframe interval to 2 s or less."
        case .undecodableProfile(let profile):
            "The H.264 profile \(profile) cannot be decoded by browsers; use baseline, main or high."
        case .undecodableH265Profile(let number):
            "The H.265 profile \(number) cannot be decoded by browsers; use main or main10."
        case .interlaced: "The video is interlaced, which browsers cannot show; send progressive video."
        case .weakUplink:
            "The media arrives late or in part, because the uplink or the encoder is too slow; lower the bit rate."
        }
    }
}

/// Observes by how much the frames of an encoder are late, and determines whether its uplink or the encoder is too slow.
package struct UplinkReview: Sendable {
    /// The delay from which on frames are late, and the time for which they must be late.
    private static let lateness = (delay: TimeSpan.seconds(1), time: TimeSpan.seconds(2))
    /// The delay below which frames are in time, and the time for which they must be.
    private static let recovery = (delay: TimeSpan.milliseconds(500), time: TimeSpan.seconds(5))

    private var isWeak = false
    /// The time since which the frames contradict the state; nil if they do not.
    private var since: Instant?

    /// Creates a review.
    package init() {}

    /// Observes a frame.
    ///
    /// - Parameters:
    ///   - delay: The time by which the frame is later than the earliest ones, by the encoder's clock.
    ///   - now: The current time.
    /// - Returns: Whether the uplink is too slow, if that has changed; nil otherwise.
    package mutating func observe(delay: TimeSpan, at now: Instant) -> Bool? {
        guard isWeak ? delay < Self.recovery.delay : delay >= Self.lateness.delay else {
            since = nil
            return nil
        }
        let start = since ?? now
        since = start
        guard now - start >= (isWeak ? Self.recovery.time : Self.lateness.time) else { return nil }
        isWeak.toggle()
        since = nil
        return isWeak
    }
}

/// Observes the video of an encoder, and reports each finding once for each track.
package struct IngestReview: Sendable {
    /// The longest interval of key frames that is not reported.
    package static let longestKeyFrameInterval = TimeSpan.seconds(4)
    /// The time without a key frame after which its absence is reported.
    package static let longestWait = TimeSpan.seconds(12)

    private var keyFrame: TimeSpan?
    private var lastPresentation: TimeSpan?
    private var hasReportedOrder = false
    private var hasReportedInterval = false
    private var lastSet: H264SequenceParameterSet?
    private var lastProfile: HEVCProfile?

    /// Creates a review of a track.
    package init() {}

    /// Observes a frame.
    ///
    /// - Parameters:
    ///   - isKeyFrame: Whether decoding can begin with the frame.
    ///   - decodingTime: The decoding time, which never goes back.
    ///   - presentationTime: The presentation time.
    /// - Returns: A new finding; nil if there is none.
    package mutating func observe(
        isKeyFrame: Bool, decodingTime: TimeSpan, presentationTime: TimeSpan
    ) -> IngestFinding? {
        let isReordered = lastPresentation.map { presentationTime < $0 } ?? false
        lastPresentation = presentationTime
        let began = keyFrame ?? decodingTime
        if isKeyFrame || keyFrame == nil { keyFrame = decodingTime }
        if isReordered, !hasReportedOrder {
            hasReportedOrder = true
            return .reorderedFrames
        }
        guard !hasReportedInterval else { return nil }
        let interval = decodingTime - began
        if isKeyFrame, interval > Self.longestKeyFrameInterval {
            hasReportedInterval = true
            return .longKeyFrameInterval(interval)
        }
        guard !isKeyFrame, interval > Self.longestWait else { return nil }
        hasReportedInterval = true
        return .noKeyFrame
    }

    /// Observes a codec configuration of H.264.
    ///
    /// - Returns: A new finding; nil if there is none, or the configuration is the same as before.
    package mutating func observe(_ configuration: AVCDecoderConfiguration) -> IngestFinding? {
        guard let set = configuration.sequenceParameterSet, set != lastSet else { return nil }
        lastSet = set
        if !set.profile.isWidelyDecodable { return .undecodableProfile(set.profile) }
        return set.isProgressive ? nil : .interlaced
    }

    /// Observes a codec configuration of H.265.
    ///
    /// - Returns: A new finding; nil if there is none, or the profile is the same as before.
    package mutating func observe(_ configuration: HEVCDecoderConfiguration) -> IngestFinding? {
        guard let profile = configuration.profile, profile != lastProfile else { return nil }
        lastProfile = profile
        if !profile.isWidelyDecodable { return .undecodableH265Profile(profile.number) }
        return profile.isInterlaced ? .interlaced : nil
    }
}
