import PCastCore
import Synchronization

/// A mailbox for work of other threads. The lock is held only while an item is appended or all items are removed.
///
/// An item wakes the thread, unless it is deferrable and such items are frequent. The thread then looks for them at the
/// times that `take` returns.
final class LoopMailbox<Item: Sendable>: Sendable {
    private struct Contents {
        var items: [Item] = []
        /// The number of deferrable items since the last `take`.
        var deferrableCount = 0
        var isClosed = false
        var overflows = 0
        /// Whether the thread is woken for an item that it has not taken.
        var isSignalled = false
        var coalescing = WakeCoalescing()
    }

    /// The maximum number of items. Further ones are rejected and counted.
    static var capacity: Int { 65_536 }

    private let contents = Mutex(Contents())
    private let wake: WakeDescriptor

    init() throws(IOError) {
        wake = try WakeDescriptor()
    }

    /// The descriptor, which is readable while the thread must take items.
    var number: Int32 { wake.descriptor }

    var overflows: Int { contents.withLock { $0.overflows } }

    /// Adds an item. `isDeferrable` is whether it may wait for ``WakeCoalescing/interval`` while such items are frequent.
    func append(_ item: Item, isDeferrable: Bool = false) throws(IOError) {
        // Mutex rethrows untyped errors only, so the result is returned.
        let mustSignal: Result<Bool, IOError> = contents.withLock { contents in
            if contents.isClosed { return .failure(.stopped) }
            guard contents.items.count < Self.capacity else {
                contents.overflows += 1
                return .failure(.mailboxFull)
            }
            contents.items.append(item)
            if isDeferrable {
                contents.deferrableCount += 1
                if contents.coalescing.next != nil { return .success(false) }
            }
            // A thread that is woken for another item takes this one, too.
            defer { contents.isSignalled = true }
            return .success(!contents.isSignalled)
        }
        if try mustSignal.get() { signal() }
    }

    /// Rejects further items. Pending ones are still processed.
    func close() {
        contents.withLock { $0.isClosed = true }
        signal()
    }

    /// Makes the mailbox readable.
    func signal() { wake.signal() }

    /// Removes all items.
    ///
    /// - Parameters:
    ///   - isSignalled: Whether the descriptor is readable.
    ///   - now: The current time.
    /// - Returns: The items, whether the mailbox is closed, and the time at which the function must be called again; nil to
    ///   wait until the descriptor is readable.
    func take(isSignalled: Bool, at now: Instant) -> (items: [Item], isClosed: Bool, next: Instant?) {
        if isSignalled { wake.take() }
        return contents.withLock { contents in
            // An item that comes next wakes the thread itself. It does not rely on a thread that has added an item which is
            // taken here, and has not signalled yet.
            contents.isSignalled = false
            contents.coalescing.taken(contents.deferrableCount, at: now)
            defer { (contents.items, contents.deferrableCount) = ([], 0) }
            return (contents.items, contents.isClosed, contents.coalescing.next)
        }
    }
}
