import NIOCore
import PCastCore

/// Content with a maximum size in all. If there is no space for more, what was not used for the longest time is removed.
///
/// Content that is being received counts, too, from its first byte on. Therefore the size is never exceeded.
struct ResponseCache<Key: Hashable & Sendable, Content: Sendable>: Sendable {
    private struct Entry: Sendable {
        let content: Content
        let size: Int
        /// The end of the validity; nil for content that does not change.
        let expires: Instant?
        /// The number of the last use.
        var use: UInt64
    }

    /// The maximum number of bytes.
    let capacity: Int
    /// The bytes of content that is kept, or that is being received.
    private(set) var size = 0
    /// The bytes of content that is being received.
    private var reservedSize = 0
    private var entries: [Key: Entry] = [:]
    /// The uses in their order, also those that a later one of the same key follows.
    private var uses = CircularBuffer<(use: UInt64, key: Key)>()
    /// The content that expires, in the order of its arrival.
    private var expiring = CircularBuffer<(expires: Instant, key: Key)>()
    private var lastUse: UInt64 = 0

    /// The bytes that an entry uses in addition to its content, approximately.
    static var overhead: Int { 512 }

    init(capacity: Int) { self.capacity = max(capacity, 0) }

    /// The number of entries.
    var count: Int { entries.count }

    /// Returns content that is valid; nil if there is none.
    mutating func content(of key: Key, at now: Instant) -> Content? {
        removeExpired(at: now)
        guard let entry = entries[key] else { return nil }
        if let expires = entry.expires, expires <= now {
            remove(key)
            return nil
        }
        noteUse(of: key)
        return entry.content
    }

    /// Reserves bytes for content that is being received. Returns false if all space is reserved already.
    mutating func reserve(_ bytes: Int) -> Bool {
        guard makeSpace(bytes) else { return false }
        size += bytes
        reservedSize += bytes
        return true
    }

    /// Releases reserved bytes of content that is not kept.
    mutating func release(_ bytes: Int) {
        size -= bytes
        reservedSize -= bytes
    }

    /// Keeps content, in place of the former one of the key.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - key: Its key.
    ///   - reserved: The bytes that were reserved for it. They are released.
    ///   - bytes: The bytes of the content in memory.
    ///   - expires: The end of its validity; nil for content that does not change.
    mutating func insert(_ content: Content, for key: Key, reserved: Int, bytes: Int, expires: Instant?) {
        release(reserved)
        remove(key)
        let whole = bytes + Self.overhead
        guard makeSpace(whole) else { return }
        size += whole
        entries[key] = Entry(content: content, size: whole, expires: expires, use: 0)
        noteUse(of: key)
        if let expires { expiring.append((expires, key)) }
    }

    /// Removes the content of the keys for which a condition holds.
    mutating func removeAll(where condition: (Key) -> Bool) {
        for key in entries.keys.filter(condition) { remove(key) }
    }

    private mutating func remove(_ key: Key) {
        if let entry = entries.removeValue(forKey: key) { size -= entry.size }
    }

    private mutating func noteUse(of key: Key) {
        lastUse += 1
        entries[key]?.use = lastUse
        uses.append((lastUse, key))
        guard uses.count > 2 * entries.count + 64 else { return }
        // Each entry has one current use.
        var current = CircularBuffer<(use: UInt64, key: Key)>(initialCapacity: entries.count)
        for item in uses where entries[item.key]?.use == item.use { current.append(item) }
        uses = current
    }

    /// Removes what was not used for the longest time until there is space. Returns false if that is not sufficient, and
    /// then removes nothing.
    private mutating func makeSpace(_ bytes: Int) -> Bool {
        guard bytes <= capacity - reservedSize else { return false }
        while bytes > capacity - size, let oldest = uses.popFirst() {
            if entries[oldest.key]?.use == oldest.use { remove(oldest.key) }
        }
        return true
    }

    private mutating func removeExpired(at now: Instant) {
        while let first = expiring.first, first.expires <= now {
            expiring.removeFirst()
            // Other content of the key may have arrived since.
            if entries[first.key]?.expires == first.expires { remove(first.key) }
        }
    }
}
