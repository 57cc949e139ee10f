package import PCastCore

/// The difference between the clock of an encoder, which writes `EXT-X-PROGRAM-DATE-TIME`, and that of the server, which
/// writes the field `Date` of a playlist's response. It reads no clock.
///
/// Media cannot be listed before it was captured, so the encoder is ahead at least by the time by which the end of the
/// listed media is after `Date`. Media is listed some time after its end, so an encoder is behind only if the end is
/// further before `Date` than publishing may take. The playlist with the newest media counts.
package struct EncoderClock: Hashable, Sendable {
    /// The difference above which an encoder is reported, because events appear with other frames.
    package static let tolerance = TimeSpan.milliseconds(200)
    /// The number of recent playlists that count.
    package static let capacity = 16
    /// The resolution of `Date` (RFC 9110, section 5.6.7).
    private static let precision = TimeSpan.seconds(1 as Int64)
    /// The difference as which any larger one counts.
    private static let longestDifference = TimeSpan.seconds(86_400 * 365 as Int64)

    private struct Sample: Hashable {
        /// The end of the listed media minus `Date`, which was rounded down.
        var distance: TimeSpan
        /// The time that publishing may take.
        var allowance: TimeSpan
    }

    private var samples: [Sample] = []

    /// Creates a comparison without playlists.
    package init() {}

    /// Adds a playlist on a timeline, and the `Date` of its response. It has no effect on a playlist that is complete or
    /// has no times.
    package mutating func observe(_ timeline: PlaylistTimeline, served date: WallTime) {
        guard timeline.playlist.isLive, let end = timeline.endTime else { return }
        // A playlist is updated within one and a half target durations (RFC 8216, section 6.2.2).
        let interval = timeline.playlist.partTargetDuration ?? timeline.playlist.targetDuration
        observe(end: end, served: date, allowance: interval + TimeSpan(nanoseconds: interval.nanoseconds / 2))
    }

    /// Adds the end of listed media, the `Date` of the response, and the time that publishing may take.
    package mutating func observe(end: WallTime, served date: WallTime, allowance: TimeSpan) {
        // A server may state any time.
        let bound = Self.longestDifference
        let distance = min(max(end.span(since: date) ?? bound, .zero - bound), bound)
        if samples.count == Self.capacity { samples.removeFirst() }
        samples.append(Sample(distance: distance, allowance: min(max(allowance, .zero), bound)))
    }

    /// The time by which the encoder's clock is ahead of the server's at least; negative if it is behind, zero if the
    /// clocks may be equal, and nil without a playlist.
    package var difference: TimeSpan? {
        guard let newest = samples.map(\.distance).max(),
            let highest = samples.map({ $0.distance + $0.allowance }).max()
        else { return nil }
        if newest > Self.precision { return newest - Self.precision }
        return min(highest, .zero)
    }

    /// Whether the difference is above the tolerance.
    package var isOff: Bool { (difference ?? .zero).magnitude > Self.tolerance }
}

extension PlaylistTimeline {
    /// The wall-clock time of the end of the listed media, including partial segments; nil if it is unknown.
    fileprivate var endTime: WallTime? {
        guard let last = segments.last, let time = last.wallTime else { return nil }
        let end = parts(of: last.number).last.map { max($0.end, last.end) } ?? last.end
        return WallTime(
            nanosecondsSinceEpoch: time.nanosecondsSinceEpoch.addingReportingOverflow((end - last.start).nanoseconds)
                .partialValue)
    }
}
