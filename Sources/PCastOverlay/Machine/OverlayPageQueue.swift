/// The queue of messages for one page, in order. Of time reports only the newest is kept. All others are kept up to a
/// limit, after which the page has to be closed.
struct OverlayPageQueue {
    /// The maximum number of messages.
    static let messageLimit = 256
    /// The maximum size of all messages in bytes.
    static let sizeLimit = 1 << 20

    /// A message and the epoch that it belongs to.
    struct Entry: Hashable {
        var report: OverlayReport
        var epoch: Int64
    }

    private var entries: [Entry] = []
    /// The size of all messages in bytes.
    private var size = 0

    var count: Int { entries.count }

    /// Adds a message. Returns false if the queue is full and the message was not added.
    mutating func add(_ report: OverlayReport, epoch: Int64) -> Bool {
        if report.isReplaceable, let index = entries.lastIndex(where: { $0.report.isReplaceable }) {
            size -= entries.remove(at: index).report.size
        }
        guard entries.count < Self.messageLimit, size + report.size <= Self.sizeLimit else { return false }
        entries.append(Entry(report: report, epoch: epoch))
        size += report.size
        return true
    }

    /// Removes and returns the oldest message; nil if the queue is empty.
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
