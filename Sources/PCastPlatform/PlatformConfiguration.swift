public import PCastMedia

/// What a platform is started with.
public struct PlatformConfiguration: Sendable {
    /// Where HTTP, WebSockets and the pages are served.
    public var host: String
    /// Zero takes a free port.
    public var port: Int
    /// The UDP port of all media, and the TCP port of ICE-TCP; zero takes a free one.
    public var rtcPort: UInt16
    /// Threads among which media is shared out, each with a shard of the relay: 1 to 64.
    public var shards = 1
    /// What candidates and links name; empty for the addresses that are listened on.
    public var advertise: [IPAddress]
    /// STUN servers asked for our public address when the platform starts (ICE9); none by default.
    public var stunServers: [TransportAddress]
    /// Whose tokens are taken; empty for those that are recorded in `data`.
    public var applications: [Application]
    /// What is recorded beside media, and for how long.
    public var records: RecordKeeping
    /// The port of TLS, on which everything is that `port` has, and TURN for who gets no further than there; zero takes a
    /// free one, nil opens none.
    public var tlsPort: Int?
    /// Files in PEM: the certificate with its chain, and its key. Nil makes a certificate that browsers warn of.
    public var tlsCertificate: String?
    public var tlsKey: String?
    /// The host that clients are told for TURN; nil for the one that they have come by.
    public var tlsName: String?
    /// Publishers and viewers that the relay has room for; further ones are told to try again later.
    public var maximumPeers: Int
    /// Streams from and to addresses; nil where there shall be none.
    public var workers: WorkerConfiguration?
    /// What may be at one time, and how often.
    public var limits = PlatformLimits()
    /// Proxies that are believed when they say for whom they ask; everybody else's word is not taken.
    public var trustedProxies: [IPNetwork] = []
    /// In which field those proxies say it.
    public var proxyField = ProxyField.forwardedFor
    /// What who reads metrics from elsewhere has to show, as a bearer token or as the password of HTTP Basic; nil where
    /// metrics are for this machine alone.
    public var metricsToken: String?
    /// How long the text of `/metrics` is used again before it is made anew.
    public var metricsCacheTime = TimeSpan.seconds(1)
    /// The sources that may frame the watch page (CSP `frame-ancestors`); empty for anybody.
    public var frameAncestors: [String] = []
    /// How long the platform may take to end: to tell everyone, and to deliver the last notifications.
    public var drainTime = defaultDrainTime

    /// A session whose client has no connection ends after that, and its streams with it.
    public var sessionAbsence = defaultSessionAbsence
    /// A stream whose publisher is gone because the platform was killed may be gone on with for so long.
    public var returnTime = defaultReturnTime
    /// The time in which a client may give the reason of a stream's end after it has closed the media connection: Phenix's
    /// Web SDK sends `DestroyStream` afterwards. The default is below the second for which this project's own SDK waits for
    /// the platform's `StreamEnded` after the end of the media.
    package var reasonTimeout = TimeSpan.milliseconds(500)

    public static let defaultSessionAbsence = TimeSpan.seconds(180)
    public static let defaultReturnTime = TimeSpan.seconds(15)

    /// An application and the secret that its tokens are signed with.
    public struct Application: Hashable, Sendable {
        public var id: ApplicationID
        public var secret: String

        public init(id: ApplicationID, secret: String) {
            self.id = id
            self.secret = secret
        }
    }

    /// A shard is told by one character of its peers' ICE fragments.
    public static let maximumShards = 64
    public static let defaultDrainTime = TimeSpan.seconds(10)
    public static let defaultPort = 8080
    public static let defaultRTCPort: UInt16 = 8189

    public init(
        host: String = "127.0.0.1", port: Int = defaultPort, rtcPort: UInt16 = defaultRTCPort,
        advertise: [IPAddress] = [], stunServers: [TransportAddress] = [], applications: [Application] = [],
        maximumPeers: Int = 20_000, tlsPort: Int? = nil, tlsCertificate: String? = nil, tlsKey: String? = nil,
        tlsName: String? = nil, records: RecordKeeping = RecordKeeping()
    ) {
        self.host = host
        self.port = port
        self.rtcPort = rtcPort
        self.advertise = advertise
        self.stunServers = stunServers
        self.applications = applications
        self.maximumPeers = maximumPeers
        self.tlsPort = tlsPort
        self.tlsCertificate = tlsCertificate
        self.tlsKey = tlsKey
        self.tlsName = tlsName
        self.records = records
    }

    /// The address to listen on; nil when `host` is no address but a name other than `localhost`.
    var listenAddress: IPAddress? {
        if host == "localhost" { return .loopbackV4 }
        return host.hasPrefix("[") && host.hasSuffix("]")
            ? IPAddress(String(host.dropFirst().dropLast())) : IPAddress(host)
    }

    /// What HTTP listens on: the same address as media, also where a name means several.
    var bindingHost: String { listenAddress?.description ?? host }

    /// Where programs of this machine find it.
    func uriForWorkers(port: Int) -> String {
        let address = listenAddress ?? .loopbackV4
        let host = address.isUnspecified ? (address.family == .v4 ? .loopbackV4 : IPAddress(v6: 0, 1)) : address
        return "http://\(host.family == .v6 ? "[\(host)]" : "\(host)"):\(port)"
    }

    /// Only programs of this machine reach the platform.
    var isLoopback: Bool { listenAddress?.isLoopback ?? false }
}

extension PlatformConfiguration.Application: CustomStringConvertible {
    /// Without the secret.
    public var description: String { "application \(id)" }
}
