import PCastCore

/// A setting of the configuration, with the name of its option of `pcast serve`.
public enum PlatformSetting: String, CaseIterable, Sendable {
    case listen
    case rtcPort = "rtc-port"
    case shards
    case advertise
    case stun
    case application
    case tlsPort = "tls-port"
    case tlsCertificate = "tls-certificate"
    case tlsKey = "tls-key"
    case turnHost = "turn-host"
    case data
    case dataKey = "data-key"
    case retention
    case webhookAllow = "webhook-allow"
    case mediaAllow = "media-allow"
    case srtPullPorts = "srt-pull-ports"
    case mediaDirectory = "media-directory"
    case maxJobs = "max-jobs"
    case limit
    case trustedProxy = "trusted-proxy"
    case forwardedHeader = "forwarded-header"
    case drainTime = "drain-time"
    case metricsToken = "metrics-token"
    case frameAncestor = "frame-ancestor"

    /// Whether a change needs a restart, because sockets and the data directory do not change while the platform runs.
    public var needsRestart: Bool {
        switch self {
        case .listen, .rtcPort, .shards, .advertise, .stun, .tlsPort, .data, .dataKey, .metricsToken, .frameAncestor:
            true
        case .application, .tlsCertificate, .tlsKey, .turnHost, .retention, .webhookAllow, .mediaAllow, .srtPullPorts,
            .mediaDirectory, .maxJobs, .limit, .trustedProxy, .forwardedHeader, .drainTime:
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
        case .tlsPort: left.tlsPort == right.tlsPort
        case .tlsCertificate: left.tlsCertificate == right.tlsCertificate
        case .tlsKey: left.tlsKey == right.tlsKey
        case .turnHost: left.turnHost == right.turnHost
        case .data: left.records.directory == right.records.directory
        case .dataKey: left.records.keyFile == right.records.keyFile
        case .retention: left.records.retention == right.records.retention
        case .webhookAllow: left.records.webhookAllowedNetworks == right.records.webhookAllowedNetworks
        case .mediaAllow: left.workers?.networks == right.workers?.networks
        case .srtPullPorts: left.workers?.listenerPorts == right.workers?.listenerPorts
        case .mediaDirectory: left.workers?.folder == right.workers?.folder
        case .maxJobs: left.workers?.limit == right.workers?.limit
        case .limit: left.limits == right.limits
        case .trustedProxy: left.trustedProxies == right.trustedProxies
        case .forwardedHeader: left.forwardedHeader == right.forwardedHeader
        case .drainTime: left.drainTime == right.drainTime
        case .metricsToken: left.metricsToken == right.metricsToken
        case .frameAncestor: left.frameAncestors == right.frameAncestors
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
