public import PCastMedia

/// The server's end of ICE: answers checks and follows the peer's nominations, and checks nothing of its own accord
/// (RFC 8445, section 2.5).
///
/// It is always controlled. A peer that is lite itself needs an `ICEControllingAgent` here instead (ICE6).
public struct ICELiteAgent: Sendable {
    /// Credentials before and after a restart. `remote` is nil until the peer's description is known.
    struct Generation: Sendable {
        var local: ICECredentials
        var remote: ICECredentials?
    }

    /// A path on which the peer has authenticated itself.
    struct ValidatedPath: Sendable {
        let path: NetworkPath
        var lastAuthenticated: Instant
    }

    /// A request that the agent sent to learn whether the peer moved (ICE7).
    struct Probe: Sendable {
        let transactionID: STUNTransactionID
        let path: NetworkPath
        let begun: Instant
        var sent: Instant
    }

    /// When full, the path that was silent longest makes room; never the selected one.
    public static let maximumPaths = 8

    var current: Generation
    var previous: Generation?
    var paths: [ValidatedPath] = []
    var outstandingProbe: Probe?
    let setupDeadline: Instant?

    /// The path nominated last, by which everything is sent; nil before the first nomination.
    public internal(set) var selectedPath: NetworkPath?

    /// The peer's signs of life.
    public internal(set) var consent = ICEConsent()

    /// `setupDeadline` is when a peer that has not passed any check is given up.
    public init(local: ICECredentials, remote: ICECredentials? = nil, setupDeadline: Instant? = nil) {
        current = Generation(local: local, remote: remote)
        self.setupDeadline = setupDeadline
        paths.reserveCapacity(Self.maximumPaths)
    }

    public var local: ICECredentials { current.local }

    /// The peer's, from its description. Checks that come before it are accepted by our own credentials.
    public var remote: ICECredentials? {
        get { current.remote }
        set { current.remote = newValue }
    }

    public var lastAuthenticated: Instant? { consent.lastAuthenticated }

    /// No authenticated word of the peer for 5 s.
    public func isAway(at now: Instant) -> Bool { consent.isAway(at: now) }

    /// Consent is 30 s old, or the setup deadline passed without any success: the peer is gone.
    public func hasExpired(at now: Instant) -> Bool {
        if lastAuthenticated == nil, let setupDeadline { return now >= setupDeadline }
        return consent.hasExpired(at: now)
    }

    /// Whether an authenticated check came by this path, so that DTLS and media are taken from it (ICE2).
    public func isValidated(_ path: NetworkPath) -> Bool { paths.contains { $0.path == path } }

    /// Where to send to: the selected path, or before any nomination the one heard of last.
    public var sendingPath: NetworkPath? {
        selectedPath ?? paths.max { $0.lastAuthenticated < $1.lastAuthenticated }?.path
    }

    /// When the answer of `isAway`, `hasExpired` or `takePathToClose` may change next.
    public mutating func deadline(after now: Instant) -> Instant? {
        var deadline = consent.deadline(after: now)
        if lastAuthenticated == nil, let setupDeadline, setupDeadline > now { deadline = setupDeadline }
        for entry in paths where isClosable(entry) {
            deadline = Instant.earlier(deadline, max(entry.lastAuthenticated + Self.closingDelay, now))
        }
        return deadline
    }

    /// Both pairs of credentials are valid until the peer nominates with the new ones; paths, and what runs over
    /// them, go on (ICE12; RFC 8445, section 9).
    public mutating func restart(local: ICECredentials, remote: ICECredentials?) {
        previous = current
        current = Generation(local: local, remote: remote)
        outstandingProbe = nil
    }

    /// The peer sent authenticated media control (SRTCP) by `path`: it lives. A path that is not validated stays so;
    /// `probe` it.
    public mutating func noteAuthenticated(path: NetworkPath, at now: Instant) {
        consent.extend(at: now)
        if let index = paths.firstIndex(where: { $0.path == path }) { paths[index].lastAuthenticated = now }
    }

    /// Has brought near what `noteAuthenticated` looks at, with what an array has in front of its elements. See `Nearness`.
    mutating func bringPathsNear() {
        paths.withUnsafeBufferPointer { paths in
            if let first = paths.baseAddress { Nearness.bring(arrayAt: first, MemoryLayout<ValidatedPath>.stride) }
        }
    }

    mutating func validate(_ path: NetworkPath, at now: Instant) {
        consent.start(at: now)
        if let index = paths.firstIndex(where: { $0.path == path }) {
            paths[index].lastAuthenticated = now
            return
        }
        if paths.count == Self.maximumPaths { dropOldestPath() }
        paths.append(ValidatedPath(path: path, lastAuthenticated: now))
    }

    private mutating func dropOldestPath() {
        var oldest: Int?
        for index in paths.indices where paths[index].path != selectedPath {
            if oldest.map({ paths[index].lastAuthenticated < paths[$0].lastAuthenticated }) ?? true { oldest = index }
        }
        if let oldest { paths.remove(at: oldest) }
    }
}

// MARK: - Stream connections (RFC 6544)

extension ICELiteAgent {
    /// Browsers check spare connections for a while before they nominate; one that is silent for so long is unused.
    static let closingDelay = TimeSpan.seconds(10 as Int64)

    private func isClosable(_ entry: ValidatedPath) -> Bool {
        selectedPath != nil && entry.path != selectedPath && entry.path.transport != .udp
    }

    /// A connection that is not used since another path was nominated, to be closed by the driver; the agent has
    /// forgotten it (ICE14). Call until nil.
    public mutating func takePathToClose(at now: Instant) -> NetworkPath? {
        let index = paths.firstIndex { isClosable($0) && now >= $0.lastAuthenticated + Self.closingDelay }
        return index.map { paths.remove(at: $0).path }
    }

    /// The driver says that a connection is gone. If it was selected, `sendingPath` falls back to the others.
    public mutating func pathClosed(_ path: NetworkPath) {
        paths.removeAll { $0.path == path }
        if selectedPath == path { selectedPath = nil }
    }
}
