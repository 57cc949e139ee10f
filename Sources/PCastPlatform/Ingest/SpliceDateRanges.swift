import PCastCore
import PCastHLS
import PCastSRT

/// Converts the splice messages of a stream to date ranges (RFC 8216bis, section 4.4.5.1).
///
/// The beginning of a break is a range with `SCTE35-OUT` and `PLANNED-DURATION`. Its end is a second tag with the same ID,
/// `SCTE35-IN` and `END-DATE`. Other commands are ranges with `SCTE35-CMD`.
struct SpliceDateRanges: Sendable {
    /// The maximum number of breaks whose end is awaited. Beyond it, the earliest is forgotten.
    static let openLimit = 16

    private struct Break: Sendable {
        let eventID: UInt32?
        let id: String
        let start: WallTime
    }

    private var open: [Break] = []
    private var count = 0

    /// Returns the range of a message; nil for one that repeats or cancels a break.
    mutating func range(of splice: SpliceInformation, at time: WallTime) -> DateRange? {
        guard !splice.isCanceled else { return nil }
        switch splice.kind {
        case .out:
            guard splice.eventID == nil || !open.contains(where: { $0.eventID == splice.eventID }) else { return nil }
            let id = newID(splice)
            open.append(Break(eventID: splice.eventID, id: id, start: time))
            if open.count > Self.openLimit { open.removeFirst() }
            return DateRange(
                id: id, start: time, plannedDuration: splice.duration, scte35: [.init(.out, Self.text(splice))])
        case .back:
            let index = open.lastIndex { $0.eventID == splice.eventID }
            guard let index, time >= open[index].start else {
                return DateRange(id: newID(splice), start: time, scte35: [.init(.back, Self.text(splice))])
            }
            let former = open.remove(at: index)
            return DateRange(id: former.id, start: former.start, end: time, scte35: [.init(.back, Self.text(splice))])
        case .command:
            return DateRange(id: newID(splice), start: time, scte35: [.init(.command, Self.text(splice))])
        }
    }

    private mutating func newID(_ splice: SpliceInformation) -> String {
        count += 1
        return splice.eventID.map { "scte35-\($0)-\(count)" } ?? "scte35-\(count)"
    }

    /// Returns the message as a hexadecimal sequence.
    private static func text(_ splice: SpliceInformation) -> String {
        let digits = Array("0123456789ABCDEF")
        return "0x" + String(splice.section.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
