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

    /// The bytes of all datagrams, without gaps.
    public let memory: UnsafeMutableRawBufferPointer
    private let entryMemory: UnsafeMutablePointer<Entry>
    private let entryCapacity: Int

    /// Datagrams committed.
    public private(set) var count = 0

    /// Bytes committed.
    public private(set) var byteCount = 0

    /// The largest datagram that `reserve` gives room for, in bytes.
    public static let maximumDatagramSize = 2048

    public init(byteCapacity: Int = 512 * 1024, datagramCapacity: Int = 512) {
        precondition(byteCapacity >= Self.maximumDatagramSize && datagramCapacity > 0)
        memory = .allocate(byteCount: byteCapacity, alignment: 64)
        entryMemory = .allocate(capacity: datagramCapacity)
        entryCapacity = datagramCapacity
    }

    deinit {
        memory.deallocate()
        entryMemory.deallocate()
    }

    public var isEmpty: Bool { count == 0 }

    /// Room for one datagram of up to `maximumDatagramSize` bytes; nil when the batch is full and must be sent first.
    @inlinable
    public mutating func reserve() -> UnsafeMutableRawBufferPointer? {
        guard hasRoom else { return nil }
        return UnsafeMutableRawBufferPointer(
            rebasing: memory[byteCount..<byteCount + Self.maximumDatagramSize])
    }

    public var hasRoom: Bool {
        count < entryCapacity && memory.count - byteCount >= Self.maximumDatagramSize
    }

    /// Keeps the first `length` bytes of what `reserve` gave last, to be sent along `path`.
    public mutating func commit(length: Int, to path: NetworkPath) {
        precondition(hasRoom && length >= 0 && length <= Self.maximumDatagramSize)
        (entryMemory + count).initialize(to: Entry(path: path, offset: byteCount, length: length))
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
        return entryMemory[index]
    }

    /// The bytes of one datagram.
    public func bytes(of entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[entry.offset..<entry.offset + entry.length])
    }

    public mutating func removeAll() {
        count = 0
        byteCount = 0
    }
}
