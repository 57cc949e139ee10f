import PCastCore
import PCastWebRTC

/// The keys by which datagrams are assigned to a peer. They are removed when the peer leaves.
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
    /// The path of the last check that asked whether the peer is reachable.
    var probedPath: NetworkPath?

    init(fragment: String) { ufrags = [fragment] }

    /// Creates the keys of a peer that is not reached by datagrams.
    init() { ufrags = [] }

    /// Adds a ufrag. Returns the ufrag that is no longer valid; nil if there is none.
    mutating func add(fragment: String) -> String? {
        ufrags.append(fragment)
        return ufrags.count > Self.maximumUfrags ? ufrags.removeFirst() : nil
    }

    /// Adds an SSRC. Returns false if it is known, or if there are too many. A peer has three or four.
    mutating func add(source: UInt32) -> Bool {
        guard sources.count < Self.maximumSources, !sources.contains(source) else { return false }
        sources.append(source)
        return true
    }

    mutating func add(path: NetworkPath) {
        remove(path: path)
        paths.append(path)
    }

    /// Removes and returns the paths that the peer's agent has given up, once there are more paths than the agent
    /// keeps.
    mutating func takeStalePaths(isValidated: (NetworkPath) -> Bool) -> [NetworkPath] {
        guard paths.count > ICELiteAgent.maximumPaths else { return [] }
        let stale = paths.filter { !isValidated($0) }
        paths.removeAll { stale.contains($0) }
        return stale
    }

    mutating func remove(path: NetworkPath) { paths.removeAll { $0 == path } }
}
