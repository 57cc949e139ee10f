import PCastCore

/// Finds the peer to which a network path belongs.
///
/// The paths of the datagrams of a batch are looked up together, and each path once. A table with thousands of entries
/// does not fit into the faster caches.
struct PathIndex {
    private(set) var places = PathTable()
    /// The results for the datagrams that follow, in their order. They are discarded when an entry changes.
    private var expected: [PathTable.Entry] = []
    private var next = 0

    subscript(path: NetworkPath) -> PeerIndex? {
        get { places[path] }
        set {
            places[path] = newValue
            forgetExpected()
        }
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerIndex? {
        forgetExpected()
        return places.removeValue(forKey: path)
    }

    /// Looks up the paths of the datagrams that follow and forgets the results of earlier calls. `known` is called for
    /// each path that belongs to a peer.
    mutating func expect(from paths: Span<NetworkPath>, known: (PeerIndex) -> Void) {
        forgetExpected()
        var found: [PathTable.Entry] = []
        swap(&found, &expected)
        places.look(up: paths) { path, place in
            found.append(PathTable.Entry(path: path, place: place))
            known(place)
        }
        swap(&found, &expected)
    }

    /// Returns the peer of a datagram that arrived; nil if the path is unknown.
    mutating func place(of path: NetworkPath) -> PeerIndex? {
        for index in next..<expected.count where expected[index].path == path {
            next = index + 1
            return expected[index].place
        }
        return places[path]
    }

    private mutating func forgetExpected() {
        expected.removeAll(keepingCapacity: true)
        next = 0
    }
}
