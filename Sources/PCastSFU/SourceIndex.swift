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
