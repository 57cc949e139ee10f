import PCastCluster
public import PCastCore

/// Finds the nodes from which an edge pulls a stream. A cluster's directory, or a list of fixed origins, implements it.
public protocol StreamOrigins: Sendable {
    /// Returns the nodes that may have a stream, the preferred one first.
    ///
    /// - Parameters:
    ///   - stream: The identifier or the name that a viewer requests.
    ///   - application: The application of the viewer; empty for a viewer with a signed address of HLS, which names none.
    /// - Returns: At most a few nodes. They need not have the stream.
    func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin]
}

/// A node from which an edge can pull a stream.
public struct StreamOrigin: Hashable, Sendable {
    /// The address of the node's HTTP server, such as `https://origin.example.com`.
    public var uri: String
    /// The epoch of the publication at this node. Of several origins, only those with the highest epoch are used.
    public var epoch: UInt64
    /// Whether it is this node, which has a publication of its own.
    package var isThisNode = false
    /// Distinguishes publications with equal epochs, because nodes may claim a name at the same time.
    package var claim: UInt64 = 0

    /// The epoch with the claim. Two publications never have the same one.
    var publicationEpoch: StreamEpoch { StreamEpoch(number: epoch, claim: claim) }

    /// Creates an origin.
    public init(uri: String, epoch: UInt64 = 0) {
        self.uri = uri
        self.epoch = epoch
    }
}

/// Origins that are the same for all streams. They are tried in their order.
public struct FixedOrigins: StreamOrigins {
    private let origins: [StreamOrigin]

    /// Creates a list of origins from the addresses of their HTTP servers.
    public init(_ uris: [String]) { origins = uris.map { StreamOrigin(uri: $0) } }

    /// Returns all origins, which may or may not have the stream.
    public func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin] { origins }
}

/// The configuration of media between nodes.
public struct EdgeConfiguration: Sendable {
    /// The addresses of the nodes from which unknown streams are pulled, in the order in which they are tried. They are
    /// ignored if there is a ``directory``.
    public var origins: [String] = []
    /// The secret of all nodes, of at least 16 bytes. Nil permits no other node to pull streams, and pulls none.
    public var secret: String?
    /// The time without viewers after which a pulled stream is released.
    public var closeAfter = Duration.seconds(10)
    /// Finds the origins of streams in place of ``origins``.
    public var directory: (any StreamOrigins)?
    /// The bytes of HLS of other nodes in memory. If there are more, what was not requested for the longest time is removed.
    public var cacheSize = 256 << 20

    /// The time limits of requests between nodes.
    package var timeLimits = TimeLimits()

    /// The time limits of requests between nodes. A test on a busy machine extends them.
    package struct TimeLimits: Hashable, Sendable {
        /// The time for the response of another node.
        package var response = Duration.seconds(8)
        /// The same while viewers have no media, or could receive the publication of this node.
        package var shortResponse = Duration.seconds(2)
        /// The time for which a request is repeated while the origin waits for the stream itself.
        package var ready = TimeSpan.seconds(3 as Int64)
        /// The time in which a node must answer an offer and connect.
        package var setup = TimeSpan.seconds(10 as Int64)
        /// The time for which a stream without a link waits for another origin, if the directory may still announce one.
        package var waiting = TimeSpan.seconds(3 as Int64)
        /// The time within which a link to another origin must have media, and the first one after a viewer has joined.
        package var media = TimeSpan.seconds(3 as Int64)
        /// The time for the response to a request of HLS, which the origin may hold for three target durations.
        package var playlist = Duration.seconds(30)

        /// Creates the default limits.
        package init() {}
    }

    /// The maximum number of nodes that a stream passes, its origin included.
    public static let maximumDepth = 4

    /// Creates a configuration without origins and without a secret.
    public init() {}
}

extension EdgeConfiguration: CustomStringConvertible {
    /// The origins without the secret.
    public var description: String { "edge of \(origins.joined(separator: ", "))" }
}
