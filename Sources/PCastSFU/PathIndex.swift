import PCastCore

/// Which peer what comes by a path is of.
///
/// Who is told beforehand whose datagrams come next looks them up together, and each once: the table of thousands lies in no
/// nearer cache.
struct PathIndex {
    private(set) var places = PathTable()
    /// What was looked up for datagrams that come next, in their order; of no use once a place has changed.
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

    /// Notes whose datagrams come next; those that were noted before did not come.
    ///
    /// - Parameter known: called for each that belongs to a peer.
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

    /// Whose a datagram is that has come.
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
