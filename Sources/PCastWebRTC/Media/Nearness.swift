import CIPSecMB

/// What a viewer's packets need is scattered over seven kilobytes, and a thousand viewers' are more than the processor's
/// nearer caches hold. Whoever sends to many has it brought near while others are served: a step further each time, as
/// each step finds the addresses of the next where the one before has brought them.
public enum Nearness: CaseIterable, Sendable {
    case own, objects, tables, keys

    /// Has memory brought near, without waiting for it.
    @inline(__always)
    public static func bring(_ start: UnsafeRawPointer, _ count: Int) { pcast_prefetch(start, count) }
}
