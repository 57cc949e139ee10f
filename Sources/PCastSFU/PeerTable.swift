import PCastCore
import PCastWebRTC

/// The index of a peer in the SFU's slabs.
enum PeerIndex: Hashable {
    case publisher(Int)
    case viewer(Int)
}

/// The peers of an SFU, by everything that identifies the sender of a datagram.
///
/// Media is assigned by its path. A connectivity check is assigned by its ufrag, because another peer may now use the
/// path. Media from an unknown path is assigned by its SSRC, after the keys of a peer have authenticated it. The table
/// has no access to the peers themselves. It reports changes of paths, which concern the other shards and the driver.
struct PeerTable {
    /// A change of a path.
    enum PathChange: Hashable {
        /// The state of the path for the other shards has changed.
        case claim(ShardMessageBatch.PathOwnership, NetworkPath)
        /// No peer uses the connection (ICE-TCP) any more, so it must be closed.
        case unusedConnection(NetworkPath)
    }

    private(set) var indices: [PeerID: PeerIndex] = [:]
    /// The peers by the ufrag that they name in checks. Each peer has at most `PeerKeys.maximumUfrags`.
    private(set) var ufrags: [String: PeerIndex] = [:]
    /// The peers by the paths on which they passed checks. Each peer has at most `ICELiteAgent.maximumPaths`.
    private(set) var paths = PathIndex()
    /// The peers by the path to which they may have migrated and on which they are being checked, at most one each.
    private(set) var probedPaths: [NetworkPath: PeerIndex] = [:]
    /// The peers by their SSRCs, to find the sender of media from an unknown path.
    private(set) var sources = SourceIndex()
    /// The peers that have a local port of their own.
    private var localPorts: [UInt16: PeerIndex] = [:]
    /// The keys of each peer, which are removed with it.
    private var keys: [PeerIndex: PeerKeys] = [:]
    /// The decryptions that are permitted to find the sender of media from an unknown path.
    var migrationBudget = MigrationBudget()
    /// The changes of paths that have not been polled.
    private var changes: [PathChange] = []

    /// Returns the index of a peer; nil if there is no such peer.
    subscript(peer: PeerID) -> PeerIndex? { indices[peer] }

    /// Removes and returns the oldest change of a path; nil if there is none.
    mutating func pollChange() -> PathChange? {
        guard !changes.isEmpty else { return nil }
        defer { if changes.isEmpty { changes = [] } }
        return changes.removeFirst()
    }

    // MARK: Peers

    mutating func insert(_ peer: PeerID, _ peerIndex: PeerIndex, ufrag: String) {
        precondition(indices[peer] == nil, "a peer ID must be unique")
        indices[peer] = peerIndex
        ufrags[ufrag] = peerIndex
        keys[peerIndex] = PeerKeys(ufrag: ufrag)
    }

    /// Removes a peer with all of its keys.
    mutating func remove(_ peer: PeerID, _ peerIndex: PeerIndex) {
        indices[peer] = nil
        guard let keys = keys.removeValue(forKey: peerIndex) else { return }
        for ufrag in keys.ufrags { ufrags[ufrag] = nil }
        for source in keys.sources { sources.remove(source, peerIndex) }
        discard(probe: keys.probedPath, of: peerIndex)
        if let port = keys.localPort, localPorts[port] == peerIndex { localPorts[port] = nil }
        for path in keys.paths { discard(path, of: peerIndex) }
    }

    /// Adds the ufrag of an ICE restart. The oldest one is removed if there are too many.
    mutating func add(ufrag: String, of peerIndex: PeerIndex) {
        ufrags[ufrag] = peerIndex
        if let stale = keys[peerIndex]?.add(ufrag: ufrag) { ufrags[stale] = nil }
    }

    /// Adds an SSRC that a peer has begun to send with.
    mutating func add(source: UInt32, of peerIndex: PeerIndex) {
        if keys[peerIndex]?.add(source: source) == true { _ = sources.add(source, peerIndex) }
    }

    /// Assigns all datagrams from unknown paths that arrive at a local port to a peer, which authenticates them.
    mutating func add(localPort: UInt16, of peerIndex: PeerIndex) {
        localPorts[localPort] = peerIndex
        keys[peerIndex]?.localPort = localPort
    }

    // MARK: Datagrams

    /// Returns the peer that has passed a check on a path, or is being checked on it; nil if there is none.
    mutating func findPeer(of path: NetworkPath) -> PeerIndex? {
        paths.findPeer(of: path) ?? probedPaths[path] ?? (localPorts.isEmpty ? nil : localPorts[path.local.port])
    }

    /// Returns the peer of a STUN message; nil if there is none. A malformed message is nil, and belongs to the peer of
    /// its path.
    mutating func findPeer(of message: STUNMessage?, _ datagram: ReceivedDatagram) -> PeerIndex? {
        guard let message, message.messageClass == .request else { return findPeer(of: datagram.path) }
        let bytes = datagram.bytes.span
        guard let range = message.recipientRange(in: bytes) else { return nil }
        return ufrags[String(decoding: datagram.bytes.extracting(range), as: UTF8.self)]
    }

    /// Prefetches the entries of the paths of the next datagrams; see `PathIndex.expect`.
    mutating func expect(from paths: Span<NetworkPath>, known: (PeerIndex) -> Void) {
        self.paths.expect(from: paths, known: known)
    }

    // MARK: Paths

    /// Records a path on which a peer has passed a check. `isValidated` is whether the peer's agent still knows a path;
    /// others are removed if there are too many.
    mutating func add(path: NetworkPath, of peerIndex: PeerIndex, isValidated: (NetworkPath) -> Bool) {
        let stale = keys[peerIndex]?.add(path: path, isValidated: isValidated) ?? []
        paths[path] = peerIndex
        changes.append(.claim(.validated, path))
        for path in stale { discard(path, of: peerIndex) }
    }

    /// Records the path of a check that asks whether a peer has migrated, because the answer will come from there.
    mutating func add(probe path: NetworkPath, of peerIndex: PeerIndex) {
        let last = keys[peerIndex]?.probedPath
        guard path != last else { return }
        discard(probe: last, of: peerIndex)
        keys[peerIndex]?.probedPath = path
        probedPaths[path] = peerIndex
        changes.append(.claim(.asked, path))
    }

    /// Removes the path of a connection that was closed, and returns its peer; nil if it had none.
    mutating func removeClosed(_ path: NetworkPath) -> PeerIndex? {
        guard let peerIndex = paths.removeValue(forKey: path) else { return nil }
        keys[peerIndex]?.remove(path: path)
        return peerIndex
    }

    /// Removes a path on which a peer of another shard has passed a check.
    mutating func cede(_ path: NetworkPath) {
        paths[path] = nil
        probedPaths[path] = nil
    }

    private mutating func discard(probe path: NetworkPath?, of peerIndex: PeerIndex) {
        guard let path, probedPaths[path] == peerIndex else { return }
        probedPaths[path] = nil
        if paths[path] == nil { changes.append(.claim(.left, path)) }
    }

    /// Removes a path unless another peer has taken it over. A connection that no peer uses any more is closed, because
    /// its peer may have disappeared without closing it.
    private mutating func discard(_ path: NetworkPath, of peerIndex: PeerIndex) {
        guard paths[path] == peerIndex else { return }
        paths[path] = nil
        changes.append(.claim(.left, path))
        if path.transport != .udp { changes.append(.unusedConnection(path)) }
    }
}

/// The keys by which datagrams are assigned to a peer.
struct PeerKeys {
    /// The ufrags of the current credentials and of those before an ICE restart (RFC 8445, section 9).
    static let maximumUfrags = 2
    /// The maximum number of SSRCs for one peer.
    static let maximumSources = 8

    /// The ufrags, oldest first.
    private(set) var ufrags: [String]
    private(set) var paths: [NetworkPath] = []
    /// The SSRCs that the peer has used.
    private(set) var sources: [UInt32] = []
    /// The local port that only this peer uses; nil for the common one.
    var localPort: UInt16?
    /// The path of the last check that asked whether the peer is reachable.
    var probedPath: NetworkPath?

    init(ufrag: String) { ufrags = [ufrag] }

    /// Adds a ufrag. Returns the ufrag that is no longer valid; nil if there is none.
    mutating func add(ufrag: String) -> String? {
        ufrags.append(ufrag)
        return ufrags.count > Self.maximumUfrags ? ufrags.removeFirst() : nil
    }

    /// Adds an SSRC. Returns false if it is known, or if there are too many. A peer has three or four.
    mutating func add(source: UInt32) -> Bool {
        guard sources.count < Self.maximumSources, !sources.contains(source) else { return false }
        sources.append(source)
        return true
    }

    /// Adds a path. Returns the removed paths: those that the peer's agent has given up, once there are more paths than
    /// the agent keeps.
    mutating func add(path: NetworkPath, isValidated: (NetworkPath) -> Bool) -> [NetworkPath] {
        remove(path: path)
        paths.append(path)
        guard paths.count > ICELiteAgent.maximumPaths else { return [] }
        let stale = paths.filter { !isValidated($0) }
        paths.removeAll { stale.contains($0) }
        return stale
    }

    mutating func remove(path: NetworkPath) { paths.removeAll { $0 == path } }
}

/// The peers by the SSRCs that they send with, to find a peer that has migrated.
///
/// An SSRC is unique only within a session. Browsers that only receive send their reports with the SSRC 1, so several
/// peers may have the same one. The authentication of the packet determines its sender.
struct SourceIndex: Equatable {
    /// The maximum number of peers for one SSRC, because each candidate costs one attempt to authenticate. Further
    /// peers are found by their next check.
    static let maximumEntries = 8

    private var peers: [UInt32: [PeerIndex]] = [:]

    func candidates(_ source: UInt32) -> [PeerIndex] { peers[source] ?? [] }

    /// Adds a peer. Returns false if the SSRC has too many.
    mutating func add(_ source: UInt32, _ peerIndex: PeerIndex) -> Bool {
        guard peers[source, default: []].count < Self.maximumEntries else { return false }
        peers[source, default: []].append(peerIndex)
        return true
    }

    mutating func remove(_ source: UInt32, _ peerIndex: PeerIndex) {
        peers[source]?.removeAll { $0 == peerIndex }
        if peers[source]?.isEmpty == true { peers[source] = nil }
    }
}

/// The budget for decryptions of packets from unknown paths. Anyone can send such packets, and each may be decrypted with
/// the keys of several peers.
///
/// A migrated peer whose packet exceeds the budget is found by a later packet. Connectivity checks do not need it.
struct MigrationBudget {
    /// The time in which one further decryption becomes available, which is a rate of 1,000 per second.
    static let interval = TimeSpan.milliseconds(1)
    /// The maximum number of decryptions at once.
    static let burst: Int64 = 200

    /// The time at which the budget is complete again (generic cell rate algorithm, ITU-T I.371).
    private var whole = Instant(nanoseconds: .min)

    /// Whether this number of decryptions is permitted now. If true, they count as done.
    mutating func take(_ count: Int = 1, at now: Instant) -> Bool {
        let next = max(whole, now) + Self.interval * Int64(count)
        guard next - now <= Self.interval * Self.burst else { return false }
        whole = next
        return true
    }
}
