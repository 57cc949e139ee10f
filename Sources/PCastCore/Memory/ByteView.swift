/// A view of bytes that another value owns, for reading.
///
/// It is as small as a buffer pointer, and is passed for each packet without a copy or a reference count. Unlike a
/// `Span` it can be stored in a value and returned by a closure.
///
/// The type is marked `@safe` for these reasons:
/// * Bounds: each access is checked against ``count``, in all builds.
/// * Lifetime: a view is a parameter or a local value, or its source documents how long it is valid. Only
///   initializers from a pointer create a view, and they are unsafe.
/// * Exclusivity: the owner of the bytes does not change them while a view is read. One thread at a time uses a packet.
@safe
public struct ByteView: RandomAccessCollection {
    /// The address of the first byte. Without bytes it may be any address except nil.
    @usableFromInline
    let start: UnsafeRawPointer
    /// The number of bytes.
    public let count: Int

    @inlinable @inline(__always)
    init(start: UnsafeRawPointer, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    /// Creates an empty view.
    @inlinable @inline(__always)
    public init() {
        unsafe start = UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
        count = 0
    }

    /// Creates a view of a buffer, which must be valid while the view is used.
    @inlinable @inline(__always)
    public init(_ buffer: UnsafeRawBufferPointer) {
        unsafe start = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
        count = buffer.count
    }

    /// Creates a view of the same bytes.
    @inlinable @inline(__always)
    public init(_ view: MutableByteView) {
        unsafe start = UnsafeRawPointer(view.start)
        count = view.count
    }

    /// The index of the first byte, which is 0.
    @inlinable @inline(__always)
    public var startIndex: Int { 0 }

    /// The number of bytes.
    @inlinable @inline(__always)
    public var endIndex: Int { count }

    /// The byte at an index. Traps if the index is out of range.
    @inlinable @inline(__always)
    public subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count, "the index is out of the view's range")
        return unsafe start.load(fromByteOffset: index, as: UInt8.self)
    }

    /// Returns a view of a range of the bytes, whose indices begin at 0. Traps if the range is not within the view.
    @inlinable @inline(__always)
    public func extracting(_ range: Range<Int>) -> ByteView {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range is not within the view")
        return unsafe ByteView(start: start + range.lowerBound, count: range.count)
    }

    /// Returns a view of a range of the bytes, whose indices begin at 0. Traps if the range is not within the view.
    @inlinable @inline(__always)
    public func extracting(_ range: some RangeExpression<Int>) -> ByteView { extracting(range.relative(to: 0..<count)) }

    /// Returns the integer at an offset in the byte order of the processor, at any alignment. Traps if the offset is
    /// out of range.
    @inlinable @inline(__always)
    public func loadUnaligned<Number: FixedWidthInteger & BitwiseCopyable>(
        fromByteOffset offset: Int, as type: Number.Type
    ) -> Number {
        precondition(
            offset >= 0 && MemoryLayout<Number>.size <= count &- offset, "the integer is not within the view")
        return unsafe start.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// The bytes as a span, which is valid as long as the view.
    @inlinable @inline(__always)
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let buffer = unsafe UnsafeRawBufferPointer(start: start, count: count)
            return unsafe _overrideLifetime(Span(_unsafeBytes: buffer), borrowing: self)
        }
    }

    /// The bytes as a buffer pointer, for a C function. It is valid as long as the view.
    @inlinable @inline(__always)
    public var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: count) }

    /// Calls a function with the bytes, as a collection requires.
    @inlinable @inline(__always)
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? { try unsafe unsafeBytes.withMemoryRebound(to: UInt8.self, body) }

    /// Returns whether both views begin at the same address.
    @inlinable @inline(__always)
    public func beginsLike(_ other: MutableByteView) -> Bool { unsafe start == UnsafeRawPointer(other.start) }
}

/// A view of bytes that another value owns, for reading and writing.
///
/// It is marked `@safe` for the same reasons as ``ByteView``. In addition, the bytes have one writer at a time: the
/// buffer of a received datagram belongs to the machine until `handle` returns, and memory that a batch or a log
/// reserves belongs to the caller until it commits or appends it.
@safe
public struct MutableByteView: RandomAccessCollection {
    /// The address of the first byte. Without bytes it may be any address except nil.
    @usableFromInline
    let start: UnsafeMutableRawPointer
    /// The number of bytes.
    public let count: Int

    @inlinable @inline(__always)
    init(start: UnsafeMutableRawPointer, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    /// Creates a view of a buffer, which must be valid while the view is used.
    @inlinable @inline(__always)
    public init(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe start = buffer.baseAddress ?? UnsafeMutableRawPointer(bitPattern: 64).unsafelyUnwrapped
        count = buffer.count
    }

    /// Creates a view of a buffer, which must be valid while the view is used.
    @inlinable @inline(__always)
    public init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
        unsafe self.init(UnsafeMutableRawBufferPointer(buffer))
    }

    /// The index of the first byte, which is 0.
    @inlinable @inline(__always)
    public var startIndex: Int { 0 }

    /// The number of bytes.
    @inlinable @inline(__always)
    public var endIndex: Int { count }

    /// The byte at an index. Traps if the index is out of range.
    @inlinable @inline(__always)
    public subscript(index: Int) -> UInt8 {
        get {
            precondition(index >= 0 && index < count, "the index is out of the view's range")
            return unsafe start.load(fromByteOffset: index, as: UInt8.self)
        }
        nonmutating set {
            precondition(index >= 0 && index < count, "the index is out of the view's range")
            unsafe start.storeBytes(of: newValue, toByteOffset: index, as: UInt8.self)
        }
    }

    /// Returns a view of a range of the bytes, whose indices begin at 0. Traps if the range is not within the view.
    @inlinable @inline(__always)
    public func extracting(_ range: Range<Int>) -> MutableByteView {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range is not within the view")
        return unsafe MutableByteView(start: start + range.lowerBound, count: range.count)
    }

    /// Returns a view of a range of the bytes, whose indices begin at 0. Traps if the range is not within the view.
    @inlinable @inline(__always)
    public func extracting(_ range: some RangeExpression<Int>) -> MutableByteView {
        extracting(range.relative(to: 0..<count))
    }

    /// Returns the integer at an offset in the byte order of the processor, at any alignment. Traps if the offset is
    /// out of range.
    @inlinable @inline(__always)
    public func loadUnaligned<Number: FixedWidthInteger & BitwiseCopyable>(
        fromByteOffset offset: Int, as type: Number.Type
    ) -> Number { ByteView(self).loadUnaligned(fromByteOffset: offset, as: type) }

    /// Writes an integer at an offset in the byte order of the processor, at any alignment. Traps if the offset is out
    /// of range.
    @inlinable @inline(__always)
    public func storeBytes<Number: FixedWidthInteger & BitwiseCopyable>(
        of number: Number, toByteOffset offset: Int, as type: Number.Type
    ) {
        precondition(
            offset >= 0 && MemoryLayout<Number>.size <= count &- offset, "the integer is not within the view")
        unsafe start.storeBytes(of: number, toByteOffset: offset, as: type)
    }

    /// Sets all bytes to one value.
    @inlinable
    public func update(repeating byte: UInt8) {
        unsafe start.initializeMemory(as: UInt8.self, repeating: byte, count: count)
    }

    /// Copies bytes to the beginning of the view, also from the same memory. Traps if there are more than ``count``.
    @inlinable @inline(__always)
    public func copyMemory(from source: ByteView) {
        precondition(source.count <= count, "the bytes do not fit into the view")
        unsafe start.copyMemory(from: source.start, byteCount: source.count)
    }

    /// Copies an array to the beginning of the view. Traps if it has more than ``count`` bytes.
    @inlinable @inline(__always)
    public func copyBytes(from source: [UInt8]) { source.withByteView { copyMemory(from: $0) } }

    /// Copies the bytes of a span to the beginning of the view. Traps if there are more than ``count``.
    @inlinable @inline(__always)
    public func copyBytes(from source: Span<UInt8>) {
        precondition(source.count <= count, "the bytes do not fit into the view")
        unsafe source.withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress else { return }
            unsafe start.copyMemory(from: first, byteCount: bytes.count)
        }
    }

    /// The bytes as a span, which is valid as long as the view.
    @inlinable @inline(__always)
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let buffer = unsafe UnsafeRawBufferPointer(start: start, count: count)
            return unsafe _overrideLifetime(Span(_unsafeBytes: buffer), borrowing: self)
        }
    }

    /// The bytes as a buffer pointer, for a C function. It is valid as long as the view.
    @inlinable @inline(__always)
    public var unsafeBytes: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: start, count: count)
    }

    /// Calls a function with the bytes, as a collection requires.
    @inlinable @inline(__always)
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? { try unsafe ByteView(self).unsafeBytes.withMemoryRebound(to: UInt8.self, body) }
}

/// Memory that a value owns and frees with its end. It is not initialized, so that unused memory is not touched.
///
/// It is marked `@safe` because its views are checked, and its owner does not use a view after its own end.
@safe
public struct ByteStorage: ~Copyable {
    /// The whole memory, which is valid as long as the storage.
    public let bytes: MutableByteView

    /// Allocates memory.
    @inlinable
    public init(byteCount: Int, alignment: Int = 16) {
        bytes = unsafe MutableByteView(.allocate(byteCount: byteCount, alignment: alignment))
    }

    deinit { unsafe bytes.start.deallocate() }
}

extension Array where Element: BitwiseCopyable {
    /// Calls a function with a view of the bytes of the elements, which is valid during the call.
    @inlinable @inline(__always)
    public func withByteView<Result, Failure: Error>(
        _ body: (ByteView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBufferPointer { (buffer) throws(Failure) in
            try unsafe body(ByteView(UnsafeRawBufferPointer(buffer)))
        }
    }

    /// Calls a function with a mutable view of the bytes of the elements, which is valid during the call.
    @inlinable @inline(__always)
    public mutating func withMutableByteView<Result, Failure: Error>(
        _ body: (MutableByteView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try unsafe body(MutableByteView(UnsafeMutableRawBufferPointer(buffer)))
        }
    }
}

extension ArraySlice where Element: BitwiseCopyable {
    /// Calls a function with a view of the bytes of the elements, which is valid during the call.
    @inlinable
    public func withByteView<Result>(_ body: (ByteView) -> Result) -> Result {
        unsafe withUnsafeBytes { unsafe body(ByteView($0)) }
    }
}

extension Array where Element == UInt8 {
    /// Creates an array of up to a number of bytes, which a function writes.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes.
    ///   - write: The function, which writes bytes from the beginning of the view and returns their number.
    @inlinable
    public init(capacity: Int, write: (MutableByteView) -> Int) {
        unsafe self.init(unsafeUninitializedCapacity: capacity) { buffer, count in
            count = unsafe write(MutableByteView(buffer))
        }
    }

    /// Appends the bytes of a span.
    @inlinable
    public mutating func append(contentsOf bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Creates an array of the bytes of a span.
    @inlinable
    public init(_ bytes: Span<UInt8>) {
        self = []
        append(contentsOf: bytes)
    }
}

/// Calls a function with a view of the bytes of a value, which is valid during the call.
@inlinable @inline(__always)
public func withByteView<Value: BitwiseCopyable, Result>(of value: Value, _ body: (ByteView) -> Result) -> Result {
    unsafe withUnsafeBytes(of: value) { unsafe body(ByteView($0)) }
}

/// Calls a function with temporary memory, which is on the stack if it is small. It is not initialized.
@inlinable @inline(__always)
public func withTemporaryBytes<Result>(_ byteCount: Int, _ body: (MutableByteView) -> Result) -> Result {
    unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 16) { body(unsafe MutableByteView($0)) }
}

/// Calls a function that appends to temporary memory, which is on the stack if it is small. The elements end with the
/// call.
@inlinable @inline(__always)
public func withTemporaryElements<Element, Result>(
    of type: Element.Type, capacity: Int, _ body: (inout OutputSpan<Element>) -> Result
) -> Result {
    unsafe withUnsafeTemporaryAllocation(of: type, capacity: capacity) { buffer in
        var elements = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
        return body(&elements)
    }
}

extension Span<UInt8> {
    /// Calls a function with a view of the bytes, which is valid during the call.
    @inlinable @inline(__always)
    public func withByteView<Result>(_ body: (ByteView) -> Result) -> Result {
        unsafe withUnsafeBytes { unsafe body(ByteView($0)) }
    }
}

extension StaticString {
    /// The UTF-8 text, which is part of the program.
    @inlinable
    public var bytes: ByteView { unsafe ByteView(UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)) }
}
