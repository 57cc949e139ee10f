/// What waits to be sent to one page, in order. Of the time only the newest waits; everything else is kept, up to a bound
/// beyond which the page cannot be told everything any more.
struct OverlayPageQueue {
    static let messageLimit = 256
    static let sizeLimit = 1 << 20

    struct Entry: Hashable {
        var report: OverlayReport
        var epoch: Int64
    }

    private var entries: [Entry] = []
    private var size = 0

    var count: Int { entries.count }

    /// - Returns: false when it is full, and nothing was added.
    mutating func add(_ report: OverlayReport, epoch: Int64) -> Bool {
        if report.isFleeting, let index = entries.lastIndex(where: { $0.report.isFleeting }) {
            size -= entries.remove(at: index).report.size
        }
        guard entries.count < Self.messageLimit, size + report.size <= Self.sizeLimit else { return false }
        entries.append(Entry(report: report, epoch: epoch))
        size += report.size
        return true
    }

    mutating func take() -> Entry? {
        guard !entries.isEmpty else { return nil }
        let entry = entries.removeFirst()
        size -= entry.report.size
        return entry
    }

    mutating func removeAll() {
        entries.removeAll()
        size = 0
    }
}
