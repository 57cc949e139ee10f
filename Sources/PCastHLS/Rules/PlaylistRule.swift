/// A rule for playlists of a server, with its source: RFC 8216bis (draft-pantos-hls-rfc8216bis-22) or Apple's “HLS
/// authoring specification”.
package enum PlaylistRule: String, CaseIterable, Hashable, Sendable {
    // Rules for one media playlist.
    case segmentExceedsTarget
    case segmentWithoutDuration
    case partExceedsTarget
    case partTooShort
    case partsDifferFromSegment
    case partHoldBackTooShort
    case partHoldBackMissing
    case holdBackTooShort
    case skipBoundaryTooShort
    case partsWithoutBlockingReload
    case oldPartsListed
    case programDateTimeMissing
    case programDateTimeAmbiguous
    case initializationMissing
    case initializationWithoutDiscontinuity
    case independentSegmentsMissing
    case segmentBeginsWithoutKeyFrame
    case fewSegments
    case preloadHintMissing
    case preloadHintRepeated
    case playlistTypeOfLivePlaylist
    case versionTooLow
    case mediaSequenceMissing
    case discontinuitySequenceMissing
    case keyOfInitializationWithoutVector
    case keyMethodNoneWithAttributes
    case dateRangeMalformed
    case dateRangeWithoutProgramDateTime
    case dateRangeEndsBeforeStart
    case dateRangeEndDiffersFromDuration
    case dateRangeEndOnNextWithoutClass
    case dateRangeEndOnNextWithEnd
    case dateRangesOverlap
    case dateRangeChanged
    // Rules for two versions of a media playlist.
    case targetChanged
    case sequenceDecreased
    case segmentChanged
    case segmentRemovedTooEarly
    case updateTooLate
    case endRemoved
    // Rules for all playlists of a presentation.
    case variantMissing
    case codecsMissing
    case resolutionMissing
    case frameRateMissing
    case averageBandwidthMissing
    case bandwidthTooLow
    case parameterSetsInSamples
    case renditionGroupMissing
    case renditionNameRepeated
    case defaultRenditionRepeated
    case autoselectRenditionsAlike
    case audioOnlyVariantMissing
    case targetsDiffer
    case serverControlsDiffer
    case programDateTimesDiffer
    case discontinuitiesDiffer
    case renditionReportMissing
    // Rules for the responses of a server.
    case contentTypeWrong
    case compressionMissing
    case reloadAnsweredTooEarly
    case requestTooFarAheadAccepted

    /// The document and section that state the rule.
    package var source: String {
        switch self {
        case .segmentExceedsTarget: "RFC 8216bis, section 4.4.3.1"
        case .segmentWithoutDuration: "RFC 8216bis, section 4.4.4.1"
        case .partExceedsTarget, .partTooShort: "RFC 8216bis, section 4.4.4.9"
        case .partsDifferFromSegment: "RFC 8216bis, section 4.4.4.9"
        case .partHoldBackTooShort: "Apple's HLS authoring specification, 14.3; RFC 8216bis, section 4.4.3.8"
        case .partHoldBackMissing, .holdBackTooShort, .skipBoundaryTooShort, .partsWithoutBlockingReload:
            "RFC 8216bis, section 4.4.3.8"
        case .oldPartsListed: "RFC 8216bis, section 6.2.2"
        case .programDateTimeMissing: "Apple's HLS authoring specification, 8.4"
        case .programDateTimeAmbiguous: "RFC 8216bis, section 6.2.1"
        case .initializationMissing: "RFC 8216bis, section 3.1.2"
        case .initializationWithoutDiscontinuity: "RFC 8216bis, section 6.2.1"
        case .independentSegmentsMissing: "Apple's HLS authoring specification, 9.1"
        case .segmentBeginsWithoutKeyFrame: "Apple's HLS authoring specification, 7.4"
        case .fewSegments: "Apple's HLS authoring specification, 8.11"
        case .preloadHintMissing: "RFC 8216bis, appendix B.1"
        case .preloadHintRepeated: "RFC 8216bis, section 6.2.6"
        case .playlistTypeOfLivePlaylist, .mediaSequenceMissing, .discontinuitySequenceMissing:
            "RFC 8216bis, section 6.2.2"
        case .keyOfInitializationWithoutVector: "RFC 8216bis, section 4.4.4.5"
        case .keyMethodNoneWithAttributes: "RFC 8216bis, section 4.4.4.4"
        case .dateRangeMalformed, .dateRangeWithoutProgramDateTime, .dateRangeEndsBeforeStart,
            .dateRangeEndDiffersFromDuration, .dateRangeEndOnNextWithoutClass, .dateRangeEndOnNextWithEnd,
            .dateRangesOverlap, .dateRangeChanged:
            "RFC 8216bis, section 4.4.5.1"
        case .versionTooLow: "RFC 8216bis, section 8"
        case .targetChanged, .segmentChanged, .updateTooLate, .endRemoved: "RFC 8216bis, section 6.2.1"
        case .sequenceDecreased, .segmentRemovedTooEarly: "RFC 8216bis, section 6.2.2"
        case .variantMissing: "RFC 8216bis, section 4.4.6.2"
        case .codecsMissing, .resolutionMissing, .frameRateMissing, .averageBandwidthMissing:
            "Apple's HLS authoring specification, 9.1 to 9.15"
        case .bandwidthTooLow: "RFC 8216bis, section 4.4.6.2"
        case .parameterSetsInSamples: "Apple's HLS authoring specification, 1.10"
        case .renditionGroupMissing: "RFC 8216bis, section 4.4.6.2.1"
        case .renditionNameRepeated, .defaultRenditionRepeated, .autoselectRenditionsAlike:
            "RFC 8216bis, section 4.4.6.1.1"
        case .audioOnlyVariantMissing: "Apple's HLS authoring specification, 2.3 and 9.9"
        case .targetsDiffer, .serverControlsDiffer, .programDateTimesDiffer, .discontinuitiesDiffer:
            "RFC 8216bis, section 6.2.4"
        case .renditionReportMissing: "RFC 8216bis, appendix B.1"
        case .contentTypeWrong: "RFC 8216bis, section 4"
        case .compressionMissing: "Apple's HLS authoring specification, 10.1"
        case .reloadAnsweredTooEarly, .requestTooFarAheadAccepted: "RFC 8216bis, section 6.2.5.2"
        }
    }
}

/// A rule that a playlist violates.
package struct RuleViolation: Hashable, Sendable, CustomStringConvertible {
    /// The rule.
    package let rule: PlaylistRule
    /// The place in the playlist and the values that violate the rule.
    package let detail: String

    /// Creates a violation.
    package init(_ rule: PlaylistRule, _ detail: String) {
        self.rule = rule
        self.detail = detail
    }

    /// The rule, the values and the source.
    package var description: String { "\(rule.rawValue): \(detail) (\(rule.source))" }
}

/// Checks the responses of a server with a playlist.
package enum PlaylistResponseRules {
    /// The media types of playlists.
    private static let mediaTypes = ["application/vnd.apple.mpegurl", "audio/mpegurl"]
    /// The numbers of segments that a request may be ahead of the last one before the server refuses it.
    package static let refusedDistance: Int64 = 3

    /// Checks the response to a request that accepts gzip.
    ///
    /// - Parameters:
    ///   - contentType: The value of `Content-Type`; nil if it is missing.
    ///   - contentEncoding: The value of `Content-Encoding`; nil if it is missing.
    /// - Returns: The violations.
    package static func check(contentType: String?, contentEncoding: String?) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        let type = contentType?.prefix { $0 != ";" }.lowercased() ?? "missing"
        if !mediaTypes.contains(type) {
            violations.append(RuleViolation(.contentTypeWrong, "the media type is \(type)"))
        }
        if contentEncoding?.lowercased() != "gzip" {
            violations.append(RuleViolation(.compressionMissing, "the encoding is \(contentEncoding ?? "missing")"))
        }
        return violations
    }

    /// Checks the response to a request that waits for a segment or part.
    ///
    /// - Parameters:
    ///   - playlist: The playlist in the response.
    ///   - segment: The number of the segment that the request named.
    ///   - part: The index of the part; nil if the request named the whole segment.
    /// - Returns: The violations.
    package static func check(_ playlist: MediaPlaylist, contains segment: Int64, part: Int64?) -> [RuleViolation] {
        guard playlist.isLive, segment >= playlist.nextNumber else { return [] }
        let open = playlist.openSegment.flatMap { $0.number == segment ? Int64($0.parts.count) : nil } ?? 0
        if let part, part < open { return [] }
        let name = "segment \(segment)" + (part.map { ", part \($0)" } ?? "")
        return [RuleViolation(.reloadAnsweredTooEarly, "the response lacks \(name)")]
    }
}
