import Synchronization

/// Work for the loop's thread from any other: appended under a lock that is held for an append alone, taken in one go.
final class LoopMailbox<Item: Sendable>: Sendable {
    private struct Contents {
        var items: [Item] = []
        var isClosed = false
        var overflows = 0
    }

    /// Beyond it, work is refused and counted: the loop does not keep up.
    static var capacity: Int { 65_536 }

    private let contents = Mutex(Contents())
    private let wake: WakeDescriptor

    init() throws(IOError) {
        wake = try WakeDescriptor()
    }

    /// Readable while there is something.
    var number: Int32 { wake.descriptor }

    var overflows: Int { contents.withLock { $0.overflows } }

    func append(_ item: Item) throws(IOError) {
        // Mutex passes on errors of any type, hence the result.
        let wasEmpty: Result<Bool, IOError> = contents.withLock { contents in
            if contents.isClosed { return .failure(.stopped) }
            guard contents.items.count < Self.capacity else {
                contents.overflows += 1
                return .failure(.mailboxFull)
            }
            contents.items.append(item)
            return .success(contents.items.count == 1)
        }
        // Whoever appends to what is not empty knows that the wake is on its way.
        if try wasEmpty.get() { ring() }
    }

    /// Refuses what comes from now on; what is there is still taken.
    func close() {
        contents.withLock { $0.isClosed = true }
        ring()
    }

    /// Makes the mailbox readable.
    func ring() { wake.signal() }

    /// Everything there is, and whether it was the last. To be called when the descriptor is readable.
    func take() -> (items: [Item], isClosed: Bool) {
        wake.take()
        return contents.withLock { contents in
            defer { contents.items = [] }
            return (contents.items, contents.isClosed)
        }
    }
}
