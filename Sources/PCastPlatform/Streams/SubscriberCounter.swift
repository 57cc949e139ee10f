import PCastCore

/// The numbers of subscribers, in total and per stream.
struct SubscriberCounter: Sendable {
    private(set) var count = 0
    private var counts: [StreamID: Int] = [:]

    func count(of stream: StreamID) -> Int { counts[stream] ?? 0 }

    mutating func enter(_ stream: StreamID) {
        count += 1
        counts[stream, default: 0] += 1
    }

    mutating func leave(_ stream: StreamID) {
        precondition(count > 0, "a count must not be decremented below zero")
        count -= 1
        counts[stream] = counts[stream].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}
