import PCastMedia

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
    case tlsName = "tls-name"
    case data
    case dataKey = "data-key"
    case retention
    case callbackNetwork = "callback-network"
    case uriNetwork = "uri-network"
    case uriPorts = "uri-ports"
    case uriDirectory = "uri-directory"
    case uriWorkers = "uri-workers"
    case limit
    case trustedProxy = "trusted-proxy"
    case proxyField = "proxy-field"
    case drainTime = "drain-time"
    case metricsToken = "metrics-token"
    case frameAncestor = "frame-ancestor"

    /// Whether a change needs a restart, because sockets and the data directory do not change while the platform runs.
    public var needsRestart: Bool {
        switch self {
        case .listen, .rtcPort, .shards, .advertise, .stun, .tlsPort, .data, .dataKey, .metricsToken, .frameAncestor:
            true
        case .application, .tlsCertificate, .tlsKey, .tlsName, .retention, .callbackNetwork, .uriNetwork, .uriPorts,
            .uriDirectory, .uriWorkers, .limit, .trustedProxy, .proxyField, .drainTime:
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
        case .tlsName: left.tlsName == right.tlsName
        case .data: left.records.directory == right.records.directory
        case .dataKey: left.records.keyFile == right.records.keyFile
        case .retention: left.records.retention == right.records.retention
        case .callbackNetwork: left.records.callbackNetworks == right.records.callbackNetworks
        case .uriNetwork: left.workers?.networks == right.workers?.networks
        case .uriPorts: left.workers?.listenerPorts == right.workers?.listenerPorts
        case .uriDirectory: left.workers?.folder == right.workers?.folder
        case .uriWorkers: left.workers?.limit == right.workers?.limit
        case .limit: left.limits == right.limits
        case .trustedProxy: left.trustedProxies == right.trustedProxies
        case .proxyField: left.proxyField == right.proxyField
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
