internal import PCastCore

/// Checks a multivariant playlist together with its media playlists against the rules for servers.
package enum PresentationRules {
    /// The difference of dates at the same discontinuity that is not a different mapping: the duration of a segment.
    private static let dateTolerance = TimeSpan.seconds(1 as Int64)

    /// Checks a presentation.
    ///
    /// - Parameters:
    ///   - multivariant: The multivariant playlist.
    ///   - media: The media playlists by their URIs in the multivariant playlist, of the same moment.
    /// - Returns: The violations, including those of each media playlist.
    package static func check(
        _ multivariant: MultivariantPlaylist, media: [String: MediaPlaylist]
    ) -> [RuleViolation] {
        var violations = checkVariants(multivariant, media) + checkGroups(multivariant.renditions)
        for (uri, playlist) in media.sorted(by: { $0.key < $1.key }) {
            violations += MediaPlaylistRules.check(playlist).map { RuleViolation($0.rule, "\(uri): \($0.detail)") }
        }
        return violations + checkAgreement(media)
    }

    private static func checkVariants(
        _ multivariant: MultivariantPlaylist, _ media: [String: MediaPlaylist]
    ) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ detail: String) { violations.append(RuleViolation(rule, detail)) }
        if multivariant.variants.isEmpty { add(.variantMissing, "the playlist has no variant") }
        if !multivariant.hasIndependentSegments { add(.independentSegmentsMissing, "the tag is missing") }
        for variant in multivariant.variants {
            let name = "variant \(variant.uri)"
            let isVideo = variant.resolution != nil || variant.codecs.contains { isVideoCodec($0) }
            if variant.codecs.isEmpty { add(.codecsMissing, "\(name) has no CODECS") }
            if variant.averageBandwidth == nil { add(.averageBandwidthMissing, "\(name) has no AVERAGE-BANDWIDTH") }
            if isVideo, variant.resolution == nil { add(.resolutionMissing, "\(name) has no RESOLUTION") }
            if isVideo, variant.framesPerSecond == nil { add(.frameRateMissing, "\(name) has no FRAME-RATE") }
            for codec in variant.codecs where codec.hasPrefix("avc3") || codec.hasPrefix("hev1") {
                add(.parameterSetsInSamples, "\(name) has \(codec)")
            }
            if let average = variant.averageBandwidth, average > variant.bandwidth {
                add(.bandwidthTooLow, "\(name) has BANDWIDTH \(variant.bandwidth.bitsPerSecond)")
            }
            if let group = variant.audio, multivariant.renditions(.audio, in: group).isEmpty {
                add(.renditionGroupMissing, "\(name) has the group \(group)")
            }
            if let group = variant.subtitles, multivariant.renditions(.subtitles, in: group).isEmpty {
                add(.renditionGroupMissing, "\(name) has the group \(group)")
            }
            if !media.isEmpty, media[variant.uri] == nil { add(.variantMissing, "\(name) has no playlist") }
        }
        let hasVideo = multivariant.variants.contains { $0.resolution != nil }
        let hasAudio = multivariant.variants.contains { $0.audio != nil }
        if hasVideo, hasAudio, multivariant.variants.allSatisfy({ $0.resolution != nil }) {
            add(.audioOnlyVariantMissing, "each variant has video")
        }
        return violations
    }

    /// Checks that the members of each group of renditions can be distinguished.
    private static func checkGroups(_ renditions: [Rendition]) -> [RuleViolation] {
        struct Group: Hashable {
            let kind: Rendition.Kind
            let id: String
        }
        struct Choice: Hashable {
            let languages: [String?]
            let isForced: Bool
            let characteristics: [String]
        }
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ detail: String) { violations.append(RuleViolation(rule, detail)) }
        let groups = Dictionary(grouping: renditions) { Group(kind: $0.kind, id: $0.group) }
        for (group, members) in groups.sorted(by: { $0.key.id < $1.key.id }) {
            var names: Set<String> = []
            var choices: Set<Choice> = []
            for member in members {
                if !names.insert(member.name).inserted {
                    add(.renditionNameRepeated, "the group \(group.id) has \(member.name) twice")
                }
                guard member.isAutoselect else { continue }
                let choice = Choice(
                    languages: [member.language, member.associatedLanguage], isForced: member.isForced,
                    characteristics: member.characteristics.sorted())
                if !choices.insert(choice).inserted {
                    add(.autoselectRenditionsAlike, "\(member.name) in the group \(group.id) is like another one")
                }
            }
            if members.count(where: \.isDefault) > 1 {
                add(.defaultRenditionRepeated, "the group \(group.id) has several default members")
            }
        }
        return violations
    }

    private static func isVideoCodec(_ codec: String) -> Bool {
        ["avc", "hvc", "hev", "vp09", "av01"].contains { codec.hasPrefix($0) }
    }

    /// Checks what must be the same in all media playlists.
    private static func checkAgreement(_ media: [String: MediaPlaylist]) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        let playlists = media.sorted { $0.key < $1.key }
        guard let (firstURI, first) = playlists.first else { return [] }
        for (uri, playlist) in playlists.dropFirst() {
            if playlist.targetDuration != first.targetDuration {
                violations.append(
                    RuleViolation(.targetsDiffer, "\(uri): \(playlist.targetDuration), not \(first.targetDuration)"))
            }
            if playlist.serverControl != first.serverControl {
                violations.append(RuleViolation(.serverControlsDiffer, "\(uri) and \(firstURI)"))
            }
            violations += checkDiscontinuities(uri, playlist, first)
        }
        for (uri, playlist) in playlists where playlist.isLive && playlist.partTargetDuration != nil {
            for (other, reported) in playlists where other != uri && reported.partTargetDuration != nil {
                if playlist.renditionReports.contains(where: { $0.uri == other }) { continue }
                violations.append(RuleViolation(.renditionReportMissing, "\(uri) has no report of \(other)"))
            }
        }
        return violations
    }

    /// Checks that the same discontinuity begins at about the same date.
    private static func checkDiscontinuities(
        _ uri: String, _ playlist: MediaPlaylist, _ first: MediaPlaylist
    ) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func starts(_ playlist: MediaPlaylist) -> [Int64: WallTime] {
            let segments = playlist.segments + (playlist.openSegment.map { [$0] } ?? [])
            return Dictionary(
                segments.compactMap { segment in
                    segment.isDiscontinuity ? segment.programDateTime.map { (segment.discontinuity, $0) } : nil
                }, uniquingKeysWith: { first, _ in first })
        }
        let (own, others) = (starts(playlist), starts(first))
        for (number, time) in own {
            guard let other = others[number], (time - other).magnitude > dateTolerance else { continue }
            violations.append(
                RuleViolation(.discontinuitiesDiffer, "\(uri): \(number) begins \(time - other) after the other"))
        }
        // A playlist may be one discontinuity ahead until the other has a segment.
        let numbers = [playlist, first].map { $0.openSegment?.discontinuity ?? $0.segments.last?.discontinuity ?? 0 }
        if abs(numbers[0] - numbers[1]) > 1 {
            violations.append(RuleViolation(.discontinuitiesDiffer, "\(uri) is at \(numbers[0]), not \(numbers[1])"))
        }
        let dated = [playlist, first].map { $0.segments.contains { $0.programDateTime != nil } }
        if dated[0] != dated[1], !playlist.segments.isEmpty, !first.segments.isEmpty {
            violations.append(RuleViolation(.programDateTimesDiffer, "\(uri) differs"))
        }
        return violations
    }
}
