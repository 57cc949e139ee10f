import PCastMedia

/// Which peer what comes by a path is of.
///
/// Who is told beforehand whose datagrams come next looks each of them up once: the table of thousands lies in no nearer cache.
struct PathIndex {
    private(set) var places: [NetworkPath: PeerPlace] = [:]
    /// What was looked up for datagrams that come next, in their order; of no use once a place has changed.
    private var expected: [(path: NetworkPath, place: PeerPlace)] = []
    private var next = 0

    subscript(path: NetworkPath) -> PeerPlace? {
        get { places[path] }
        set {
            places[path] = newValue
            forgetExpected()
        }
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerPlace? {
        forgetExpected()
        return places.removeValue(forKey: path)
    }

    /// Notes whose datagrams come next; those that were noted before did not come.
    ///
    /// - Parameter known: called for each that belongs to a peer.
    mutating func expect(from paths: Span<NetworkPath>, known: (PeerPlace) -> Void) {
        forgetExpected()
        for index in paths.indices {
            guard let place = places[paths[index]] else { continue }
            expected.append((paths[index], place))
            known(place)
        }
    }

    /// Whose a datagram is that has come.
    mutating func place(of path: NetworkPath) -> PeerPlace? {
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
