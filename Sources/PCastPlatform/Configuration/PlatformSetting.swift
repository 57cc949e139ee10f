import PCastCore

/// A setting of the configuration, with the name of its option of `pcast serve`.
public enum PlatformSetting: String, CaseIterable, Sendable {
    /// The address and the port for HTTP, WebSockets and pages.
    case listen
    /// The port for media.
    case rtcPort = "rtc-port"
    /// The number of threads for media.
    case shards
    /// The addresses in candidates and links.
    case advertise
    /// The STUN servers.
    case stun
    /// The applications.
    case application
    /// The application that administers the platform.
    case administrator
    /// The port for TLS.
    case tlsPort = "tls-port"
    /// The port for RTMP publishers.
    case rtmpPort = "rtmp-port"
    /// The port for RTMP publishers with TLS.
    case rtmpsPort = "rtmps-port"
    /// Whether an RTMP publisher replaces another one with the same key.
    case rtmpTakeover = "rtmp-takeover"
    /// The port for SRT publishers.
    case srtPort = "srt-port"
    /// The time in which lost packets of SRT publishers can be retransmitted.
    case srtLatency = "srt-latency"
    /// The audio of SRT viewers.
    case srtAudio = "srt-audio"
    /// The passphrase that encrypts the connections of SRT publishers.
    case srtPassphrase = "srt-passphrase"
    /// The file of the certificate chain.
    case tlsCertificate = "tls-certificate"
    /// The file of the certificate's key.
    case tlsKey = "tls-key"
    /// Whether a self-signed certificate is kept in the data folder.
    case tlsSelfSigned = "tls-self-signed"
    /// The folder of ACME challenges.
    case acmeWebroot = "acme-webroot"
    /// The host name in TURN URIs.
    case turnHost = "turn-host"
    /// The directory of the database.
    case data
    /// The file of the key that encrypts secrets.
    case dataKey = "data-key"
    /// The time after which ended streams are deleted.
    case retention
    /// The networks that callbacks may use although they are not public.
    case webhookAllow = "webhook-allow"
    /// The networks that jobs may use although they are not public.
    case mediaAllow = "media-allow"
    /// The ports on which jobs may listen for encoders.
    case srtPullPorts = "srt-pull-ports"
    /// The directory in which jobs may read and write files.
    case mediaDirectory = "media-directory"
    /// The maximum number of jobs.
    case maxJobs = "max-jobs"
    /// The quotas and rate limits.
    case limit
    /// The proxies whose forwarding header is trusted.
    case trustedProxy = "trusted-proxy"
    /// The header field in which those proxies report the client.
    case forwardedHeader = "forwarded-header"
    /// The maximum time that the platform takes to stop.
    case drainTime = "drain-time"
    /// The token for reading metrics from other hosts.
    case metricsToken = "metrics-token"
    /// The public keys of the issuer of JSON Web Tokens.
    case jwtKeys = "jwt-keys"
    /// The issuer of JSON Web Tokens.
    case jwtIssuer = "jwt-issuer"
    /// The audience of JSON Web Tokens.
    case jwtAudience = "jwt-audience"
    /// The address of the collector of spans.
    case otlpEndpoint = "otlp-endpoint"
    /// The origins that may embed the watch page.
    case frameAncestor = "frame-ancestor"
    /// Whether all streams are packaged for HLS.
    case hls
    /// The duration of HLS parts.
    case hlsPart = "hls-part"
    /// The duration of HLS segments.
    case hlsSegment = "hls-segment"
    /// The duration in which viewers can rewind.
    case hlsWindow = "hls-window"
    /// Whether that duration is kept in memory only.
    case hlsWindowInMemory = "hls-window-in-memory"
    /// The number of HLS segments that have the same key.
    case hlsEncryption = "hls-encryption"
    /// The streams of which lower layers are made.
    case renditions
    /// The maximum number of processes that make lower layers.
    case maxRenditions = "max-renditions"
    /// The streams whose publishers are asked for a second codec.
    case secondCodec = "second-codec"
    /// Whether every stream is recorded.
    case record
    /// The folder of recordings.
    case recordings
    /// The interval in which recordings are synced.
    case recordingSync = "recording-sync"
    /// The time after which recordings are deleted.
    case recordingRetention = "recording-retention"
    /// The size of an application's recordings.
    case recordingSize = "recording-size"
    /// The declared streams, which the configuration file contains.
    case streams
    /// The NATS servers of the cluster's directory.
    case cluster
    /// The name of this node of the cluster.
    case node
    /// The region of this node.
    case region
    /// The URI at which clients and other nodes reach this node.
    case clusterAddress = "cluster-address"
    /// The credentials of the NATS user.
    case clusterCredentials = "cluster-credentials"
    /// The authority of the NATS servers' certificates.
    case clusterAuthority = "cluster-authority"
    /// The nodes from which streams are pulled.
    case origin
    /// The size of the cache of HLS of other nodes.
    case edgeCache = "edge-cache"
    /// The secret of all nodes.
    case clusterSecret = "cluster-secret"
    /// The address of the object store for recordings.
    case s3Endpoint = "s3-endpoint"
    /// The bucket for recordings.
    case s3Bucket = "s3-bucket"
    /// The region of the object store.
    case s3Region = "s3-region"
    /// The beginning of the names of objects.
    case s3Prefix = "s3-prefix"
    /// The credentials of the object store.
    case s3Credentials = "s3-credentials"
    /// Whether uploaded files are deleted from the disk.
    case s3DeleteLocal = "s3-delete-local"

    /// Whether a change needs a restart, because sockets, the data directory and the durations of packaged streams do not
    /// change while the platform runs.
    public var needsRestart: Bool {
        switch self {
        case .listen, .rtcPort, .shards, .advertise, .stun, .tlsPort, .data, .dataKey, .metricsToken, .frameAncestor,
            .rtmpPort, .rtmpsPort, .rtmpTakeover, .srtPort, .srtLatency, .srtAudio, .srtPassphrase, .hls, .hlsPart,
            .hlsSegment, .hlsWindow, .hlsWindowInMemory, .hlsEncryption, .renditions, .maxRenditions, .secondCodec,
            .record,
            .recordings, .recordingSync, .recordingRetention, .recordingSize, .s3Endpoint, .s3Bucket, .s3Region,
            .s3Prefix, .s3Credentials, .s3DeleteLocal, .acmeWebroot, .tlsSelfSigned, .otlpEndpoint, .jwtKeys,
            .jwtIssuer, .jwtAudience, .origin, .edgeCache, .cluster, .node, .region, .clusterSecret, .clusterAddress,
            .clusterCredentials, .clusterAuthority:
            true
        case .application, .administrator, .tlsCertificate, .tlsKey, .turnHost, .retention, .webhookAllow, .mediaAllow,
            .srtPullPorts,
            .mediaDirectory, .maxJobs, .limit, .trustedProxy, .forwardedHeader, .drainTime, .streams:
            false
        }
    }

    /// Returns whether the setting has the same value in both configurations.
    func isSame(_ left: PlatformConfiguration, _ right: PlatformConfiguration) -> Bool {
        switch self {
        case .listen: left.host == right.host && left.port == right.port
        case .rtcPort: left.rtcPort == right.rtcPort
        case .shards: left.shards == right.shards
        case .advertise: left.advertise == right.advertise
        case .stun: left.stunServers == right.stunServers
        case .application: left.applications == right.applications
        case .administrator: left.administrator == right.administrator
        case .tlsPort: left.tlsPort == right.tlsPort
        case .rtmpPort: left.rtmp.port == right.rtmp.port
        case .rtmpsPort: left.rtmp.tlsPort == right.rtmp.tlsPort
        case .rtmpTakeover: left.rtmp.takesOver == right.rtmp.takesOver
        case .srtPort: left.srt.port == right.srt.port
        case .srtLatency: left.srt.latency == right.srt.latency
        case .srtAudio: left.srt.viewerAudio == right.srt.viewerAudio
        case .srtPassphrase: left.srt.passphrase == right.srt.passphrase
        case .tlsCertificate: left.tlsCertificate == right.tlsCertificate
        case .tlsKey: left.tlsKey == right.tlsKey
        case .tlsSelfSigned: left.tlsSelfSigned == right.tlsSelfSigned
        case .acmeWebroot: left.acmeWebroot == right.acmeWebroot
        case .turnHost: left.turnHost == right.turnHost
        case .data: left.storage.directory == right.storage.directory
        case .dataKey: left.storage.keyFile == right.storage.keyFile
        case .retention: left.storage.retention == right.storage.retention
        case .webhookAllow: left.storage.webhookAllowedNetworks == right.storage.webhookAllowedNetworks
        case .mediaAllow: left.jobs?.networks == right.jobs?.networks
        case .srtPullPorts: left.jobs?.listenerPorts == right.jobs?.listenerPorts
        case .mediaDirectory: left.jobs?.directory == right.jobs?.directory
        case .maxJobs: left.jobs?.limit == right.jobs?.limit
        case .limit: left.limits == right.limits
        case .trustedProxy: left.trustedProxies == right.trustedProxies
        case .forwardedHeader: left.forwardedHeader == right.forwardedHeader
        case .drainTime: left.drainTime == right.drainTime
        case .metricsToken: left.metricsToken == right.metricsToken
        case .jwtKeys: left.tokenIssuer?.keys == right.tokenIssuer?.keys
        case .jwtIssuer: left.tokenIssuer?.issuer == right.tokenIssuer?.issuer
        case .jwtAudience: left.tokenIssuer?.audience == right.tokenIssuer?.audience
        case .otlpEndpoint: left.otlpEndpoint == right.otlpEndpoint
        case .frameAncestor: left.frameAncestors == right.frameAncestors
        case .hls: left.hls.packagesEveryStream == right.hls.packagesEveryStream
        case .hlsPart: left.hls.partDuration == right.hls.partDuration
        case .hlsSegment: left.hls.segmentDuration == right.hls.segmentDuration
        case .hlsWindow: left.hls.window == right.hls.window
        case .hlsWindowInMemory: left.hls.keepsWindowInMemory == right.hls.keepsWindowInMemory
        case .hlsEncryption: left.hls.segmentsPerKey == right.hls.segmentsPerKey
        case .renditions: left.renditions.streams == right.renditions.streams
        case .maxRenditions: left.renditions.maximumProcesses == right.renditions.maximumProcesses
        case .secondCodec: left.secondCodec == right.secondCodec
        case .record: left.recording.recordsEveryStream == right.recording.recordsEveryStream
        case .recordings: left.recording.directory == right.recording.directory
        case .recordingSync: left.recording.syncInterval == right.recording.syncInterval
        case .recordingRetention: left.recording.retention == right.recording.retention
        case .recordingSize: left.recording.maximumSize == right.recording.maximumSize
        case .streams: left.streams == right.streams
        case .cluster: left.cluster?.servers == right.cluster?.servers
        case .node: left.cluster?.node == right.cluster?.node
        case .region: left.cluster?.region == right.cluster?.region
        case .clusterAddress: left.cluster?.address == right.cluster?.address
        case .clusterCredentials: left.cluster?.credentialsFile == right.cluster?.credentialsFile
        case .clusterAuthority: left.cluster?.authorityFile == right.cluster?.authorityFile
        case .origin: left.edges.origins == right.edges.origins
        case .edgeCache: left.edges.cacheSize == right.edges.cacheSize
        case .clusterSecret:
            left.edges.secret == right.edges.secret && left.cluster?.secret == right.cluster?.secret
        case .s3Endpoint: left.recording.upload?.endpoint == right.recording.upload?.endpoint
        case .s3Bucket: left.recording.upload?.bucket == right.recording.upload?.bucket
        case .s3Region: left.recording.upload?.region == right.recording.upload?.region
        case .s3Prefix: left.recording.upload?.prefix == right.recording.upload?.prefix
        case .s3Credentials: left.recording.upload?.credentials == right.recording.upload?.credentials
        case .s3DeleteLocal: left.recording.upload?.deletesLocalFiles == right.recording.upload?.deletesLocalFiles
        }
    }
}

/// The result of applying a configuration to a running platform.
public struct PlatformChanges: Hashable, Sendable {
    /// The settings that changed.
    public var applied: [PlatformSetting]
    /// The settings that need a restart and did not change.
    public var needRestart: [PlatformSetting]

    init(from old: PlatformConfiguration, to new: PlatformConfiguration) {
        let changed = PlatformSetting.allCases.filter { !$0.isSame(old, new) }
        applied = changed.filter { !$0.needsRestart }
        needRestart = changed.filter(\.needsRestart)
    }
}
