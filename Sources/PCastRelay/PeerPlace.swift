/// Where a peer stands in the relay's tables.
enum PeerPlace: Hashable {
    case publisher(Int)
    case viewer(Int)
}
