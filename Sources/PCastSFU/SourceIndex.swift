/// Peers by the SSRCs that they send with: how one is found that has moved (ICE7).
///
/// An SSRC is unique in a session and no further. Browsers that only watch all report as 1, so that some peers may stand
/// under one; which of them a packet is from, its authentication tells.
struct SourceIndex: Equatable {
    /// Further ones wait for their next check, as each is another attempt to authenticate a packet.
    static let maximumPlaces = 8

    private var places: [UInt32: [PeerIndex]] = [:]

    func candidates(_ source: UInt32) -> [PeerIndex] { places[source] ?? [] }

    /// Answers whether there was room.
    mutating func add(_ source: UInt32, _ place: PeerIndex) -> Bool {
        guard places[source, default: []].count < Self.maximumPlaces else { return false }
        places[source, default: []].append(place)
        return true
    }

    mutating func remove(_ source: UInt32, _ place: PeerIndex) {
        places[source]?.removeAll { $0 == place }
        if places[source]?.isEmpty == true { places[source] = nil }
    }
}
