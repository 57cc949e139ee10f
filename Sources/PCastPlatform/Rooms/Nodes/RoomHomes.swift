import PCastCluster
import PCastCore

/// The homes of rooms according to the directory of a cluster. The home of a room is the node that has its members in order,
/// and is announced as the origin of a declared stream is: a node with members of a room waits to become its home.
struct RoomHomes: Sendable {
    let cluster: Cluster

    /// Whether the directory is connected. Otherwise, a node creates a room at once, and claims it later.
    var isConnected: Bool { cluster.isConnected }

    /// Returns the node that is the home of a room; nil if it is unknown, lost, or this node.
    func other(_ key: RoomKey) -> (uri: String, room: String)? {
        cluster.origin(of: StreamID(key.homeName)).map { ($0.address, $0.stream.description) }
    }

    /// Whether the directory has this node as the home of a room.
    func isClaimed(_ key: RoomKey) -> Bool { cluster.claimedEpoch(of: StreamID(key.homeName)) != nil }

    /// Makes this node the home of a room, as soon as no other node is.
    func claim(_ key: RoomKey, room: String) {
        cluster.publish(ClusterStream(name: key.homeName, stream: room, application: key.application), .standby)
    }

    /// Withdraws the claim.
    func release(_ key: RoomKey, room: String) { cluster.end(key.homeName, stream: room) }

    /// Returns the identifier of a new room, which is the same at all nodes, so that two nodes that have created a room while
    /// they could not reach each other have the same one.
    func roomID(_ application: ApplicationID, _ alias: String) -> String {
        let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
        // FNV-1a of 64 bits.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(application)#\(alias)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        let suffix = String((0..<12).map { alphabet[Int(hash >> (5 * UInt64($0)) & 31)] })
        return "local#\(application)#\(alias).\(suffix)"
    }
}
