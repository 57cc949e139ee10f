import PCastCore
import PCastRTP

/// Virtual time for the data quality's machines. It observes every half second, and records the reported rows with
/// their times.
struct QualityClock {
    static let interval = TimeSpan.milliseconds(500)

    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    private(set) var received: [(at: Double, row: DataQuality)] = []
    private let began = Instant(nanoseconds: 1_000_000_000_000)

    /// Runs for this many seconds and observes the quality.
    mutating func run(_ seconds: Double, _ look: (Instant) -> DataQuality?) {
        let end = now + TimeSpan(seconds: seconds)
        while now < end {
            now += Self.interval
            if let row = look(now) { received.append(((now - began).seconds, row)) }
        }
    }

    var rows: [DataQuality] { received.map(\.row) }

    mutating func discard() { received = [] }
}

extension DataQuality {
    static func row(_ status: Status, _ reason: Reason) -> DataQuality { DataQuality(status: status, reason: reason) }
}
