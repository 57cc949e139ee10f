public import PCastMedia

/// Which of several pathways to take, and when to ask the steering server (RFC 8216bis, section 7).
///
/// A pathway that fails is left for a while, whatever the server says; where all have failed, the one that failed first is
/// the first to be tried again.
public struct PathwaySteering: Machine {
    public struct Request: Hashable, Sendable {
        public var id: Int
        /// With what the server wants to know in its query.
        public var uri: String
    }

    public enum Input: Sendable {
        /// A manifest, and where it came from.
        case loaded(id: Int, SteeringManifest, from: String)
        case failed(id: Int, ReloadFailure)
        /// Something of a pathway could not be had.
        case pathwayFailed(String)
        /// How fast media come.
        case measured(Bitrate)
    }

    public enum Output: Hashable, Sendable {
        /// One at a time.
        case load(Request)
    }

    /// A pathway that failed is left for so long.
    public static let penalty = TimeSpan.seconds(60 as Int64)
    /// Bounds of what a server may wish.
    static let timesToLive = TimeSpan.seconds(1 as Int64)...TimeSpan.seconds(86_400 as Int64)
    /// Of an address without one (RFC 8216bis, section 4.4.6.2).
    public static let unnamed = "."

    /// Those that there are, in the order of the playlist.
    private let pathways: [String]
    private var priority: [String]
    /// Until when a pathway is left.
    private var penalties: [String: Instant] = [:]
    private var uri: String
    private var timeToLive = SteeringManifest.usualTimeToLive
    private var throughput: Bitrate?
    /// When the next request is due; nil while one is on its way, and when there will be none.
    private var due: Instant?
    private var nextID = 0
    private var outstanding: Int?
    private var outputs: [Output] = []

    /// Asks at once.
    ///
    /// - Parameters:
    ///   - server: a whole address.
    ///   - initial: the pathway that the playlist begins with; nil for its first.
    ///   - pathways: those of its variants.
    public init(server: String, initial: String?, pathways: [String], at now: Instant) {
        var all: [String] = []
        for pathway in pathways where !all.contains(pathway) { all.append(pathway) }
        (self.pathways, uri, due) = (all, server, now)
        priority = initial.map { [$0] } ?? []
        advance(to: now)
    }

    /// All pathways, in the order in which they are to be taken.
    public var order: [String] {
        // What the server leaves out is better than nothing.
        let preferred = priority.filter { pathways.contains($0) } + pathways.filter { !priority.contains($0) }
        func end(_ pathway: String) -> Instant { penalties[pathway] ?? Instant(nanoseconds: .min) }
        return preferred.enumerated().sorted { left, right in
            let (first, second) = (end(left.element), end(right.element))
            return first == second ? left.offset < right.offset : first < second
        }.map(\.element)
    }

    public mutating func handle(_ input: Input, at now: Instant) {
        switch input {
        case .loaded(let id, let manifest, let base):
            guard finish(id) else { break }
            timeToLive = min(max(manifest.timeToLive, Self.timesToLive.lowerBound), Self.timesToLive.upperBound)
            if let next = manifest.reloadURI { uri = URIReference(next).resolved(against: URIReference(base)).text }
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

    private mutating func finish(_ id: Int) -> Bool {
        guard outstanding == id else { return false }
        outstanding = nil
        return true
    }

    /// Nil where the server will never be asked again.
    private func pause(after failure: ReloadFailure) -> TimeSpan? {
        switch failure {
        // It is gone, or tells when it wants to be asked (RFC 8216bis, section 7.2).
        case .status(410, _): nil
        case .status(429, let wish?):
            min(max(wish, Self.timesToLive.lowerBound), Self.timesToLive.upperBound)
        default: timeToLive
        }
    }

    public mutating func advance(to now: Instant) {
        penalties = penalties.filter { $0.value > now }
        guard outstanding == nil, let due, due <= now else { return }
        self.due = nil
        outstanding = nextID
        outputs.append(.load(Request(id: nextID, uri: query())))
        nextID += 1
    }

    /// The address with the pathway that is taken, and how fast it is (RFC 8216bis, section 7.2).
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

    /// What names of pathways are made of (RFC 8216bis, section 4.4.6.2).
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || [0x2D, 0x2E, 0x5F].contains(byte)
    }

    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    public var deadline: Instant? { Instant.earlier(outstanding == nil ? due : nil, penalties.values.min()) }
}
