import PCastCore
import PCastWebRTC

/// By what a peer's datagrams are told from others': what the relay forgets when the peer goes.
struct PeerKeys {
    /// The credentials of now and of before a restart (ICE12).
    static let maximumUfrags = 2
    static let maximumSources = 8

    /// Oldest first.
    private(set) var ufrags: [String]
    private(set) var paths: [NetworkPath] = []
    /// The SSRCs that the peer has sent with.
    private(set) var sources: [UInt32] = []
    /// Where it was asked last whether it is there.
    var probedPath: NetworkPath?

    init(fragment: String) { ufrags = [fragment] }

    /// Of who is not reached by datagrams.
    init() { ufrags = [] }

    /// Answers the fragment that means nothing any more.
    mutating func add(fragment: String) -> String? {
        ufrags.append(fragment)
        return ufrags.count > Self.maximumUfrags ? ufrags.removeFirst() : nil
    }

    /// False when it is known, or there are too many; a peer has three or four.
    mutating func add(source: UInt32) -> Bool {
        guard sources.count < Self.maximumSources, !sources.contains(source) else { return false }
        sources.append(source)
        return true
    }

    mutating func add(path: NetworkPath) {
        remove(path: path)
        paths.append(path)
    }

    /// Takes out the paths that the peer's agent has given up, once there are more than it can hold.
    mutating func takeStalePaths(isValidated: (NetworkPath) -> Bool) -> [NetworkPath] {
        guard paths.count > ICELiteAgent.maximumPaths else { return [] }
        let stale = paths.filter { !isValidated($0) }
        paths.removeAll { stale.contains($0) }
        return stale
    }

    mutating func remove(path: NetworkPath) { paths.removeAll { $0 == path } }
}
