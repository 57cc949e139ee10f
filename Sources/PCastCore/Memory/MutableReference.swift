/// A reference to a value at a stable address, for reading. Reading neither copies the value nor counts a reference.
///
/// It is marked `@safe` for the same reasons as ``MutableReference``.
@safe
public struct Reference<Value: ~Copyable> {
    @usableFromInline
    let pointer: UnsafePointer<Value>

    /// Creates a reference to an initialized value, which must stay at its address while the reference is used.
    @inlinable @inline(__always)
    public init(_ pointer: UnsafePointer<Value>) { unsafe self.pointer = pointer }

    /// The value in place.
    @inlinable
    public var pointee: Value {
        @_transparent
        unsafeAddress { unsafe pointer }
    }
}

/// A reference to a value at a stable address, such as a viewer or a track, for reading and changing in place.
///
/// An `inout` access through ``pointee`` neither copies the value nor counts a reference, and no other value of the
/// container is accessed.
///
/// The type is marked `@safe` for these reasons:
/// * Bounds: a reference is to exactly one initialized value. The container checks the index before it returns one.
/// * Lifetime: a reference is a parameter or a local value of the container's owner, and is not used after the value
///   was removed. Only initializers from a pointer create a reference, and they are unsafe.
/// * Exclusivity: the containers belong to a machine, which one thread uses at a time. A function that changes a value
///   does not hold a second reference to a part of it.
@safe
public struct MutableReference<Value: ~Copyable> {
    @usableFromInline
    let pointer: UnsafeMutablePointer<Value>

    /// Creates a reference to an initialized value, which must stay at its address while the reference is used.
    @inlinable @inline(__always)
    public init(_ pointer: UnsafeMutablePointer<Value>) { unsafe self.pointer = pointer }

    /// Moves a value to its own memory, which ``deallocate()`` frees.
    @inlinable
    public static func allocate(_ value: consuming Value) -> MutableReference {
        let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe pointer.initialize(to: value)
        return unsafe MutableReference(pointer)
    }

    /// Ends the value of ``allocate(_:)`` and frees its memory. No reference to it may be used afterwards.
    @inlinable @unsafe
    public func deallocate() {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    /// The value in place.
    @inlinable
    public var pointee: Value {
        @_transparent
        unsafeAddress { unsafe UnsafePointer(pointer) }
        @_transparent
        nonmutating unsafeMutableAddress { unsafe pointer }
    }
}

/// A range of addresses, for prefetching.
///
/// It consists of integers. Nothing is read through it, and a prefetch of an address that has become invalid has no
/// effect. Therefore it need not be valid.
public struct AddressRange: Sendable {
    /// The first address.
    public let start: UInt
    /// The number of bytes.
    public let count: Int

    /// Creates a range.
    @inlinable @inline(__always)
    public init(start: UInt, count: Int) {
        self.start = start
        self.count = count
    }

    /// Creates the range from one stored property of a value to another one, in the order of their declaration.
    @inlinable @inline(__always)
    public init<First: ~Copyable, Last: ~Copyable>(from first: inout First, through last: inout Last) {
        start = unsafe withUnsafeMutablePointer(to: &first) { UInt(bitPattern: $0) }
        let end = unsafe withUnsafeMutablePointer(to: &last) { UInt(bitPattern: $0) }
        count = Int(bitPattern: end &- start) + MemoryLayout<Last>.size
    }

    /// Creates the range of a value.
    @inlinable @inline(__always)
    public init<Value: ~Copyable>(of value: MutableReference<Value>) {
        start = unsafe UInt(bitPattern: value.pointer)
        count = MemoryLayout<Value>.size
    }

    /// Creates the range of the elements of an array; empty for an empty array. It does not access the header of the
    /// array, which may not be in the cache: the caller states the number of elements.
    @inlinable @inline(__always)
    public init<Element>(elementsOf array: borrowing [Element], count: Int) {
        start = unsafe array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        self.count = count * MemoryLayout<Element>.stride
    }

    /// Returns the range without a number of bytes at its beginning.
    @inlinable @inline(__always)
    public func dropping(_ size: Int) -> AddressRange {
        AddressRange(start: start &+ UInt(bitPattern: size), count: count - size)
    }

    /// Returns the beginning of the range: at most a number of bytes.
    @inlinable @inline(__always)
    public func prefix(_ size: Int) -> AddressRange { AddressRange(start: start, count: min(size, count)) }
}
