import PCastCore

/// An index of streams, so that a request that names no stream is answered without a search through all of them.
///
/// Each key has its streams in the order of creation. A search is logarithmic in the number of streams of the key.
struct StreamIndex: Sendable {
    /// A property by which streams are found.
    enum Key: Hashable, Sendable {
        /// All streams of an application.
        case application(ApplicationID)
        /// The streams of an application to which a tag gives access.
        case tag(ApplicationID, String)
        /// The streams of one owner, see `Principal.publisher`, with equal tags.
        case owner(ApplicationID, String, tags: Set<String>)

        /// The key of the streams that a subscriber may receive: those with a tag, or all if the tag is nil.
        static func subscribable(_ application: ApplicationID, tag: String?) -> Key {
            if let tag { return .tag(application, tag) }
            return .application(application)
        }
    }

    private struct Entry: Sendable {
        let ordinal: Int
        let id: StreamID
    }

    /// The streams of each key by ascending ordinal. A key without streams has no entry.
    private var entries: [Key: [Entry]] = [:]

    /// The number of keys.
    var keyCount: Int { entries.count }

    /// Adds a stream. It has no effect if the stream is present.
    mutating func insert(_ stream: LiveStream) {
        for key in stream.indexKeys {
            let position = position(of: stream.ordinal, under: key)
            guard !contains(stream.ordinal, at: position, under: key) else { continue }
            entries[key, default: []].insert(Entry(ordinal: stream.ordinal, id: stream.id), at: position)
        }
    }

    /// Removes a stream. It has no effect if the stream is absent.
    mutating func remove(_ stream: LiveStream) {
        for key in stream.indexKeys {
            let position = position(of: stream.ordinal, under: key)
            guard contains(stream.ordinal, at: position, under: key) else { continue }
            entries[key]?.remove(at: position)
            if entries[key]?.isEmpty == true { entries[key] = nil }
        }
    }

    /// Returns the newest stream of a key; nil if there is none.
    func newest(_ key: Key) -> StreamID? { entries[key]?.last?.id }

    /// Returns the position of the first stream of a key whose ordinal is not lower.
    private func position(of ordinal: Int, under key: Key) -> Int {
        guard let streams = entries[key] else { return 0 }
        var bounds = 0..<streams.count
        while !bounds.isEmpty {
            let middle = bounds.lowerBound + bounds.count / 2
            if streams[middle].ordinal < ordinal {
                bounds = middle + 1..<bounds.upperBound
            } else {
                bounds = bounds.lowerBound..<middle
            }
        }
        return bounds.lowerBound
    }

    private func contains(_ ordinal: Int, at position: Int, under key: Key) -> Bool {
        guard let streams = entries[key], position < streams.count else { return false }
        return streams[position].ordinal == ordinal
    }
}

extension LiveStream {
    /// The keys of the stream in an index.
    fileprivate var indexKeys: [StreamIndex.Key] {
        var keys = [StreamIndex.Key.application(application)]
        keys += Set(authorizingTags).map { StreamIndex.Key.tag(application, $0) }
        if let publisher { keys.append(.owner(application, publisher, tags: Set(tags))) }
        return keys
    }
}
