import PCastMedia

/// Gathers packets into groups that left together, and compares how far apart two groups left and arrived.
///
/// After libwebrtc's `InterArrivalDelta` (CC5): a group is what leaves within 5 ms, and what a bottleneck let go in one
/// burst (closer than 5 ms, and closer than it left, for 100 ms at most).
struct ArrivalGroups: Sendable {
    /// From one group to the next.
    struct Delta: Hashable, Sendable {
        var send: TimeSpan
        var arrival: TimeSpan
    }

    private struct Group {
        var firstSend: Instant
        var lastSend: Instant
        var firstArrival: TimeSpan
        var lastArrival: TimeSpan
    }

    static let length = TimeSpan.milliseconds(5)
    static let burstGap = TimeSpan.milliseconds(5)
    static let maximumBurst = TimeSpan.milliseconds(100)
    /// A jump of the peer's clock.
    static let maximumJump = TimeSpan.seconds(Int64(3))
    private static let reorderedLimit = 3

    private var current: Group?
    private var previous: Group?
    private var reordered = 0

    /// Takes the next packet that arrived; answers what the last two whole groups say when it begins another.
    mutating func arrived(sentAt: Instant, arrival: TimeSpan) -> Delta? {
        guard var group = current else {
            begin(sentAt: sentAt, arrival: arrival)
            return nil
        }
        // Only the order of sending can be compared.
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
        return delta.flatMap { judge($0) }
    }

    private mutating func begin(sentAt: Instant, arrival: TimeSpan) {
        current = Group(firstSend: sentAt, lastSend: sentAt, firstArrival: arrival, lastArrival: arrival)
    }

    private func begins(sentAt: Instant, arrival: TimeSpan, after group: Group) -> Bool {
        let arrivalGap = arrival - group.lastArrival
        let sendGap = sentAt - group.lastSend
        if sendGap == .zero { return false }
        let isBurst =
            arrivalGap < sendGap && arrivalGap <= Self.burstGap && arrival - group.firstArrival < Self.maximumBurst
        return !isBurst && sentAt - group.firstSend > Self.length
    }

    /// Groups out of order mean nothing; many of them, or a jump, mean another clock.
    private mutating func judge(_ delta: Delta) -> Delta? {
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
