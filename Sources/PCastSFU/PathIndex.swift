import PCastCore

/// Finds the peer to which a network path belongs.
///
/// The paths of the datagrams of a batch are looked up together, and each path once. A table with thousands of entries
/// does not fit into the faster caches.
struct PathIndex {
    private(set) var table = PathTable()
    /// The results for the datagrams that follow, in their order. They are discarded when an entry changes.
    private var expected: [PathTable.Entry] = []
    private var next = 0

    subscript(path: NetworkPath) -> PeerIndex? {
        get { table[path] }
        set {
            table[path] = newValue
            removeExpected()
        }
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerIndex? {
        removeExpected()
        return table.removeValue(forKey: path)
    }

    /// Looks up the paths of the datagrams that follow and forgets the results of earlier calls. `known` is called for
    /// each path that belongs to a peer.
    mutating func expect(from paths: Span<NetworkPath>, known: (PeerIndex) -> Void) {
        removeExpected()
        var found: [PathTable.Entry] = []
        swap(&found, &expected)
        table.look(up: paths) { path, peerIndex in
            found.append(PathTable.Entry(path: path, peerIndex: peerIndex))
            known(peerIndex)
        }
        swap(&found, &expected)
    }

    /// Returns the peer of a datagram that arrived; nil if the path is unknown.
    mutating func findPeer(of path: NetworkPath) -> PeerIndex? {
        for index in next..<expected.count where expected[index].path == path {
            next = index + 1
            return expected[index].peerIndex
        }
        return table[path]
    }

    private mutating func removeExpected() {
        expected.removeAll(keepingCapacity: true)
        next = 0
    }
}
