public import PCastCore
import PCastWebRTC

/// The assignment of datagrams to peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ peerIndex: PeerIndex) {
        guard paths[path] != peerIndex else { return }
        let stale: [NetworkPath]
        switch peerIndex {
        case .publisher(let index):
            guard streams[index].isValidated(path) else { return }
            stale = streams[index].rememberPath(path)
        case .viewer(let index):
            guard viewers[index].transport.isValidated(path) else { return }
            stale = viewers[index].rememberPath(path)
        }
        paths[path] = peerIndex
        notifyPeerShards(path, .validated)
        for path in stale { discard(path, of: peerIndex) }
    }

    mutating func remember(fragment: String, _ peerIndex: PeerIndex) {
        ufrags[fragment] = peerIndex
        let stale =
            switch peerIndex {
            case .publisher(let index): streams[index].routes.add(fragment: fragment)
            case .viewer(let index): viewers[index].routes.add(fragment: fragment)
            }
        if let stale { ufrags[stale] = nil }
    }

    /// Removes all keys of a peer.
    mutating func discard(_ routes: PeerKeys, of peerIndex: PeerIndex) {
        for fragment in routes.ufrags { ufrags[fragment] = nil }
        for source in routes.sources { sources.remove(source, peerIndex) }
        discard(probe: routes.probedPath, of: peerIndex)
        for path in routes.paths { discard(path, of: peerIndex) }
    }

    /// Removes a path unless another peer has taken it over. A connection that no peer uses any more is closed, because
    /// its peer may have disappeared without closing it.
    private mutating func discard(_ path: NetworkPath, of peerIndex: PeerIndex) {
        guard paths[path] == peerIndex else { return }
        paths[path] = nil
        notifyPeerShards(path, .left)
        if path.transport != .udp { events.append(.closeConnection(path)) }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let peerIndex = paths.removeValue(forKey: path) else { return }
        switch peerIndex {
        case .publisher(let index):
            streams[index].routes.remove(path: path)
            streams[index].transport?.pathClosed(path, at: now)
            follow(publisher: index, at: now)
        case .viewer(let index):
            viewers[index].routes.remove(path: path)
            viewers[index].transport.pathClosed(path, at: now)
            follow(viewer: index, at: now)
        }
    }
}
