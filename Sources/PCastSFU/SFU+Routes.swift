public import PCastCore
import PCastWebRTC

/// The assignment of datagrams to peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ place: PeerIndex) {
        guard paths[path] != place else { return }
        let stale: [NetworkPath]
        switch place {
        case .publisher(let index):
            guard streams[index].isValidated(path) else { return }
            stale = streams[index].rememberPath(path)
        case .viewer(let index):
            guard viewers[index].transport.isValidated(path) else { return }
            stale = viewers[index].rememberPath(path)
        }
        paths[path] = place
        tellNeighbours(path, .taken)
        for path in stale { forget(path, of: place) }
    }

    mutating func remember(fragment: String, _ place: PeerIndex) {
        ufrags[fragment] = place
        let stale =
            switch place {
            case .publisher(let index): streams[index].routes.add(fragment: fragment)
            case .viewer(let index): viewers[index].routes.add(fragment: fragment)
            }
        if let stale { ufrags[stale] = nil }
    }

    /// Removes all keys of a peer.
    mutating func forget(_ routes: PeerKeys, of place: PeerIndex) {
        for fragment in routes.ufrags { ufrags[fragment] = nil }
        for source in routes.sources { sources.remove(source, place) }
        forget(probe: routes.probedPath, of: place)
        for path in routes.paths { forget(path, of: place) }
    }

    /// Removes a path unless another peer has taken it over. A connection that no peer uses any more is closed, because
    /// its peer may have disappeared without closing it.
    private mutating func forget(_ path: NetworkPath, of place: PeerIndex) {
        guard paths[path] == place else { return }
        paths[path] = nil
        tellNeighbours(path, .left)
        if path.transport != .udp { events.append(.closeConnection(path)) }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let place = paths.removeValue(forKey: path) else { return }
        switch place {
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
