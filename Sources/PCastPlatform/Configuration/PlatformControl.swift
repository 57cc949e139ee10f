import PCastCore
import PCastDatabase
import PCastIO

/// Applies configurations to a running platform, without disconnecting clients.
actor PlatformControl {
    private var configuration: PlatformConfiguration
    private var running: PlatformComponents?

    init(_ configuration: PlatformConfiguration) { self.configuration = configuration }

    func begin(_ running: PlatformComponents) { self.running = running }

    /// Applies all settings that can change. If one of them is invalid, nothing changes.
    ///
    /// - Throws: ``PlatformError``.
    func apply(_ new: PlatformConfiguration) async throws(PlatformError) -> PlatformChanges {
        var new = new
        // Without applications, the current ones remain.
        if new.applications.isEmpty { new.applications = configuration.applications }
        let changes = PlatformChanges(from: configuration, to: new)
        guard let running else { return changes }
        // Operations that may fail come first.
        let paths = try CertificateFiles.Paths(new)
        let identity = try running.certificate?.read(paths)
        if changes.applied.contains(.application) {
            let changed: Set<ApplicationID>
            do throws(RecordsError) {
                changed = try await running.administration.configure(new.applications)
            } catch {
                throw .records("\(error)")
            }
            for application in changed { running.dashboard.logOut(application) }
            running.packaging.revokeAccess(to: changed)
            running.edges?.video.revokeAccess(to: changed)
            await running.recordings.revokeAccess(to: changed)
        }
        if changes.applied.contains(.administrator) {
            await running.administration.setAdministrator(new.administrator)
        }
        if let identity { running.certificate?.use(identity, of: paths) }
        running.turnCredentials?.change(name: new.turnHost)
        running.limiter.change(trustedProxies: new.trustedProxies, forwardedHeader: new.forwardedHeader)
        await running.administration.configure(new.limits)
        if changes.applied.contains(.limit) { await running.directory.shareBitrate() }
        await running.workers.change(
            new.jobs.map { JobPolicy(configuration: $0, listen: running.address) })
        if changes.applied.contains(.streams) || changes.applied.contains(.application) {
            await running.names.apply(new.streams)
        }
        running.platformRecords.change(new.storage, drainTime: TimeSpan(new.drainTime))
        // Settings that need a restart keep their values, so that they are also reported at the next change.
        var applied = new
        for setting in changes.needRestart { setting.copy(from: configuration, to: &applied) }
        configuration = applied
        return changes
    }
}

extension PlatformSetting {
    /// Copies the value of a setting that needs a restart.
    fileprivate func copy(from old: PlatformConfiguration, to new: inout PlatformConfiguration) {
        switch self {
        case .listen: (new.host, new.port) = (old.host, old.port)
        case .rtcPort: new.rtcPort = old.rtcPort
        case .shards: new.shards = old.shards
        case .advertise: new.advertise = old.advertise
        case .stun: new.stunServers = old.stunServers
        case .tlsPort: new.tlsPort = old.tlsPort
        case .rtmpPort: new.rtmp.port = old.rtmp.port
        case .rtmpsPort: new.rtmp.tlsPort = old.rtmp.tlsPort
        case .rtmpTakeover: new.rtmp.takesOver = old.rtmp.takesOver
        case .srtPort: new.srt.port = old.srt.port
        case .srtLatency: new.srt.latency = old.srt.latency
        case .srtAudio: new.srt.viewerAudio = old.srt.viewerAudio
        case .srtPassphrase: new.srt.passphrase = old.srt.passphrase
        case .data: new.storage.directory = old.storage.directory
        case .dataKey: new.storage.keyFile = old.storage.keyFile
        case .tlsSelfSigned: new.tlsSelfSigned = old.tlsSelfSigned
        case .acmeWebroot: new.acmeWebroot = old.acmeWebroot
        case .metricsToken: new.metricsToken = old.metricsToken
        case .jwtKeys, .jwtIssuer, .jwtAudience: new.tokenIssuer = old.tokenIssuer
        case .otlpEndpoint: new.otlpEndpoint = old.otlpEndpoint
        case .frameAncestor: new.frameAncestors = old.frameAncestors
        case .hls: new.hls.packagesEveryStream = old.hls.packagesEveryStream
        case .hlsPart: new.hls.partDuration = old.hls.partDuration
        case .hlsSegment: new.hls.segmentDuration = old.hls.segmentDuration
        case .hlsWindow: new.hls.window = old.hls.window
        case .hlsWindowInMemory: new.hls.keepsWindowInMemory = old.hls.keepsWindowInMemory
        case .hlsEncryption: new.hls.segmentsPerKey = old.hls.segmentsPerKey
        case .renditions: new.renditions.streams = old.renditions.streams
        case .maxRenditions: new.renditions.maximumProcesses = old.renditions.maximumProcesses
        case .secondCodec: new.secondCodec = old.secondCodec
        case .record: new.recording.recordsEveryStream = old.recording.recordsEveryStream
        case .recordings: new.recording.directory = old.recording.directory
        case .recordingSync: new.recording.syncInterval = old.recording.syncInterval
        case .recordingRetention: new.recording.retention = old.recording.retention
        case .recordingSize: new.recording.maximumSize = old.recording.maximumSize
        // They belong together: one of them has no value without the bucket.
        case .s3Endpoint, .s3Bucket, .s3Region, .s3Prefix, .s3Credentials, .s3DeleteLocal:
            new.recording.upload = old.recording.upload
        // They belong together too.
        case .cluster, .node, .region, .clusterAddress, .clusterCredentials, .clusterAuthority:
            new.cluster = old.cluster
        case .clusterSecret:
            new.cluster = old.cluster
            new.edges.secret = old.edges.secret
        case .origin: new.edges.origins = old.edges.origins
        case .edgeCache: new.edges.cacheSize = old.edges.cacheSize
        default: preconditionFailure("\(self) must require a restart")
        }
    }
}
