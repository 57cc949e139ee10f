/// Where a peer stands in the relay's tables.
enum PeerIndex: Hashable {
    case publisher(Int)
    case viewer(Int)
}
