import PCastCore

/// Groups packets that were sent together, and measures the send and arrival intervals between groups.
///
/// It follows libwebrtc's `InterArrivalDelta` (draft-ietf-rmcat-gcc-02, section 5.2): a group has packets that were
/// sent within 5 ms, or arrived in a burst of a bottleneck. A burst has arrival intervals below 5 ms and below the send
/// intervals, and lasts at most 100 ms.
struct ArrivalGroups: Sendable {
    /// The intervals between two groups.
    struct Delta: Hashable, Sendable {
        var send: TimeSpan
        var arrival: TimeSpan
    }

    /// The times of a group.
    private struct Group {
        var firstSend: Instant
        var lastSend: Instant
        var firstArrival: TimeSpan
        var lastArrival: TimeSpan
    }

    /// The maximum send time of a group.
    static let length = TimeSpan.milliseconds(5)
    /// The maximum arrival interval in a burst.
    static let burstGap = TimeSpan.milliseconds(5)
    /// The maximum duration of a burst.
    static let maximumBurst = TimeSpan.milliseconds(100)
    /// The change of delay that is considered a step of the peer's clock.
    static let maximumJump = TimeSpan.seconds(Int64(3))
    /// The number of consecutive reordered groups after which measuring restarts.
    private static let reorderedLimit = 3

    private var current: Group?
    private var previous: Group?
    private var reordered = 0

    /// Adds the next packet that arrived. If it begins a new group, returns the intervals between the last two complete
    /// groups; nil otherwise.
    mutating func arrived(sentAt: Instant, arrival: TimeSpan) -> Delta? {
        guard var group = current else {
            begin(sentAt: sentAt, arrival: arrival)
            return nil
        }
        // Packets that were sent before the group cannot be compared.
        guard sentAt >= group.firstSend else { return nil }
        guard begins(sentAt: sentAt, arrival: arrival, after: group) else {
            group.lastSend = max(group.lastSend, sentAt)
            group.firstArrival = min(group.firstArrival, arrival)
            group.lastArrival = max(group.lastArrival, arrival)
            current = group
            return nil
        }
        let delta = previous.map {
            Delta(send: group.lastSend - $0.lastSend, arrival: group.lastArrival - $0.lastArrival)
        }
        previous = group
        begin(sentAt: sentAt, arrival: arrival)
        return delta.flatMap { evaluate($0) }
    }

    private mutating func begin(sentAt: Instant, arrival: TimeSpan) {
        current = Group(firstSend: sentAt, lastSend: sentAt, firstArrival: arrival, lastArrival: arrival)
    }

    /// Returns whether a packet begins a new group.
    private func begins(sentAt: Instant, arrival: TimeSpan, after group: Group) -> Bool {
        let arrivalGap = arrival - group.lastArrival
        let sendGap = sentAt - group.lastSend
        if sendGap == .zero { return false }
        let isBurst =
            arrivalGap < sendGap && arrivalGap <= Self.burstGap && arrival - group.firstArrival < Self.maximumBurst
        return !isBurst && sentAt - group.firstSend > Self.length
    }

    /// Returns the intervals if they are plausible. Reordered groups are ignored; several of them, or a large step,
    /// restart the measurement.
    private mutating func evaluate(_ delta: Delta) -> Delta? {
        if delta.arrival - delta.send >= Self.maximumJump {
            self = ArrivalGroups()
            return nil
        }
        if delta.arrival < .zero {
            reordered += 1
            if reordered >= Self.reorderedLimit { self = ArrivalGroups() }
            return nil
        }
        reordered = 0
        return delta
    }
}
