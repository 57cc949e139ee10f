/// How much a platform takes on at one time, and how much in a second; what is beyond it is refused with `capacity` or
/// `rateLimited`, at every door alike.
public struct PlatformLimits: Hashable, Sendable {
    /// What there are limits of; each is set by this name.
    public enum Name: String, CaseIterable, Sendable {
        /// Sessions of the protocol, those that are away for a while included.
        case sessions
        case sessionsPerApplication = "sessions-per-application"
        case sessionsPerAddress = "sessions-per-address"
        /// Streams that are published.
        case streams
        case streamsPerApplication = "streams-per-application"
        case streamsPerAddress = "streams-per-address"
        case viewers
        case viewersPerApplication = "viewers-per-application"
        case viewersPerAddress = "viewers-per-address"
        /// Connections to the port of HTTP and that of TLS.
        case connections
        case connectionsPerAddress = "connections-per-address"
        /// What all publishers send together, in bits a second; none where it is 0, as in the next three.
        case bitrate
        case bitratePerApplication = "bitrate-per-application"
        case bitratePerAddress = "bitrate-per-address"
        case bitratePerStream = "bitrate-per-stream"
        /// Connections that one address opens in a second, on the average of the last few.
        case connectionsPerSecond = "connections-per-second"
        /// Requests of one address in a second, of HTTP and of the protocol.
        case requestsPerSecond = "requests-per-second"
        /// Sessions, streams and views that one address begins in a second.
        case joinsPerSecond = "joins-per-second"

        /// Generous: a classroom behind one address, and the load tests of one machine, stay far below.
        var standard: Int64 {
            switch self {
            case .sessions, .sessionsPerApplication: 50_000
            case .sessionsPerAddress: 10_000
            case .streams, .streamsPerApplication: 10_000
            case .streamsPerAddress: 1_000
            case .viewers, .viewersPerApplication: 20_000
            case .viewersPerAddress: 5_000
            case .connections: 20_000
            case .connectionsPerAddress: 5_000
            case .bitrate, .bitratePerApplication, .bitratePerAddress, .bitratePerStream: 0
            case .connectionsPerSecond: 500
            case .requestsPerSecond: 1_000
            case .joinsPerSecond: 500
            }
        }

        /// Written with `k` and `M`, and none where it is 0.
        public var isBitrate: Bool { rawValue.hasPrefix("bitrate") }
    }

    private var values: [Name: Int64] = [:]

    public init() {}

    /// A count, or bits in a second; never negative.
    public subscript(name: Name) -> Int64 {
        get { values[name] ?? name.standard }
        set { values[name] = max(newValue, 0) }
    }

    /// Limits that are not as they are by themselves.
    public var changed: [Name] { Name.allCases.filter { self[$0] != $0.standard } }

    public static func == (left: PlatformLimits, right: PlatformLimits) -> Bool {
        Name.allCases.allSatisfy { left[$0] == right[$0] }
    }

    public func hash(into hasher: inout Hasher) {
        for name in Name.allCases { hasher.combine(self[name]) }
    }
}
