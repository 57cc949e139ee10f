/// Datagrams to send, stored one after the other in one block of memory that is reused.
///
/// A machine reserves the maximum size of a datagram, writes it, and commits its actual size. Adjacent datagrams of one
/// path and size can be sent in one system call (`UDP_SEGMENT`). Therefore a machine appends the packets of a frame
/// subscriber by subscriber.
///
/// It is marked `@safe` for these reasons. It owns its memory until `deinit`. Each entry and each path is written
/// before `count` or the number of paths includes it, and reading checks the index against them. ``reserve()`` returns
/// memory within the block, which belongs to the caller until the next call. The batch has one owner.
@safe
public struct DatagramBatch: ~Copyable {
    /// The position of a datagram in the memory, and its path.
    public struct Entry {
        /// The path to send along.
        public let path: NetworkPath
        /// The offset in `memory` in bytes.
        public let offset: Int
        /// The size in bytes.
        public let length: Int
    }

    /// An entry as it is stored. Adjacent entries share a path.
    private struct StoredEntry {
        var offset: Int32
        var length: UInt16
        var path: UInt16
    }

    /// The bytes of all datagrams, without gaps.
    public let memory: UnsafeMutableRawBufferPointer
    private let entries: UnsafeMutablePointer<StoredEntry>
    private let paths: UnsafeMutablePointer<NetworkPath>
    private var pathCount = 0
    @usableFromInline let entryCapacity: Int

    /// The number of committed datagrams.
    public private(set) var count = 0

    /// The number of committed bytes.
    public private(set) var byteCount = 0

    /// The maximum size in bytes of a datagram, which `reserve` guarantees.
    public static let maximumDatagramSize = 2048

    /// Allocates a batch. Traps if `byteCapacity` is less than `maximumDatagramSize` or exceeds `Int32.max`, or if
    /// `datagramCapacity` is not in the range from 1 to 65,535.
    public init(byteCapacity: Int = 512 * 1024, datagramCapacity: Int = 512) {
        precondition(byteCapacity >= Self.maximumDatagramSize && byteCapacity <= Int32.max)
        precondition(datagramCapacity > 0 && datagramCapacity <= UInt16.max)
        unsafe memory = .allocate(byteCount: byteCapacity, alignment: 64)
        unsafe entries = .allocate(capacity: datagramCapacity)
        unsafe paths = .allocate(capacity: datagramCapacity)
        entryCapacity = datagramCapacity
    }

    deinit {
        unsafe memory.deallocate()
        unsafe entries.deallocate()
        unsafe paths.deallocate()
    }

    /// Whether no datagram is committed.
    public var isEmpty: Bool { count == 0 }

    /// Returns memory for one datagram of up to `maximumDatagramSize` bytes; nil if the batch is full and must be sent
    /// first.
    @inlinable
    public mutating func reserve() -> MutableByteView? {
        guard hasSpace else { return nil }
        return unsafe MutableByteView(
            UnsafeMutableRawBufferPointer(rebasing: memory[byteCount..<byteCount + Self.maximumDatagramSize]))
    }

    /// Whether one more datagram of any size fits.
    @inlinable
    public var hasSpace: Bool {
        unsafe count < entryCapacity && memory.count - byteCount >= Self.maximumDatagramSize
    }

    /// Returns whether a number of datagrams of any size fit, or the batch is empty. Datagrams that belong together
    /// begin in a batch that has space for all of them.
    @inline(__always)
    public func hasSpace(forAll datagrams: Int) -> Bool {
        unsafe count == 0
            || (count + datagrams <= entryCapacity && memory.count - byteCount >= datagrams * Self.maximumDatagramSize)
    }

    /// Commits the first `length` bytes of the memory that `reserve` returned last, to be sent along `path`.
    public mutating func commit(length: Int, to path: NetworkPath) {
        if unsafe pathCount == 0 || paths[pathCount - 1] != path {
            precondition(hasSpace)
            unsafe (paths + pathCount).initialize(to: path)
            pathCount += 1
        }
        commitMore(length: length)
    }

    /// Commits the first `length` bytes of the memory that `reserve` returned last, to be sent along the path of the
    /// previous datagram. Traps if there is none.
    public mutating func commitMore(length: Int) {
        precondition(hasSpace && pathCount > 0 && length >= 0 && length <= Self.maximumDatagramSize)
        unsafe (entries + count).initialize(
            to: StoredEntry(
                offset: Int32(truncatingIfNeeded: byteCount), length: UInt16(truncatingIfNeeded: length),
                path: UInt16(truncatingIfNeeded: pathCount - 1)))
        count += 1
        byteCount += length
    }

    /// Appends a copy of `bytes`. Returns false if the batch is full.
    public mutating func append(_ bytes: [UInt8], to path: NetworkPath) -> Bool {
        guard let buffer = reserve() else { return false }
        buffer.copyBytes(from: bytes)
        commit(length: bytes.count, to: path)
        return true
    }

    /// The datagram at an index, in the order of the commits. Traps if the index is out of range.
    public subscript(index: Int) -> Entry {
        precondition(index >= 0 && index < count)
        let entry = unsafe entries[index]
        return unsafe Entry(path: paths[Int(entry.path)], offset: Int(entry.offset), length: Int(entry.length))
    }

    /// Returns the size in bytes of the entry at `index` if it follows an entry of the same path; nil otherwise.
    public func lengthOfMore(_ index: Int) -> Int? {
        precondition(index >= 0 && index < count)
        guard index > 0, unsafe entries[index].path == entries[index - 1].path else { return nil }
        return unsafe Int(entries[index].length)
    }

    /// Returns the bytes of one datagram. They are valid until the batch changes.
    public func bytes(of entry: Entry) -> ByteView {
        unsafe ByteView(UnsafeRawBufferPointer(rebasing: memory[entry.offset..<entry.offset + entry.length]))
    }

    /// Removes all datagrams and keeps the memory.
    public mutating func removeAll() {
        count = 0
        byteCount = 0
        pathCount = 0
    }
}
