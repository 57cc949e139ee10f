package import PCastCore

/// The epoch of a publication. Each publication of a name claims a higher epoch than the one before, and media of a lower
/// epoch are rejected.
///
/// The directory assigns a number to one claim only. A directory that has lost acknowledged writes may assign it twice;
/// therefore the random value of the claim is part of the epoch, and two origins never have the same one.
package struct StreamEpoch: Hashable, Sendable, Comparable, Codable {
    /// The number, which is higher than that of each epoch that the claiming node knew.
    package let number: UInt64
    /// The random value of the claim, which decides between equal numbers.
    package let claim: UInt64

    /// Creates an epoch.
    package init(number: UInt64, claim: UInt64) {
        self.number = number
        self.claim = claim
    }

    /// Returns whether the right epoch replaces the left one.
    package static func < (left: StreamEpoch, right: StreamEpoch) -> Bool {
        (left.number, left.claim) < (right.number, right.claim)
    }
}

extension StreamEpoch: LosslessStringConvertible {
    /// The text for headers and logs, such as `7-1f`.
    package var description: String { "\(number)-\(String(claim, radix: 16))" }

    /// Parses the text of an epoch; nil if it is invalid.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0]), let claim = UInt64(parts[1], radix: 16) else {
            return nil
        }
        self.init(number: number, claim: claim)
    }
}

/// The node that has the media of a stream.
package struct StreamOrigin: Hashable, Sendable {
    /// The name of the node.
    package let node: String
    /// The URI at which other nodes reach it, such as `https://a.example.com:8443`.
    package let address: String
    /// The stream at that node.
    package let stream: StreamID
    /// The epoch of the publication.
    package let epoch: StreamEpoch

    /// Creates an origin.
    package init(node: String, address: String, stream: StreamID, epoch: StreamEpoch) {
        self.node = node
        self.address = address
        self.stream = stream
        self.epoch = epoch
    }
}

/// The search for the origin of a stream.
package protocol StreamLookup: Sendable {
    /// Returns the origin of the stream that viewers request by a name or an identifier; nil if it is unknown, or if it is
    /// this node. It answers from memory, even while the directory is disconnected.
    func origin(of requested: StreamID) -> StreamOrigin?

    /// Returns whether media of an epoch may be forwarded: no higher epoch of the stream is known.
    func isCurrent(_ epoch: StreamEpoch, of requested: StreamID) -> Bool
}

// MARK: Records

/// A stream that a node publishes.
package struct ClusterStream: Hashable, Sendable, Codable {
    /// The name or identifier that viewers request.
    package var name: String
    /// The stream at its origin, which is the same as `name` unless that is the name of a declared stream.
    package var stream: String
    /// The application of the publisher.
    package var application: String
    /// The name of the origin node.
    package var node: String
    /// The epoch of the publication.
    package var epoch: StreamEpoch
    /// The tags that viewers' tokens may require.
    package var tags: [String]
    /// The codecs, video first.
    package var codecs: [String]
    /// The layers of the video, lowest first, such as `540p`; empty if they are unknown.
    package var layers: [String]

    /// Creates a record.
    package init(
        name: String, stream: String, application: String, node: String = "",
        epoch: StreamEpoch = StreamEpoch(number: 0, claim: 0), tags: [String] = [], codecs: [String] = [],
        layers: [String] = []
    ) {
        self.name = name
        self.stream = stream
        self.application = application
        self.node = node
        self.epoch = epoch
        self.tags = tags
        self.codecs = codecs
        self.layers = layers
    }
}

extension ClusterStream {
    /// The beginning of names of rooms. Clients cannot request streams by such names (``isRoomHome(_:)``).
    private static let roomPrefix = "\u{1}room\u{1}"

    /// Returns the name under which the home of a room is announced, as the origin of a declared stream is. Its stream is the
    /// identifier of the room.
    package static func roomHomeName(application: String, alias: String) -> String {
        "\(roomPrefix)\(application)\u{1}\(alias)"
    }

    /// The beginning of names of timelines.
    private static let timelinePrefix = "\u{1}timeline\u{1}"

    /// Returns the name under which the home of a timeline is announced.
    package static func timelineHomeName(application: String, league: String, game: String) -> String {
        "\(timelinePrefix)\(application)\u{1}\(league)\u{1}\(game)"
    }

    /// Whether a name is that of the home of a timeline.
    package static func isTimelineHome(_ name: String) -> Bool { name.utf8.starts(with: timelinePrefix.utf8) }

    /// The league and the game of the home of a timeline; nil for other streams.
    package var timelineGame: (league: String, game: String)? {
        guard Self.isTimelineHome(name) else { return nil }
        let prefix = "\(Self.timelinePrefix)\(application)\u{1}"
        guard name.utf8.starts(with: prefix.utf8) else { return nil }
        let names = name.utf8.dropFirst(prefix.utf8.count).split(
            separator: 1, maxSplits: 1, omittingEmptySubsequences: false)
        guard names.count == 2 else { return nil }
        return (String(Substring(names[0])), String(Substring(names[1])))
    }

    /// Whether a name is that of the home of a room or a timeline. Of two nodes that claim one at the same time, the first one
    /// becomes its home, whatever the epoch of the other one is, because the room has members then.
    package static func isRoomHome(_ name: String) -> Bool {
        name.utf8.starts(with: roomPrefix.utf8) || isTimelineHome(name)
    }
}

/// The load of a node.
package struct NodeLoad: Hashable, Sendable, Codable {
    /// The used share of the processors, from 0 to 1.
    package var processor: Double
    /// The media that leave the node, in bits per second.
    package var egress: UInt64
    /// The number of streams that publishers of the node send.
    package var streams: Int
    /// The number of viewers.
    package var viewers: Int
    /// The maximum number of publishers and viewers.
    package var capacity: Int

    /// Creates a load.
    package init(processor: Double = 0, egress: UInt64 = 0, streams: Int = 0, viewers: Int = 0, capacity: Int = 0) {
        self.processor = processor
        self.egress = egress
        self.streams = streams
        self.viewers = viewers
        self.capacity = capacity
    }

    /// Whether the node has no place for another client.
    package var isFull: Bool { streams + viewers >= capacity }

    /// The used share of the scarcest resource that is known, from 0 to 1.
    package var share: Double {
        let places = capacity > 0 ? Double(streams + viewers) / Double(capacity) : 1
        return min(max(places, processor, 0), 1)
    }
}

/// A node, whose lease each write renews.
package struct ClusterNode: Hashable, Sendable, Codable {
    /// The name, which no other node may have.
    package var name: String
    /// A random value of the process. Another process with the same name has another one.
    package var incarnation: UInt64
    /// The URI at which clients and other nodes reach the node.
    package var address: String
    /// The region, such as `eu-west`.
    package var region: String
    /// The load.
    package var load: NodeLoad
    /// Whether the node accepts no new clients, because it is about to stop.
    package var isDraining: Bool
    /// The number of renewals of the lease, which differs in each write. It is no time: only its changes count.
    package var renewal: UInt64
    /// The ports for RTMP publishers at the host of the address; nil if there is none, or for a node of an earlier version.
    package var rtmpPort: Int?
    /// The same with TLS.
    package var rtmpsPort: Int?

    /// Creates a record of a node without ports for RTMP.
    package init(
        name: String, incarnation: UInt64, address: String, region: String, load: NodeLoad = NodeLoad(),
        isDraining: Bool = false, renewal: UInt64 = 0
    ) {
        self.name = name
        self.incarnation = incarnation
        self.address = address
        self.region = region
        self.load = load
        self.isDraining = isDraining
        self.renewal = renewal
    }
}

/// A request to a node to drain, which any node may write. The node reads it, drains, and leaves it in place until its
/// next start.
package struct DrainRequest: Hashable, Sendable, Codable {
    /// The name of the node.
    package var node: String
    /// The process that drains. A later process with the same name ignores the request.
    package var incarnation: UInt64

    /// Creates a request.
    package init(node: String, incarnation: UInt64) {
        self.node = node
        self.incarnation = incarnation
    }
}

/// A token that is not valid any more.
package struct TokenRevocation: Hashable, Sendable, Codable {
    /// The identifier of the revocation, such as a digest of the token.
    package var token: String
    /// The seconds for which nodes keep the revocation after they have received it. They are at least the remaining
    /// lifetime of the token.
    package var lifetime: Int64

    /// The maximum lifetime, which is 31 years. The directory rejects longer ones.
    package static let maximumLifetime: Int64 = 1_000_000_000

    /// Creates a revocation.
    package init(token: String, lifetime: Int64) {
        self.token = token
        self.lifetime = lifetime
    }
}

/// A value in the directory.
package enum ClusterRecord: Hashable, Sendable {
    case stream(ClusterStream)
    /// A publication that waits until the current one of its name ends. It has no epoch.
    case standby(ClusterStream)
    case node(ClusterNode)
    case drain(DrainRequest)
    case revocation(TokenRevocation)
    case value(ClusterValue)
    case notification(ClusterNotification)

    /// The key under which the directory has the record.
    package var key: ClusterKey {
        switch self {
        case .stream(let stream): .stream(stream.name)
        case .standby(let stream): .standby(stream.name, node: stream.node)
        case .node(let node): .node(node.name)
        case .drain(let request): .drain(request.node)
        case .revocation(let revocation): .revocation(revocation.token)
        case .value(let value): .value(value.kind, application: value.application, name: value.name)
        case .notification(let notification): .notification(notification.id)
        }
    }
}

/// The key of a value in the directory.
package enum ClusterKey: Hashable, Sendable {
    case stream(String)
    case standby(String, node: String)
    case node(String)
    case drain(String)
    case revocation(String)
    case value(ClusterValue.Kind, application: String, name: String)
    case notification(String)
}

extension ClusterKey: Comparable {
    /// The kind of the value, and its names.
    private var order: (Int, String, String) {
        switch self {
        case .stream(let name): (0, name, "")
        case .standby(let name, let node): (1, name, node)
        case .node(let name): (2, name, "")
        case .drain(let node): (3, node, "")
        case .revocation(let token): (4, token, "")
        case .value(.application, let application, let name): (5, application, name)
        case .value(.streamKey, let application, let name): (6, application, name)
        case .value(.callback, let application, let name): (7, application, name)
        case .notification(let id): (8, id, "")
        }
    }

    /// Compares the kinds, and then the names.
    package static func < (left: ClusterKey, right: ClusterKey) -> Bool { left.order < right.order }
}

/// A set of keys in the order in which they were inserted. The order of a `Set` depends on the hash values of a process, with
/// which a simulation could not be repeated.
struct ClusterKeyQueue: Sendable {
    /// The numbers of the present keys.
    private var numbers: [ClusterKey: UInt64] = [:]
    /// The keys in the order of their numbers, and those that were removed since.
    private var entries: [(key: ClusterKey, number: UInt64)] = []
    private var next: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty }

    /// The keys, the first one first.
    var keys: [ClusterKey] { entries.filter { numbers[$0.key] == $0.number }.map(\.key) }

    func contains(_ key: ClusterKey) -> Bool { numbers[key] != nil }

    /// Adds a key at the end, unless it is present.
    mutating func insert(_ key: ClusterKey) {
        guard numbers[key] == nil else { return }
        next += 1
        numbers[key] = next
        entries.append((key, next))
    }

    mutating func remove(_ key: ClusterKey) {
        numbers[key] = nil
        // Each key that is removed pays for its entry.
        if entries.count > 2 * numbers.count + 64 { entries.removeAll { numbers[$0.key] != $0.number } }
    }
}

// MARK: The directory

/// A change that a directory reports.
package enum DirectoryEvent: Hashable, Sendable {
    /// The directory is connected. The events up to `synchronized` report all its values, and values that they do not
    /// report are gone.
    case connected
    /// A value was written with a revision. Revisions increase, unless the directory lost its data.
    case changed(ClusterRecord, revision: UInt64)
    /// A value was removed.
    case removed(ClusterKey)
    /// A value is not signed with the secret of the cluster, or is invalid. It is ignored.
    case rejected(String)
    /// All values have been reported. Events from now on are changes.
    case synchronized
    /// The directory is disconnected for a reason, or could not connect. It attempts it again by itself.
    case disconnected(String)
}

/// The failure of an operation of a directory.
package enum DirectoryError: Error, Hashable, Sendable {
    /// The value has another revision than the expected one.
    case conflict
    /// The directory is disconnected, did not answer in time, or rejected the operation. It may have been performed.
    case unavailable(String)
    /// The record is too large, or one of its values is invalid.
    case invalid
}

/// The shared values of a cluster: streams, nodes, revocations and persistent data, as one node sees them.
///
/// It is a hint and decides nothing about media. It may be disconnected, slow, or empty after a restart, and it may lose
/// writes that it acknowledged. ``ClusterMember`` announces values again when that happens, and epochs decide between
/// conflicting ones.
package protocol ClusterDirectory: Sendable {
    /// The changes, which have one reader. The directory connects when it is created.
    var events: AsyncStream<DirectoryEvent> { get }

    /// Writes a record, and returns its new revision. `revision` is that of the value that is replaced; nil if there must
    /// be none.
    func write(_ record: ClusterRecord, replacing revision: UInt64?) async throws(DirectoryError) -> UInt64

    /// Removes a value that has a revision. It succeeds if there is no value.
    func remove(_ key: ClusterKey, revision: UInt64) async throws(DirectoryError)

    /// Disconnects, and ends the sequence of events.
    func close() async
}

/// The random values of the claims of one process (SplitMix64, Steele, Lea and Flood 2014).
struct ClaimSequence: Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
