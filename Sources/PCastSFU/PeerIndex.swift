/// The index of a peer in the SFU's tables.
enum PeerIndex: Hashable {
    case publisher(Int)
    case viewer(Int)
}
