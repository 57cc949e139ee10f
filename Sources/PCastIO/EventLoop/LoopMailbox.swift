import CLinux
import Glibc
import PCastMedia
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
    private let wake: Descriptor

    init() throws(IOError) {
        wake = try Descriptor(clinux_eventfd(), from: "eventfd")
    }

    /// Readable while there is something.
    var number: Int32 { wake.number }

    var overflows: Int { contents.withLock { $0.overflows } }

    func append(_ item: Item) throws(IOError) {
        let refusal: IOError? = contents.withLock { contents in
            if contents.isClosed { return .stopped }
            guard contents.items.count < Self.capacity else {
                contents.overflows += 1
                return .mailboxFull
            }
            contents.items.append(item)
            return nil
        }
        if let refusal { throw refusal }
        ring()
    }

    /// Refuses what comes from now on; what is there is still taken.
    ///
    /// - Returns: false when it was closed already.
    func close() -> Bool {
        let wasOpen = contents.withLock { contents in
            defer { contents.isClosed = true }
            return !contents.isClosed
        }
        ring()
        return wasOpen
    }

    private func ring() {
        var one: UInt64 = 1
        _ = write(wake.number, &one, 8)
    }

    /// Everything there is, and whether more may come.
    func take() -> (items: [Item], isClosed: Bool) {
        var count: UInt64 = 0
        _ = read(wake.number, &count, 8)
        return contents.withLock { contents in
            defer { contents.items = [] }
            return (contents.items, contents.isClosed)
        }
    }
}
