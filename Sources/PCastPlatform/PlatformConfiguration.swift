package import PCastCluster
public import PCastCore
package import PCastSignaling

/// The configuration of a platform.
public struct PlatformConfiguration: Sendable {
    /// The address for HTTP, WebSockets and pages.
    public var host: String
    /// The port for HTTP, WebSockets and pages; 0 selects a free one.
    public var port: Int
    /// The UDP port for all media, and the TCP port for ICE-TCP; 0 selects a free one.
    public var rtcPort: UInt16
    /// The number of threads for media, from 1 to 64. Each has a shard of the SFU.
    public var shards = 1
    /// The addresses in candidates and links; empty for those that the platform listens on.
    public var advertise: [IPAddress]
    /// The STUN servers that report the public address at the start and every two minutes; none by default.
    public var stunServers: [TransportAddress]
    /// The applications whose tokens are valid; empty for those in the database.
    public var applications: [Application]
    /// The application that administers the platform: it may add applications, change limits and drain. Nil selects the
    /// only one of ``applications``, or none if there are several.
    public var administrator: ApplicationID?
    /// The persistent data and its retention.
    public var storage: StorageConfiguration
    /// The port for TLS. It serves the same as `port`, and TURN for clients that can reach no other port. 0 selects a
    /// free port, and nil opens none.
    public var tlsPort: Int?
    /// The PEM files of the certificate chain and the key. If they are nil, a self-signed certificate is generated,
    /// about which browsers warn.
    public var tlsCertificate: String?
    /// The PEM file of the key; nil if `tlsCertificate` is nil.
    public var tlsKey: String?
    /// The folder in which a client of ACME such as certbot puts the files by which it proves the control of a domain
    /// name; nil for none. While the certificate's files do not exist yet, a self-signed certificate takes their place.
    public var acmeWebroot: String?
    /// Whether a self-signed certificate for the names and addresses of this host is kept in the data folder. Without it,
    /// and without a file, a certificate is generated at each start.
    public var tlsSelfSigned = false
    /// The host name in TURN URIs; nil for the host of the client's request.
    public var turnHost: String?
    /// The maximum number of publishers and subscribers. Further ones are rejected and may retry later.
    public var maximumPeers: Int
    /// The configuration of ingest and egress jobs; nil to disable them.
    public var jobs: JobConfiguration?
    /// The quotas and rate limits.
    public var limits = PlatformLimits()
    /// The proxies whose forwarding header is trusted. That of all other peers is ignored.
    public var trustedProxies: [IPNetwork] = []
    /// The header field in which those proxies report the client.
    public var forwardedHeader = ForwardedHeader.forwardedFor
    /// The token for reading metrics from other hosts, as a bearer token or as the password of HTTP Basic; nil if
    /// metrics are for this host only.
    public var metricsToken: String?
    /// The time for which the text of `/metrics` is cached.
    public var metricsCacheTime = Duration.seconds(1)
    /// The issuer of JSON Web Tokens that are accepted beside tokens of EdgeAuth; nil for none.
    public var tokenIssuer: TokenIssuerConfiguration?
    /// The address of a collector that receives spans by OTLP over HTTP, such as `http://127.0.0.1:4318`; nil for none.
    public var otlpEndpoint: String?
    /// The origins that may embed the watch page (CSP `frame-ancestors`); empty for all.
    public var frameAncestors: [String] = []
    /// The server for RTMP publishers.
    public var rtmp = RTMPConfiguration()
    /// The server for SRT publishers.
    public var srt = SRTConfiguration()
    /// The output of streams by HLS.
    public var hls = HLSConfiguration()
    /// The lower layers that the platform makes of streams with one layer.
    public var renditions = RenditionConfiguration()
    /// The streams whose publishers are asked for a second codec while viewers need it.
    public var secondCodec = SecondCodecStreams.requested
    /// The maximum time from the request for a second codec to its first packet.
    package var secondCodecTimeout = TimeSpan.seconds(5 as Int64)
    /// The recordings of streams.
    public var recording = RecordingConfiguration()
    /// The declared streams.
    public var streams = StreamDeclarations()
    /// The program that makes the slates of declared streams; nil for no slates.
    public var slates: SlateConfiguration?
    /// The node of a cluster that this platform is; nil for none.
    public var cluster: ClusterConfiguration?
    /// The directory of the cluster; nil for that in NATS.
    package var clusterDirectory: (any ClusterDirectory)?
    /// The durations of the cluster, which are the same at all nodes.
    package var clusterTiming = ClusterMember.Timing()
    /// The time without a message after which the link between two nodes with members of a room counts as lost.
    package var roomLinkTimeout = TimeSpan.seconds(6 as Int64)
    /// The time for which a request for a room waits for the node that is its home, or becomes it. It is longer than a lease.
    package var roomHomeTimeout = TimeSpan.seconds(10 as Int64)
    /// The time for which a producer's request waits for the home of a timeline, before this node records it itself.
    package var timelineHomeTimeout = TimeSpan.seconds(10 as Int64)
    /// The nodes from which streams are pulled, and the secret of all nodes.
    public var edges = EdgeConfiguration()
    /// The rooms and channels.
    public var rooms = RoomConfiguration()
    /// The maximum time that the platform takes to stop, in which it notifies clients and delivers the last
    /// notifications.
    public var drainTime = defaultDrainTime

    /// The time after which a session without a connection ends, together with its streams.
    public var sessionTimeout = defaultSessionTimeout
    /// The time in which a publisher may resume its stream after the platform was killed.
    public var reconnectGrace = defaultReconnectGrace
    /// The time in which a client may give the reason of a stream's end after it has closed the media connection.
    /// Phenix's Web SDK sends `DestroyStream` afterwards. The default is below the second for which this project's SDK
    /// waits for the platform's `StreamEnded` after the end of the media.
    package var reasonTimeout = TimeSpan.milliseconds(500)
    /// The interval in which STUN servers are queried for the public address.
    package var stunInterval = Duration.seconds(120)
    /// The time in which a client must establish its media connection, unless its token sets another one.
    package var setupTimeout = TimeSpan.seconds(30)
    /// The time without a response, or without progress of a message, after which a timeline consumer is disconnected.
    package var consumerTimeout = TimeSpan.seconds(60)
    /// The time after which a connection without a first request is closed. It includes a TLS handshake.
    package var firstRequestTimeout = TimeSpan.seconds(10)
    /// The timeouts of the signaling protocol.
    package var signalingTimeouts = ServerSignalingMachine.Timeouts()

    /// The default of `sessionTimeout`, 180 s.
    public static let defaultSessionTimeout = Duration.seconds(180)
    /// The default of `reconnectGrace`, 15 s.
    public static let defaultReconnectGrace = Duration.seconds(15)

    /// An application and the secret that signs its tokens.
    public struct Application: Hashable, Sendable {
        /// The identifier of the application.
        public var id: ApplicationID
        /// The secret that signs its tokens.
        public var secret: String

        /// Creates an application.
        public init(id: ApplicationID, secret: String) {
            self.id = id
            self.secret = secret
        }
    }

    /// The maximum number of shards, because one character of an ICE username fragment identifies the shard.
    public static let maximumShards = 64
    /// The default of `drainTime`, 10 s.
    public static let defaultDrainTime = Duration.seconds(10)
    /// The default port for HTTP.
    public static let defaultPort = 8080
    /// The default port for media.
    public static let defaultRTCPort: UInt16 = 8189

    /// Creates a configuration. The default values serve this host only, at `http://127.0.0.1:8080`.
    public init(
        host: String = "127.0.0.1", port: Int = defaultPort, rtcPort: UInt16 = defaultRTCPort,
        advertise: [IPAddress] = [], stunServers: [TransportAddress] = [], applications: [Application] = [],
        maximumPeers: Int = 20_000, tlsPort: Int? = nil, tlsCertificate: String? = nil, tlsKey: String? = nil,
        turnHost: String? = nil, storage: StorageConfiguration = StorageConfiguration()
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
        self.turnHost = turnHost
        self.storage = storage
    }

    /// The address to listen on; nil if `host` is a name other than `localhost`.
    var listenAddress: IPAddress? {
        if host == "localhost" { return .loopbackV4 }
        return host.hasPrefix("[") && host.hasSuffix("]")
            ? IPAddress(String(host.dropFirst().dropLast())) : IPAddress(host)
    }

    /// The address that HTTP listens on, which is the same as that of media even if a name has several addresses.
    var bindingHost: String { listenAddress?.description ?? host }

    /// Returns the URI at which programs of this host reach the platform.
    func uriForWorkers(port: Int) -> String {
        let address = listenAddress ?? .loopbackV4
        let host = address.isUnspecified ? (address.family == .v4 ? .loopbackV4 : IPAddress(v6: 0, 1)) : address
        return "http://\(host.family == .v6 ? "[\(host)]" : "\(host)"):\(port)"
    }

    /// Whether a port uses the certificate.
    var usesCertificate: Bool { tlsPort != nil || rtmp.tlsPort != nil }

    /// Whether only programs of this host can reach the platform.
    var isLoopback: Bool { listenAddress?.isLoopback ?? false }
}

/// The configuration of HLS output.
public struct HLSConfiguration: Hashable, Sendable {
    /// Whether each stream is packaged. Otherwise only those are whose publisher's token has the capability `streaming`
    /// or `streaming-lite`.
    public var packagesEveryStream = false
    /// The duration of a part, within ``partDurations``. Parts contain whole frames, so they may be shorter or longer.
    public var partDuration = Duration.milliseconds(200)
    /// The duration of a segment, within ``segmentDurations``. A segment is longer if its publisher makes key frames rarely.
    public var segmentDuration = Duration.seconds(2)
    /// The duration that playlists list, in which viewers can rewind, within ``windows``. It is at least six target
    /// durations.
    public var window = Duration.seconds(600)
    /// Whether the windows are only in memory. Otherwise, the media of more than half a minute ago are in the data
    /// directory, if there is one.
    public var keepsWindowInMemory = false
    /// The bytes of the segments of all streams in memory. If they are more, the windows are shorter, each stream having
    /// the same share.
    public var maximumMemory = 1 << 30
    /// The bytes of the segments of all streams in the data directory, not counting recordings. If they are more, the
    /// windows are shorter, each stream having the same share.
    public var maximumDiskSpace = 64 << 30
    /// The number of segments of a rendition after which the key of its media changes, within ``keyPeriods``. Media are then
    /// encrypted with AES-128, and whoever may load them may load the keys. Nil for media without encryption.
    public var segmentsPerKey: Int?

    /// The program that makes still images of streams; nil for none.
    public var thumbnails: ThumbnailConfiguration?

    /// The durations of parts, from those of short buffers to Apple's recommendation (HLS authoring specification, 14.2).
    public static let partDurations = Duration.milliseconds(100)...Duration.seconds(1)
    /// The durations of segments, up to Apple's recommendation (HLS authoring specification, 7.5).
    public static let segmentDurations = Duration.seconds(1)...Duration.seconds(6)

    /// The windows in which viewers can rewind.
    public static let windows = Duration.seconds(10)...Duration.seconds(24 * 3_600)

    /// The numbers of segments that may have the same key.
    public static let keyPeriods = 1...10_000

    /// Creates the default configuration.
    public init() {}
}

extension PlatformConfiguration.Application: CustomStringConvertible {
    /// The identifier without the secret.
    public var description: String { "application \(id)" }
}
