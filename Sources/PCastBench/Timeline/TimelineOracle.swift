import PCastCore
import PCastTimeline

/// Judges the deliveries of events by the frames that were shown. An event may not be delivered before its frame.
struct TimelineOracle {
    /// A delivery, and its time.
    struct ReceivedDelivery: Sendable {
        var delivery: TimelineDelivery
        var moment: Instant
    }

    /// The result for all deliveries of events.
    struct Verdict: Equatable {
        /// The number of deliveries.
        var delivered = 0
        /// The number of deliveries before their frame was shown.
        var early = 0
        /// The time from the frame to each other delivery, in milliseconds.
        var late: [Double] = []
    }

    /// The rounding of dates in a playlist and of frame times.
    static let rounding = TimeSpan.milliseconds(2)
    /// The duration of a frame.
    static let frameLength = StampedVideo.position(of: 1)

    /// The frames that were shown, in order.
    let shownFrames: [RecordingSurface.ShownFrame]
    /// Returns the time in the program of the frame with a counter.
    let time: (Int) -> WallTime
    /// Returns the time at which a revision was recorded; nil if it is unknown.
    let recorded: (SequenceNumber) -> Instant?

    /// Compares deliveries with the frames that were shown at that time.
    func judge(_ deliveries: [ReceivedDelivery]) -> Verdict {
        var verdict = Verdict()
        for each in deliveries where each.delivery.eventID != nil {
            verdict.delivered += 1
            guard var index = shownFrames.lastIndex(where: { $0.moment <= each.moment }),
                hasCome(each.delivery, at: index)
            else {
                verdict.early += 1
                continue
            }
            // Since the frame of the event, or since the seek.
            while index > 0, !isAfterSeek(index), hasCome(each.delivery, at: index - 1) { index -= 1 }
            // An event that is recorded late cannot be delivered before that.
            let shown = shownFrames[index].moment
            let known = each.delivery.reason == nil ? max(shown, recorded(each.delivery.number) ?? shown) : shown
            verdict.late.append(max((each.moment - known).seconds, 0) * 1_000)
        }
        return verdict
    }

    /// Whether a frame does not directly follow its predecessor, as after a seek.
    private func isAfterSeek(_ index: Int) -> Bool {
        index == 0 || !(1...5).contains(shownFrames[index].counter - shownFrames[index - 1].counter)
    }

    /// Whether a delivery is permitted at a frame. After a seek backwards, the viewer is informed that an event has not
    /// happened yet.
    private func hasCome(_ delivery: TimelineDelivery, at index: Int) -> Bool {
        // A seek may land at any time within the duration of a frame.
        let length = isAfterSeek(index) ? Self.frameLength : .zero
        return delivery.reason == .seek
            || time(shownFrames[index].counter) + length + Self.rounding >= delivery.gate
    }
}
