/// The quotas and rate limits of a platform. Requests that exceed them are rejected with `capacity` or `rateLimited`,
/// at all endpoints.
public struct PlatformLimits: Hashable, Sendable {
    /// The name of a limit, as in the configuration.
    public enum Name: String, CaseIterable, Sendable {
        /// The number of sessions, including those without a connection.
        case sessions
        /// The number of sessions of an application.
        case sessionsPerApplication = "sessions-per-application"
        /// The number of sessions from an address.
        case sessionsPerAddress = "sessions-per-address"
        /// The number of published streams.
        case streams
        /// The number of streams of an application.
        case streamsPerApplication = "streams-per-application"
        /// The number of streams that an address publishes.
        case streamsPerAddress = "streams-per-address"
        /// The number of viewings.
        case viewers
        /// The number of viewings of an application.
        case viewersPerApplication = "viewers-per-application"
        /// The number of viewings from an address.
        case viewersPerAddress = "viewers-per-address"
        /// The number of connections to the HTTP and TLS ports.
        case connections
        /// The number of connections from an address.
        case connectionsPerAddress = "connections-per-address"
        /// The total bit rate of all publishers in bits per second; 0 for no limit, as in the next three.
        case bitrate
        /// The bit rate of the publishers of an application.
        case bitratePerApplication = "bitrate-per-application"
        /// The bit rate of the publishers of an address.
        case bitratePerAddress = "bitrate-per-address"
        /// The bit rate of a publisher.
        case bitratePerStream = "bitrate-per-stream"
        /// The number of connections that an address opens per second, averaged over some seconds.
        case connectionsPerSecond = "connections-per-second"
        /// The number of HTTP and signaling requests of an address per second.
        case requestsPerSecond = "requests-per-second"
        /// The number of sessions, streams and viewings that an address begins per second.
        case joinsPerSecond = "joins-per-second"

        /// The default value. It is high, so that a classroom behind one address and load tests on one host stay below
        /// it.
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

        /// Whether the limit is a bit rate, which is written with `k` and `M` and for which 0 means no limit.
        public var isBitrate: Bool { rawValue.hasPrefix("bitrate") }
    }

    private var values: [Name: Int64] = [:]

    /// Creates the default limits.
    public init() {}

    /// The value of a limit: a number, or bits per second. It is never negative.
    public subscript(name: Name) -> Int64 {
        get { values[name] ?? name.standard }
        set { values[name] = max(newValue, 0) }
    }

    /// The limits that differ from their defaults.
    public var changed: [Name] { Name.allCases.filter { self[$0] != $0.standard } }

    /// Returns whether all limits have the same values.
    public static func == (left: PlatformLimits, right: PlatformLimits) -> Bool {
        Name.allCases.allSatisfy { left[$0] == right[$0] }
    }

    /// Hashes the values of all limits.
    public func hash(into hasher: inout Hasher) {
        for name in Name.allCases { hasher.combine(self[name]) }
    }
}
