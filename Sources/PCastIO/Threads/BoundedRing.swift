import Synchronization

/// A queue of fixed size from one thread to one other, without locks: sound to and from a device's callback.
///
/// Unchecked: only the producer writes `tail` and the slots from `tail` on, only the consumer writes `head` and the
/// slots from `head` to `tail`, and each learns of the other's writes by acquiring what was released.
public final class BoundedRing<Element: Sendable>: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Element>
    private let mask: Int
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    /// Elements that the ring holds at most: what was asked for, rounded up to a power of two.
    public var capacity: Int { mask + 1 }

    public init(capacity: Int) {
        precondition(capacity > 0)
        var size = 1
        while size < capacity { size *= 2 }
        slots = .allocate(capacity: size)
        mask = size - 1
    }

    deinit {
        while pop() != nil {}
        slots.deallocate()
    }

    /// The producer's. Answers false, and keeps nothing, when the ring is full.
    public func push(_ element: Element) -> Bool {
        let end = tail.load(ordering: .relaxed)
        guard end &- head.load(ordering: .acquiring) <= mask else { return false }
        (slots + (end & mask)).initialize(to: element)
        tail.store(end &+ 1, ordering: .releasing)
        return true
    }

    /// The consumer's. Nil when the ring is empty.
    public func pop() -> Element? {
        let start = head.load(ordering: .relaxed)
        guard start != tail.load(ordering: .acquiring) else { return nil }
        let element = (slots + (start & mask)).move()
        head.store(start &+ 1, ordering: .releasing)
        return element
    }

    /// Elements in the ring; the other thread may change it at once.
    public var count: Int { tail.load(ordering: .acquiring) &- head.load(ordering: .acquiring) }
}
