package import PCastCore

/// A position whose wall-clock time is known.
package struct TimecodeAnchor: Hashable, Sendable {
    /// The source of the wall-clock time, in ascending order of reliability.
    package enum Source: Int, CaseIterable, Comparable, Sendable {
        /// The clock of this host, for live media without times: the live edge counts as the present.
        case liveEdge
        /// The creation time of the file.
        case file
        /// The tag `EXT-X-PROGRAM-DATE-TIME` (RFC 8216, section 4.3.2.6).
        case programDateTime
        /// Timed metadata that the encoder inserted.
        case timedMetadata
        /// The sender's clock from RTCP sender reports (RFC 3550, section 6.4.1).
        case capture
        /// The application, by ``Source/wallClock``.
        case application

        /// Whether `left` is less reliable than `right`.
        package static func < (left: Source, right: Source) -> Bool { left.rawValue < right.rawValue }
    }

    /// The position in the item.
    package var position: TimeSpan
    /// The wall-clock time of the position.
    package var wallTime: WallTime
    /// The source of the wall-clock time.
    package var source: Source
    /// The number of the continuous section of the clock. Between two runs the clock jumps, so times are not
    /// interpolated.
    package var run: Int64

    /// Creates an anchor.
    package init(position: TimeSpan, wallTime: WallTime, source: Source, run: Int64 = 0) {
        self.position = position
        self.wallTime = wallTime
        self.source = source
        self.run = run
    }
}
