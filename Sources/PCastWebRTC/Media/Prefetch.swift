import CIPSecMB
package import PCastCore

/// The steps of prefetching the memory that a viewer's packets need.
///
/// It is scattered over seven kilobytes, and the memory of a thousand viewers exceeds the processor's inner caches. The
/// sender therefore prefetches the memory of a viewer while it serves others. Each step reads the addresses that the
/// next one needs, which the step before has prefetched.
///
/// A prefetch neither reads nor writes memory that the program can see, and an invalid address has no effect. Therefore
/// ``fetch(_:)`` is safe for any range of addresses.
package enum Prefetch: CaseIterable, Sendable {
    /// The value itself, the objects it refers to, their tables, and the keys.
    case own, objects, tables, keys

    /// Prefetches memory without waiting for it.
    @inline(__always)
    package static func fetch(_ range: AddressRange) {
        unsafe pcast_prefetch(UnsafeRawPointer(bitPattern: range.start), range.count)
    }

    /// Prefetches the header of an array, which is read before any element, and a number of bytes of its elements.
    @inline(__always)
    package static func fetch(arrayAt elements: AddressRange, _ count: Int = 0) {
        fetch(AddressRange(start: elements.start &- UInt(arrayHeadSize), count: arrayHeadSize + count))
    }

    /// The size of an array's header: type, reference count, count and capacity, 8 bytes each.
    private static let arrayHeadSize = 32
}

/// A reference to an object that its owner also retains. It can be read without an access to the object, whose memory
/// may be being prefetched.
///
/// It is marked `@safe` because its owner has a strong reference to the same object, which exists as long as this one.
@safe
struct UnretainedReference<Object: AnyObject> {
    private let reference: Unmanaged<Object>

    @inline(__always)
    init(_ object: Object) { unsafe reference = Unmanaged.passUnretained(object) }

    /// Returns the first bytes of the object's memory.
    @inline(__always)
    func memory(_ size: Int) -> AddressRange {
        AddressRange(start: UInt(bitPattern: unsafe reference.toOpaque()), count: size)
    }

    /// Calls a function with the object, without counting a reference.
    @inline(__always)
    func withObject<Result>(_ body: (Object) -> Result) -> Result { unsafe reference._withUnsafeGuaranteedRef(body) }
}
