/// Datagrams on their way out, laid out one behind the other in one block of memory that is used again and again.
///
/// A machine reserves the largest size that a datagram may have, writes it, and commits its true size. Datagrams for
/// one path that stand next to each other and are of one size can leave in one system call (UDP_SEGMENT), so a
/// machine appends the packets of a frame viewer by viewer.
public struct DatagramBatch: ~Copyable {
    /// Where one datagram lies, and where it goes.
    public struct Entry {
        public let path: NetworkPath
        public let offset: Int
        public let length: Int
    }

    /// An entry as it is kept: neighbours share a path.
    private struct Place {
        var offset: Int32
        var length: UInt16
        var path: UInt16
    }

    /// The bytes of all datagrams, without gaps.
    public let memory: UnsafeMutableRawBufferPointer
    private let places: UnsafeMutablePointer<Place>
    private let paths: UnsafeMutablePointer<NetworkPath>
    private var pathCount = 0
    @usableFromInline let entryCapacity: Int

    /// Datagrams committed.
    public private(set) var count = 0

    /// Bytes committed.
    public private(set) var byteCount = 0

    /// The largest datagram that `reserve` gives room for, in bytes.
    public static let maximumDatagramSize = 2048

    public init(byteCapacity: Int = 512 * 1024, datagramCapacity: Int = 512) {
        precondition(byteCapacity >= Self.maximumDatagramSize && byteCapacity <= Int32.max)
        precondition(datagramCapacity > 0 && datagramCapacity <= UInt16.max)
        memory = .allocate(byteCount: byteCapacity, alignment: 64)
        places = .allocate(capacity: datagramCapacity)
        paths = .allocate(capacity: datagramCapacity)
        entryCapacity = datagramCapacity
    }

    deinit {
        memory.deallocate()
        places.deallocate()
        paths.deallocate()
    }

    public var isEmpty: Bool { count == 0 }

    /// Room for one datagram of up to `maximumDatagramSize` bytes; nil when the batch is full and must be sent first.
    @inlinable
    public mutating func reserve() -> UnsafeMutableRawBufferPointer? {
        guard hasRoom else { return nil }
        return UnsafeMutableRawBufferPointer(
            rebasing: memory[byteCount..<byteCount + Self.maximumDatagramSize])
    }

    @inlinable
    public var hasRoom: Bool {
        count < entryCapacity && memory.count - byteCount >= Self.maximumDatagramSize
    }

    /// Whether so many datagrams of any size fit in, or it is empty: what belongs together is begun in a batch that has
    /// room for all of it.
    @inline(__always)
    public func hasRoom(forAll datagrams: Int) -> Bool {
        count == 0
            || (count + datagrams <= entryCapacity && memory.count - byteCount >= datagrams * Self.maximumDatagramSize)
    }

    /// Keeps the first `length` bytes of what `reserve` gave last, to be sent along `path`.
    public mutating func commit(length: Int, to path: NetworkPath) {
        if pathCount == 0 || paths[pathCount - 1] != path {
            precondition(hasRoom)
            (paths + pathCount).initialize(to: path)
            pathCount += 1
        }
        commitMore(length: length)
    }

    /// Keeps the first `length` bytes of what `reserve` gave last, to be sent along the path of the datagram before it.
    public mutating func commitMore(length: Int) {
        precondition(hasRoom && pathCount > 0 && length >= 0 && length <= Self.maximumDatagramSize)
        (places + count).initialize(
            to: Place(
                offset: Int32(truncatingIfNeeded: byteCount), length: UInt16(truncatingIfNeeded: length),
                path: UInt16(truncatingIfNeeded: pathCount - 1)))
        count += 1
        byteCount += length
    }

    /// Appends a copy of `bytes`; answers false when the batch is full.
    public mutating func append(_ bytes: [UInt8], to path: NetworkPath) -> Bool {
        guard let room = reserve() else { return false }
        bytes.withUnsafeBytes { room.copyMemory(from: $0) }
        commit(length: bytes.count, to: path)
        return true
    }

    public subscript(index: Int) -> Entry {
        precondition(index >= 0 && index < count)
        let place = places[index]
        return Entry(path: paths[Int(place.path)], offset: Int(place.offset), length: Int(place.length))
    }

    /// Bytes of an entry that goes along the same path as the one before it and lies behind it; nil of one that does not.
    public func lengthOfMore(_ index: Int) -> Int? {
        precondition(index >= 0 && index < count)
        guard index > 0, places[index].path == places[index - 1].path else { return nil }
        return Int(places[index].length)
    }

    /// The bytes of one datagram.
    public func bytes(of entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[entry.offset..<entry.offset + entry.length])
    }

    public mutating func removeAll() {
        count = 0
        byteCount = 0
        pathCount = 0
    }
}
