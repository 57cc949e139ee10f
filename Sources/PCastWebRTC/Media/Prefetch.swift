import CIPSecMB

/// The steps of prefetching the memory that a viewer's packets need.
///
/// It is scattered over seven kilobytes, and the memory of a thousand viewers exceeds the processor's inner caches. The
/// sender therefore prefetches the memory of a viewer while it serves others. Each step reads the addresses that the
/// next one needs, which the step before has prefetched.
package enum Prefetch: CaseIterable, Sendable {
    /// The value itself, the objects it refers to, their tables, and the keys.
    case own, objects, tables, keys

    /// Prefetches memory without waiting for it.
    @inline(__always)
    package static func fetch(_ start: UnsafeRawPointer, _ count: Int) { pcast_prefetch(start, count) }

    /// Prefetches the memory from one stored property of a value to another one, in the order of their declaration.
    @inline(__always)
    package static func fetch<Last: ~Copyable>(_ first: UnsafeRawPointer, through last: UnsafePointer<Last>) {
        fetch(first, UnsafeRawPointer(last) - first + MemoryLayout<Last>.size)
    }

    /// Prefetches the header of an array, which is read before any element, and a number of bytes of its elements.
    @inline(__always)
    package static func fetch(arrayAt first: UnsafeRawPointer, _ count: Int = 0) {
        fetch(first - arrayHeadSize, arrayHeadSize + count)
    }

    /// The size of an array's header: type, reference count, count and capacity, 8 bytes each.
    private static let arrayHeadSize = 32
}
