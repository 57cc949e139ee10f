package import PCastCore

/// Chooses the variant of each next segment from the throughput and the amount of buffered media.
///
/// It switches down as soon as the current variant needs more than the throughput, unless much media is buffered. It
/// switches up only with a margin, with enough buffered media, and some time after the last switch. A variant that it had to
/// leave soon after it was chosen is avoided for a time, which doubles each time. So it does not oscillate between two
/// variants on a link whose rate is between them.
///
/// The parts of a low-latency stream use only a share of the link, and small ones may measure less than the link delivers.
/// After a stable time the next variant is therefore tried with a smaller margin.
package struct VariantChoice: Sendable {
    /// The parameters of the choice.
    package struct Configuration: Hashable, Sendable {
        /// The throughput that is assumed before the first measurement.
        package var initialThroughput: Bitrate
        /// The minimum time from a switch to the next switch up.
        package var holdTime: TimeSpan
        /// The maximum peak bit rate; nil for no limit. If all variants exceed it, the lowest one is allowed.
        package var ceiling: Bitrate?
        /// The size of the view in pixels; nil for no limit. Of the variants that cover it, only the smallest size is
        /// allowed.
        package var surface: Dimensions?

        /// Creates a configuration.
        package init(
            initialThroughput: Bitrate = .kilobits(1_000), holdTime: TimeSpan = .seconds(8 as Int64),
            ceiling: Bitrate? = nil, surface: Dimensions? = nil
        ) {
            self.initialThroughput = initialThroughput
            self.holdTime = holdTime
            self.ceiling = ceiling
            self.surface = surface
        }
    }

    /// The share of the throughput that the peak of a higher variant may use.
    static let upShare = 0.7
    /// The share of the throughput that the average of the current variant may use.
    static let currentVariantShare = 0.95
    /// The share that the current variant may use while at least 3/4 of the buffer goal is buffered.
    static let comfortableShare = 1.15
    /// The share of the throughput that the average of a variant may use that is tried after a stable time.
    static let probeShare = 0.85
    /// The time without a switch after which a variant is tried.
    static let probeTime = TimeSpan.seconds(20 as Int64)
    /// The time after a switch up within which a switch down means that it was wrong.
    static let trialTime = TimeSpan.seconds(20 as Int64)
    /// The shortest and the longest time for which a variant is avoided that had to be left.
    static let shortestAvoidance = TimeSpan.seconds(15 as Int64)
    static let longestAvoidance = TimeSpan.seconds(120 as Int64)
    /// The time in which the first bytes of a part that exists must arrive.
    static let responseTime = TimeSpan.seconds(1 as Int64)
    /// The minimum buffered duration that counts as much, because live streams may buffer only seconds.
    static let comfortableBuffer = TimeSpan.seconds(10 as Int64)

    /// The variants, the lowest quality first.
    package let ladder: VariantLadder
    /// The parameters, which may change at any time.
    package var configuration: Configuration
    /// The index of a rung that is always chosen; nil for automatic choice.
    package var pinned: Int?
    /// The indices of rungs that are unavailable. If all rungs are excluded, the set has no effect.
    package var excluded: Set<Int> = []
    /// The throughput so far.
    package private(set) var throughput = ThroughputEstimate()
    /// The index of the rung that was chosen last; nil before the first choice.
    package private(set) var current: Int?
    /// The time of the last switch; nil before the first one.
    private var changedAt: Instant?
    /// The time since which the variant has not changed; nil before the first choice.
    private var stableSince: Instant?
    /// The time of the last switch up; nil after a switch down.
    private var raisedAt: Instant?
    /// The times until which rungs are avoided, and their lengths.
    private var avoided: [Int: (end: Instant, length: TimeSpan)] = [:]

    /// Creates a chooser.
    ///
    /// - Parameters:
    ///   - ladder: The variants, at least one.
    ///   - configuration: The parameters.
    package init(_ ladder: VariantLadder, configuration: Configuration = Configuration()) {
        precondition(!ladder.rungs.isEmpty, "there must be a variant")
        self.ladder = ladder
        self.configuration = configuration
    }

    /// Records a completed download. See ``ThroughputEstimate/add(bytes:in:as:)``.
    package mutating func downloaded(
        bytes: Int64, in span: TimeSpan, as transfer: ThroughputEstimate.Transfer = .segment
    ) {
        throughput.add(bytes: bytes, in: span, as: transfer)
    }

    /// Records a download that was canceled to load a lower rung. See ``ThroughputEstimate/addFragment(bytes:in:)``.
    package mutating func abandoned(bytes: Int64, in span: TimeSpan) { throughput.addFragment(bytes: bytes, in: span) }

    /// Chooses the rung of the next segment.
    ///
    /// - Parameters:
    ///   - buffered: The duration of the buffered media.
    ///   - goal: The duration of media that the player tries to buffer.
    ///   - now: The current time.
    /// - Returns: The index of the rung in ``ladder``.
    package mutating func choose(buffered: TimeSpan, goal: TimeSpan, at now: Instant) -> Int {
        let chosen = pinned.map { min(max($0, 0), ladder.rungs.count - 1) } ?? wanted(buffered, goal, now)
        if chosen != current {
            // The first choice is a guess, so it does not delay the next switch.
            changedAt = current == nil ? nil : now
            stableSince = now
            noteTrial(of: chosen, at: now)
            current = chosen
        }
        return chosen
    }

    /// Records a switch. A rung that is left soon after a switch up is avoided.
    private mutating func noteTrial(of chosen: Int, at now: Instant) {
        guard let current, pinned == nil else { return }
        guard chosen < current else { return raisedAt = now }
        if let raisedAt, now - raisedAt < Self.trialTime {
            let length = min((avoided[current]?.length ?? .zero) * 2, Self.longestAvoidance)
            let avoidance = max(length, Self.shortestAvoidance)
            avoided[current] = (now + avoidance, avoidance)
        } else {
            avoided[current] = nil
        }
        raisedAt = nil
    }

    /// Returns the rung of the automatic choice.
    private func wanted(_ buffered: TimeSpan, _ goal: TimeSpan, _ now: Instant) -> Int {
        let rate = throughput.bitrate ?? configuration.initialThroughput
        let allowed = allowedRungs()
        guard let current else { return best(of: allowed, within: rate, share: Self.upShare) }
        let isMuch = buffered * 4 >= goal * 3 && buffered >= Self.comfortableBuffer
        let share = isMuch ? Self.comfortableShare : Self.currentVariantShare
        let canKeepVariant =
            allowed.contains(current)
            && Double(ladder.rungs[current].average.bitsPerSecond) <= Double(rate.bitsPerSecond) * share
        guard canKeepVariant else {
            // A switch that is forced by the rate must not go up.
            return best(
                of: allowed.filter { $0 <= current || !allowed.contains(current) }, within: rate,
                share: Self.currentVariantShare)
        }
        guard buffered * 2 >= goal, changedAt.map({ now - $0 >= configuration.holdTime }) ?? true else {
            return current
        }
        let permitted = allowed.filter { rung in rung <= current || avoided[rung].map { $0.end <= now } ?? true }
        let higher = best(of: permitted, within: rate, share: Self.upShare)
        if higher > current { return higher }
        return throughput.isOfParts ? trial(of: permitted, above: current, within: rate, at: now) ?? current : current
    }

    /// Returns the next higher rung if it may be tried; nil otherwise.
    private func trial(of rungs: [Int], above current: Int, within rate: Bitrate, at now: Instant) -> Int? {
        guard let stableSince, now - stableSince >= Self.probeTime, let next = rungs.first(where: { $0 > current }),
            Double(ladder.rungs[next].average.bitsPerSecond) <= Double(rate.bitsPerSecond) * Self.probeShare
        else { return nil }
        return next
    }

    /// Returns the highest rung whose peak is within a share of the rate, or the one with the lowest average if there
    /// is none.
    private func best(of rungs: [Int], within rate: Bitrate, share: Double) -> Int {
        let limit = Double(rate.bitsPerSecond) * share
        return rungs.last { Double(ladder.rungs[$0].peak.bitsPerSecond) <= limit }
            ?? rungs.min { ladder.rungs[$0].average < ladder.rungs[$1].average } ?? 0
    }

    /// Returns the rungs that the configuration and the exclusions allow, at least one.
    private func allowedRungs() -> [Int] {
        var rungs = ladder.rungs.indices.filter { !excluded.contains($0) }
        if rungs.isEmpty { rungs = Array(ladder.rungs.indices) }
        if let ceiling = configuration.ceiling {
            let below = rungs.filter { ladder.rungs[$0].peak <= ceiling }
            rungs =
                below.isEmpty ? rungs.min { ladder.rungs[$0].peak < ladder.rungs[$1].peak }.map { [$0] } ?? [] : below
        }
        guard let surface = configuration.surface else { return rungs }
        func covers(_ index: Int) -> Bool {
            ladder.rungs[index].variant.resolution.map { $0.width >= surface.width && $0.height >= surface.height }
                ?? false
        }
        func area(_ index: Int) -> Int { ladder.rungs[index].variant.resolution.map { $0.width * $0.height } ?? 0 }
        guard let enough = rungs.filter(covers).map(area).min() else { return rungs }
        return rungs.filter { area($0) <= enough }
    }

    /// Returns whether to leave the segment of a part that arrives too slowly for a lower rung. This is so if the part has
    /// taken longer than its duration, the link delivers less than the rung needs, and the rest will not arrive before the
    /// buffered media is played. A part with a key frame is larger than others, so its duration alone does not count.
    ///
    /// - Parameters:
    ///   - rung: The index of the segment's rung; nil for ``current``.
    ///   - received: The number of bytes received so far.
    ///   - length: The size of the part in bytes; nil if the server has not sent it.
    ///   - elapsed: The time since the first byte, or since the request before it.
    ///   - duration: The duration of the part.
    ///   - buffered: The duration of media that can be played without the part.
    /// - Returns: True to leave it; always false for a pinned rung.
    package func abandonsPart(
        _ rung: Int? = nil, received: Int64, of length: Int64? = nil, in elapsed: TimeSpan, ofPart duration: TimeSpan,
        buffered: TimeSpan
    ) -> Bool {
        guard let current = rung ?? current, pinned == nil, elapsed > duration, elapsed >= .milliseconds(200),
            received > 0 || elapsed >= Self.responseTime
        else { return false }
        let average = Double(ladder.rungs[current].average.bitsPerSecond)
        let rate = max(Double(received) * 8 / elapsed.seconds, 1)
        let size = length.map { Double($0) * 8 } ?? average * duration.seconds
        let rest = max(size - Double(received) * 8, 0) / rate
        guard rest > buffered.seconds, rate * Self.currentVariantShare < average else { return false }
        return allowedRungs().contains { Double(ladder.rungs[$0].average.bitsPerSecond) < average }
    }

    /// Returns whether to cancel the segment that is being loaded and load it from a lower rung instead. This is so if
    /// it will not arrive before the buffered media is played, and that of a lower rung arrives earlier.
    ///
    /// - Parameters:
    ///   - rung: The index of the segment's rung; nil for ``current``. They differ while the playlist of the chosen rung
    ///     is being loaded.
    ///   - received: The number of bytes received so far.
    ///   - elapsed: The time since the request.
    ///   - duration: The duration of the segment.
    ///   - length: The size of the segment in bytes; nil if the server has not sent it.
    ///   - recent: The bytes received last and their time, if the rate is to be measured over them; nil to measure it
    ///     over the whole download.
    ///   - buffered: The duration of media that can be played without the segment; if it is already playing, the time
    ///     until its end.
    /// - Returns: True to cancel; always false for a pinned rung and within the first 500 ms.
    package func abandons(
        _ rung: Int? = nil, received: Int64, in elapsed: TimeSpan, ofSegment duration: TimeSpan, length: Int64? = nil,
        recent: (bytes: Int64, span: TimeSpan)? = nil, buffered: TimeSpan
    ) -> Bool {
        let measured = recent ?? (received, elapsed)
        guard let current = rung ?? current, pinned == nil, measured.span >= .milliseconds(500) else { return false }
        let rate = max(Double(measured.bytes) * 8 / measured.span.seconds, 1)
        func size(_ index: Int) -> Double { Double(ladder.rungs[index].average.bitsPerSecond) * duration.seconds }
        let rest = max((length.map { Double($0) * 8 } ?? size(current)) - Double(received) * 8, 0) / rate
        guard rest > buffered.seconds else { return false }
        return allowedRungs().contains { size($0) < size(current) && size($0) / rate < rest }
    }
}

/// The playable variants of a presentation, the lowest quality first.
package struct VariantLadder: Hashable, Sendable {
    /// A quality level.
    package struct Rung: Hashable, Sendable {
        /// The variants of the same quality at different URIs. If one fails, the next is tried (RFC 8216, section
        /// 6.3.4).
        package var mirrors: [VariantStream]

        /// The preferred variant of this quality.
        package var variant: VariantStream { mirrors[0] }

        /// The peak segment bit rate.
        package var peak: Bitrate { variant.bandwidth }

        /// The average segment bit rate, or the peak if the playlist does not specify it.
        package var average: Bitrate { variant.averageBandwidth ?? variant.bandwidth }
    }

    /// The quality levels, the lowest first.
    package let rungs: [Rung]

    /// Creates a ladder, which is ordered by the scores if each variant has one, and by bandwidth otherwise.
    ///
    /// - Parameters:
    ///   - playlist: The multivariant playlist.
    ///   - isPlayable: Returns whether the player can decode and may show a variant.
    package init(_ playlist: MultivariantPlaylist, where isPlayable: (VariantStream) -> Bool = { _ in true }) {
        var playable = playlist.variants.filter(isPlayable)
        // Audio-only variants are left out if others have video, because audio alone is not a lower quality of video.
        let withVideo = playable.filter { !$0.isAudioOnly }
        if !withVideo.isEmpty { playable = withVideo }
        var rungs: [Rung] = []
        var indices: [VariantStream: Int] = [:]
        for variant in playable {
            var quality = variant
            (quality.uri, quality.pathwayID, quality.stableID) = ("", nil, nil)
            // With content steering, each pathway may have groups of its own, with the same renditions.
            if playlist.contentSteering != nil {
                quality.audio = playlist.summary(.audio, of: variant.audio)
                quality.subtitles = playlist.summary(.subtitles, of: variant.subtitles)
            }
            let known = indices[quality].flatMap { index in
                let isOther = rungs[index].mirrors.contains { mirror in
                    mirror.pathwayID == variant.pathwayID
                        && (mirror.audio, mirror.subtitles) != (variant.audio, variant.subtitles)
                }
                return isOther ? nil : index
            }
            if let index = known {
                rungs[index].mirrors.append(variant)
            } else {
                indices[quality] = rungs.count
                rungs.append(Rung(mirrors: [variant]))
            }
        }
        let isScored = !rungs.isEmpty && rungs.allSatisfy { $0.variant.score != nil }
        self.rungs = rungs.enumerated().sorted { left, right in
            let (first, second) = (left.element.variant, right.element.variant)
            if isScored, first.score != second.score { return first.score ?? 0 < second.score ?? 0 }
            if first.bandwidth != second.bandwidth { return first.bandwidth < second.bandwidth }
            // The variant that comes first in the playlist is preferred.
            return left.offset > right.offset
        }.map(\.element)
    }
}

extension MultivariantPlaylist {
    /// Returns the names and languages of the renditions of a group as text; nil without a group. Groups with an equal
    /// text have the same renditions.
    fileprivate func summary(_ kind: Rendition.Kind, of group: String?) -> String? {
        guard let group else { return nil }
        let renditions = renditions(kind, in: group)
        guard !renditions.isEmpty else { return group }
        return renditions.map { "\($0.name)\n\($0.language ?? "")\n\($0.channels ?? "")" }.sorted()
            .joined(separator: "\n\n")
    }
}

extension VariantStream {
    /// Whether the variant has only audio codecs (names of RFC 6381) and no resolution.
    var isAudioOnly: Bool {
        resolution == nil && !codecs.isEmpty
            && codecs.allSatisfy { codec in
                ["mp4a", "ac-3", "ec-3", "ac-4", "Opus", "opus", "fLaC", "alac", "mp3"].contains {
                    codec.hasPrefix($0)
                }
            }
    }
}
