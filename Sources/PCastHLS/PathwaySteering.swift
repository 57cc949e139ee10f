package import PCastCore

/// Chooses among content steering pathways and schedules requests to the steering server (RFC 8216bis, section 7).
///
/// A pathway that fails is avoided for ``penalty``, whatever the server says. If all have failed, the first one that
/// failed is tried first.
package struct PathwaySteering: Machine {
    /// A request to the steering server.
    package struct Request: Hashable, Sendable {
        /// The ID that the response repeats.
        package var id: Int
        /// The URI, with the pathway and the throughput in its query.
        package var uri: String
    }

    /// The result of a request, or an observation about pathways.
    package enum Input: Sendable {
        /// Request `id` loaded a manifest from a URI, after redirects.
        case loaded(id: Int, SteeringManifest, from: String)
        /// Request `id` failed.
        case failed(id: Int, ReloadFailure)
        /// A playlist or segment of a pathway could not be loaded.
        case pathwayFailed(String)
        /// The measured throughput of media downloads.
        case measured(Bitrate)
    }

    /// An action for the caller.
    package enum Output: Hashable, Sendable {
        /// Load the steering manifest. There is at most one request at a time.
        case load(Request)
    }

    /// The time for which a failed pathway is avoided.
    package static let penalty = TimeSpan.seconds(60 as Int64)
    /// The bounds within which the time to live of a manifest is respected.
    static let timesToLive = TimeSpan.seconds(1 as Int64)...TimeSpan.seconds(86_400 as Int64)
    /// The pathway ID of variants that have none (RFC 8216bis, section 4.4.6.2).
    package static let unnamed = "."

    /// The pathways of the variants, in the order of the playlist, and then the clones.
    private var pathways: [String]
    /// The clones of pathways, each after the one that it is cloned from.
    package private(set) var clones: [PathwayClone] = []
    /// The pathways that the server prefers, the best first. It may contain unknown ones.
    private var priority: [String]
    /// The time until which each failed pathway is avoided.
    private var penalties: [String: Instant] = [:]
    /// The URI of the next request, without the query parameters that are added to it.
    private var uri: String
    private var timeToLive = SteeringManifest.defaultTimeToLive
    private var throughput: Bitrate?
    /// The time of the next request; nil while a request is outstanding and if no more follow.
    private var due: Instant?
    private var nextID = 0
    private var outstanding: Int?
    private var outputs: [Output] = []

    /// Creates a value, which outputs its first request at once.
    ///
    /// - Parameters:
    ///   - server: The absolute URI of the steering server.
    ///   - initial: The pathway to begin with; nil for the first one of the playlist.
    ///   - pathways: The pathway IDs of the variants, which may repeat.
    ///   - now: The current time.
    package init(server: String, initial: String?, pathways: [String], at now: Instant) {
        var all: [String] = []
        for pathway in pathways where !all.contains(pathway) { all.append(pathway) }
        (self.pathways, uri, due) = (all, server, now)
        priority = initial.map { [$0] } ?? []
        advance(to: now)
    }

    /// All pathways, in the order in which to try them.
    package var order: [String] {
        // Pathways that the server does not list come last, because they are better than none.
        let preferred = priority.filter { pathways.contains($0) } + pathways.filter { !priority.contains($0) }
        func end(_ pathway: String) -> Instant { penalties[pathway] ?? Instant(nanoseconds: .min) }
        return preferred.enumerated().sorted { left, right in
            let (first, second) = (end(left.element), end(right.element))
            return first == second ? left.offset < right.offset : first < second
        }.map(\.element)
    }

    /// Processes the result of a request or an observation. A result of any other than the outstanding request is
    /// ignored.
    package mutating func handle(_ input: Input, at now: Instant) {
        switch input {
        case .loaded(let id, let manifest, let base):
            guard finish(id) else { break }
            timeToLive = min(max(manifest.timeToLive, Self.timesToLive.lowerBound), Self.timesToLive.upperBound)
            if let next = manifest.reloadURI { uri = URIReference(next).resolved(against: URIReference(base)).text }
            add(manifest.clones)
            priority = []
            for pathway in manifest.priority where !priority.contains(pathway) { priority.append(pathway) }
            due = now + timeToLive
        case .failed(let id, let failure):
            guard finish(id) else { break }
            due = pause(after: failure).map { now + $0 }
        case .pathwayFailed(let pathway):
            if pathways.contains(pathway) { penalties[pathway] = now + Self.penalty }
        case .measured(let bitrate): throughput = bitrate
        }
        advance(to: now)
    }

    /// Adds the clones of known pathways. Clones that were added remain, although a later manifest may omit them.
    private mutating func add(_ others: [PathwayClone]) {
        for clone in others where clones.count < PathwayClone.limit {
            guard pathways.contains(clone.base), !pathways.contains(clone.id) else { continue }
            pathways.append(clone.id)
            clones.append(clone)
        }
    }

    /// Clears the outstanding request if it has the ID. Returns whether it has.
    private mutating func finish(_ id: Int) -> Bool {
        guard outstanding == id else { return false }
        outstanding = nil
        return true
    }

    /// Returns the time until the next request; nil if the server must not be asked again.
    private func pause(after failure: ReloadFailure) -> TimeSpan? {
        switch failure {
        // The server is gone, or specifies when to ask (RFC 8216bis, section 7.2).
        case .status(410, _): nil
        case .status(429, let retryAfter?):
            min(max(retryAfter, Self.timesToLive.lowerBound), Self.timesToLive.upperBound)
        default: timeToLive
        }
    }

    /// Sends a request that is due, and ends penalties that have expired.
    package mutating func advance(to now: Instant) {
        penalties = penalties.filter { $0.value > now }
        guard outstanding == nil, let due, due <= now else { return }
        self.due = nil
        outstanding = nextID
        outputs.append(.load(Request(id: nextID, uri: query())))
        nextID += 1
    }

    /// Returns the URI with the current pathway and the throughput in bits per second (RFC 8216bis, section 7.2).
    private func query() -> String {
        var reference = URIReference(uri)
        var pairs = (reference.query ?? "").split(separator: "&").map { String($0) }
        pairs.removeAll { $0.hasPrefix("_HLS_") }
        if let pathway = order.first, pathway.utf8.allSatisfy(Self.isPlain) { pairs.append("_HLS_pathway=\(pathway)") }
        if let throughput { pairs.append("_HLS_throughput=\(throughput.bitsPerSecond)") }
        reference.query = pairs.isEmpty ? nil : pairs.joined(separator: "&")
        reference.fragment = nil
        return reference.text
    }

    /// Returns whether pathway IDs may contain a byte (RFC 8216bis, section 4.4.6.2).
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || [0x2D, 0x2E, 0x5F].contains(byte)
    }

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    package var deadline: Instant? { Instant.earlier(outstanding == nil ? due : nil, penalties.values.min()) }
}

/// The response of a steering server (RFC 8216bis, section 7.2).
package struct SteeringManifest: Hashable, Sendable {
    /// The supported version of the format.
    package static let version = 1
    /// The time to live if the manifest does not specify it.
    package static let defaultTimeToLive = TimeSpan.seconds(300 as Int64)
    /// The maximum size of a manifest in bytes.
    package static let sizeLimit: Int64 = 256 << 10
    /// The maximum number of pathways that are read from a manifest.
    package static let pathwayLimit = 64

    /// The time after which the manifest is loaded again.
    package var timeToLive: TimeSpan
    /// The URI of the next manifest, relative to the URI of this one; nil for the same URI.
    package var reloadURI: String?
    /// The pathway IDs, the preferred one first.
    package var priority: [String]
    /// The pathways that are derived from others.
    package var clones: [PathwayClone]

    /// Creates a manifest.
    package init(
        timeToLive: TimeSpan = SteeringManifest.defaultTimeToLive, reloadURI: String? = nil, priority: [String],
        clones: [PathwayClone] = []
    ) {
        (self.timeToLive, self.reloadURI, self.priority, self.clones) = (timeToLive, reloadURI, priority, clones)
    }
}
