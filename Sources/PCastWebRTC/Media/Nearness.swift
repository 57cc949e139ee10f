import CIPSecMB

/// What a viewer's packets need is scattered over seven kilobytes, and a thousand viewers' are more than the processor's
/// nearer caches hold. Whoever sends to many has it brought near while others are served: a step further each time, as
/// each step finds the addresses of the next where the one before has brought them.
public enum Nearness: CaseIterable, Sendable {
    case own, objects, tables, keys

    /// Has memory brought near, without waiting for it.
    @inline(__always)
    public static func bring(_ start: UnsafeRawPointer, _ count: Int) { pcast_prefetch(start, count) }

    /// Has brought near what lies from one of a value's fields to another of them, in the order in which they are declared.
    @inline(__always)
    public static func bring<Last: ~Copyable>(_ first: UnsafeRawPointer, through last: UnsafePointer<Last>) {
        bring(first, UnsafeRawPointer(last) - first + MemoryLayout<Last>.size)
    }

    /// Has brought near what an array has in front of its elements, which is looked at before any of them is, and so many
    /// bytes of them.
    @inline(__always)
    public static func bring(arrayAt first: UnsafeRawPointer, _ count: Int = 0) {
        bring(first - arrayHeadSize, arrayHeadSize + count)
    }

    /// Swift's type and count of references, then the array's count and capacity, eight bytes each.
    private static let arrayHeadSize = 32
}
