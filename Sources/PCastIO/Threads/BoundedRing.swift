import Synchronization

/// A lock-free queue of fixed capacity between one producer thread and one consumer thread. It transfers audio to and
/// from the callback of a device.
///
/// It is `@unchecked Sendable`: only the producer writes `tail` and the slots from `tail` on, and only the consumer
/// writes `head` and the slots from `head` to `tail`. Acquire and release order these writes.
package final class BoundedRing<Element: Sendable>: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Element>
    private let mask: Int
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    /// The maximum number of elements, which is the requested one rounded up to a power of two.
    package var capacity: Int { mask + 1 }

    /// Creates an empty queue. Traps if the capacity is not positive.
    package init(capacity: Int) {
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

    /// Appends an element, on the producer's thread. Returns false without storing it if the queue is full.
    package func push(_ element: Element) -> Bool {
        let end = tail.load(ordering: .relaxed)
        guard end &- head.load(ordering: .acquiring) <= mask else { return false }
        (slots + (end & mask)).initialize(to: element)
        tail.store(end &+ 1, ordering: .releasing)
        return true
    }

    /// Removes and returns the first element, on the consumer's thread; nil if the queue is empty.
    package func pop() -> Element? {
        let start = head.load(ordering: .relaxed)
        guard start != tail.load(ordering: .acquiring) else { return nil }
        let element = (slots + (start & mask)).move()
        head.store(start &+ 1, ordering: .releasing)
        return element
    }

    /// The number of elements. The other thread may change it at any time.
    package var count: Int { tail.load(ordering: .acquiring) &- head.load(ordering: .acquiring) }
}
