import Synchronization

/// A mailbox for work of other threads. The lock is held only while an item is appended or all items are removed.
final class LoopMailbox<Item: Sendable>: Sendable {
    private struct Contents {
        var items: [Item] = []
        var isClosed = false
        var overflows = 0
    }

    /// The maximum number of items. Further ones are rejected and counted.
    static var capacity: Int { 65_536 }

    private let contents = Mutex(Contents())
    private let wake: WakeDescriptor

    init() throws(IOError) {
        wake = try WakeDescriptor()
    }

    /// The descriptor, which is readable while items are pending.
    var number: Int32 { wake.descriptor }

    var overflows: Int { contents.withLock { $0.overflows } }

    func append(_ item: Item) throws(IOError) {
        // Mutex rethrows untyped errors only, so the result is returned.
        let wasEmpty: Result<Bool, IOError> = contents.withLock { contents in
            if contents.isClosed { return .failure(.stopped) }
            guard contents.items.count < Self.capacity else {
                contents.overflows += 1
                return .failure(.mailboxFull)
            }
            contents.items.append(item)
            return .success(contents.items.count == 1)
        }
        // If the mailbox was not empty, the thread was woken already.
        if try wasEmpty.get() { ring() }
    }

    /// Rejects further items. Pending ones are still processed.
    func close() {
        contents.withLock { $0.isClosed = true }
        ring()
    }

    /// Makes the mailbox readable.
    func ring() { wake.signal() }

    /// Returns all items, and whether the mailbox is closed. It must be called when the descriptor is readable.
    func take() -> (items: [Item], isClosed: Bool) {
        wake.take()
        return contents.withLock { contents in
            defer { contents.items = [] }
            return (contents.items, contents.isClosed)
        }
    }
}
