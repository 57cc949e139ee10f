import Foundation
import PCastCore
import PCastIO
import PCastWeb

/// A result of a check of this host: the part that was checked, the finding, and the action that helps.
public struct PlatformFinding: Hashable, Sendable {
    /// The part of the platform or of the host that a check is about.
    public enum Subject: String, CaseIterable, Sendable {
        /// A port that the platform listens on.
        case port
        /// An address that clients receive.
        case address
        /// The path of UDP datagrams.
        case udp
        /// The certificate of TLS.
        case certificate
        /// The clock of this host, by which tokens expire and streams are synchronized.
        case clock
        /// A folder of the database or of recordings.
        case disk
        /// A limit of the kernel for this program.
        case limit
    }

    /// Whether something must be done.
    public enum Severity: String, Sendable {
        /// Nothing must be done.
        case ok
        /// The platform starts, but something may not work for some clients.
        case warning
        /// The platform does not start, or serves nobody.
        case failure
    }

    /// The part that was checked.
    public let subject: Subject
    /// Whether something must be done.
    public let severity: Severity
    /// The finding, as a sentence.
    public let description: String
    /// The action that helps, as a sentence; nil if nothing must be done.
    public let remedy: String?

    init(_ subject: Subject, _ severity: Severity, _ description: String, remedy: String? = nil) {
        self.subject = subject
        self.severity = severity
        self.description = description
        self.remedy = remedy
    }

    /// Creates a finding of a failure. The text of the error says what is wrong and what to do.
    init(_ subject: Subject, failure error: any Error, of what: String) {
        self.init(subject, .failure, "\(what): \(error)")
    }
}

/// Checks whether a platform with a configuration can run on this host, and can be reached. Nothing is changed, and the
/// platform is not started.
public struct PlatformDiagnosis: Sendable {
    private static let warningTime = 14 * 86_400
    /// The free space below which a warning is given, in bytes.
    private static let sufficientSpace = Int64(1) << 30
    /// The time of a sync above which recordings and the database may be too slow.
    private static let sufficientSyncTime = TimeSpan.milliseconds(100)
    /// The size of the buffers of the media sockets in bytes.
    private static let bufferSize = 32 << 20
    /// The number of open files that a platform needs beside those of its clients.
    private static let reservedDescriptors: UInt64 = 256

    /// The time in which a platform that is running responds.
    package var responseTime = Duration.seconds(3)
    private let configuration: PlatformConfiguration
    private let interfaces: [LocalAddress]

    /// Creates a diagnosis of this host for a configuration.
    public init(_ configuration: PlatformConfiguration) {
        self.configuration = configuration
        interfaces = (try? LocalAddress.all()) ?? []
    }

    /// Runs all checks.
    ///
    /// - Returns: The findings in the order of ``PlatformFinding/Subject``.
    public func run() async -> [PlatformFinding] {
        var findings: [PlatformFinding] = []
        let isRunning = await isPlatformRunning()
        if isRunning {
            findings.append(
                PlatformFinding(
                    .port, .ok, "A platform is running at \(uri). The ports that it uses are not checked."))
        } else {
            findings += ports()
        }
        findings += await addresses(isRunning: isRunning)
        findings += datagrams()
        findings += certificate(at: MonotonicClock.wallTime())
        findings.append(Self.clock(SystemClockState.read()))
        findings += disks()
        findings += limits()
        return findings
    }

    // MARK: Ports

    private var uri: String { configuration.uriForWorkers(port: configuration.port) }

    /// Returns whether a platform responds at the address of the configuration.
    private func isPlatformRunning() async -> Bool {
        guard configuration.port != 0 else { return false }
        guard let response = try? await HTTPRequests.send("GET", "\(uri)/healthz", within: responseTime) else {
            return false
        }
        return response.status == 200 && String(decoding: response.body, as: UTF8.self).contains(#""status""#)
    }

    /// Checks that each port is free.
    private func ports() -> [PlatformFinding] {
        guard let listen = configuration.listenAddress else {
            let error = PlatformError.invalidHost(configuration.host)
            return [PlatformFinding(.port, failure: error, of: "--listen")]
        }
        let wanted: [(name: String, port: Int?, transport: PortProbe.Transport)] = [
            ("HTTP", configuration.port, .tcp), ("media", Int(configuration.rtcPort), .udp),
            ("media", Int(configuration.rtcPort), .tcp), ("HTTPS and TURN", configuration.tlsPort, .tcp),
            ("RTMP", configuration.rtmp.port, .tcp), ("RTMPS", configuration.rtmp.tlsPort, .tcp),
        ]
        return wanted.compactMap { name, port, transport in
            guard let port, port != 0, let number = UInt16(exactly: port) else { return nil }
            let what = "Port \(port) for \(name) (\(transport.rawValue))"
            do throws(IOError) {
                try PortProbe.bind(TransportAddress(ip: listen, port: number), transport)
                return PlatformFinding(.port, .ok, "\(what) is free.")
            } catch {
                return PlatformFinding(.port, failure: error, of: what)
            }
        }
    }

    // MARK: Addresses

    /// Checks the addresses of candidates: whether other hosts can reach them, as far as this host can know it.
    private func addresses(isRunning: Bool) async -> [PlatformFinding] {
        guard let listen = configuration.listenAddress else { return [] }
        if configuration.isLoopback, configuration.advertise.isEmpty {
            return [
                PlatformFinding(
                    .address, .ok,
                    "The platform listens on \(listen), which only programs of this host can reach.")
            ]
        }
        let discovered = await AddressDiscovery.run(
            servers: configuration.stunServers, port: isRunning ? 0 : configuration.rtcPort, family: listen.family)
        return named() + reported(discovered, listen)
    }

    /// Checks the addresses that the operator has configured.
    private func named() -> [PlatformFinding] {
        configuration.advertise.map { address in
            if address.isLoopback {
                return PlatformFinding(
                    .address, .warning, "--advertise \(address) is a loopback address.",
                    remedy: "Other hosts cannot reach it: give the address by which they reach this host.")
            }
            if interfaces.contains(where: { $0.ip == address }) {
                return PlatformFinding(.address, .ok, "\(address) is an address of this host.")
            }
            let port = configuration.rtcPort
            return PlatformFinding(
                .address, .warning, "\(address) is not an address of an interface of this host.",
                remedy: "The router at this address must forward UDP and TCP port \(port) to this host.")
        }
    }

    /// Checks the answers of STUN servers, and without any the addresses of the interfaces.
    private func reported(_ discovered: [TransportAddress], _ listen: IPAddress) -> [PlatformFinding] {
        guard configuration.stunServers.isEmpty else {
            guard let first = discovered.first else {
                return [
                    PlatformFinding(
                        .address, .failure, "No STUN server reported the public address.",
                        remedy: "Permit UDP to the servers of --stun, or give the address by --advertise.")
                ]
            }
            let known = configuration.advertise
            guard known.isEmpty || known.contains(first.ip) else {
                return [
                    PlatformFinding(
                        .address, .warning,
                        "A STUN server reports the public address \(first.ip), which is not in --advertise.",
                        remedy: "Correct --advertise if clients of the internet use it.")
                ]
            }
            guard first.port == configuration.rtcPort || configuration.rtcPort == 0 else {
                return [
                    PlatformFinding(
                        .address, .warning, "A NAT has changed the media port to \(first.port).",
                        remedy: "Forward UDP and TCP port \(configuration.rtcPort) of the router to this host.")
                ]
            }
            return [PlatformFinding(.address, .ok, "STUN servers report the public address \(first).")]
        }
        guard configuration.advertise.isEmpty else { return [] }
        let own = listen.isUnspecified ? interfaces.filter { !$0.isLoopback }.map(\.ip) : [listen]
        guard !own.isEmpty else {
            return [
                PlatformFinding(
                    .address, .failure, "This host has no address besides loopback.",
                    remedy: "Connect it to a network, or give an address by --advertise.")
            ]
        }
        let list = own.map { "\($0)" }.joined(separator: ", ")
        guard own.contains(where: \.isPublic) else {
            return [
                PlatformFinding(
                    .address, .warning, "Candidates contain only addresses of private networks: \(list).",
                    remedy: "For clients of the internet, give the public address by --advertise or --stun.")
            ]
        }
        return [PlatformFinding(.address, .ok, "Candidates contain the addresses of this host: \(list).")]
    }

    // MARK: UDP

    /// Sends a datagram to each address of this host, because a firewall may drop it.
    private func datagrams() -> [PlatformFinding] {
        guard let listen = configuration.listenAddress else { return [] }
        let own = listen.isUnspecified ? interfaces.map(\.ip).filter { $0.family == listen.family } : [listen]
        return own.map { address in
            do throws(IOError) {
                let passes = try PortProbe.passes(from: address, to: TransportAddress(ip: address, port: 0))
                guard passes else {
                    return PlatformFinding(
                        .udp, .failure, "A datagram to \(address) was lost on this host.",
                        remedy: "Permit UDP to the media port in the firewall of this host.")
                }
                return PlatformFinding(.udp, .ok, "Datagrams reach \(address) from this host.")
            } catch {
                return PlatformFinding(.udp, failure: error, of: "UDP at \(address)")
            }
        }
    }

    // MARK: Certificate

    /// Checks the files of the certificate, and the time until it expires.
    func certificate(at now: WallTime) -> [PlatformFinding] {
        guard configuration.usesCertificate else { return [] }
        guard let file = configuration.tlsCertificate, let key = configuration.tlsKey else {
            return [
                PlatformFinding(
                    .certificate, .warning, "The certificate is self-signed.",
                    remedy: "Browsers warn about it: give a certificate by --tls-certificate and --tls-key.")
            ]
        }
        guard configuration.acmeWebroot == nil || FileVersion(path: file) != nil || FileVersion(path: key) != nil else {
            return [
                PlatformFinding(
                    .certificate, .warning, "The certificate \(file) does not exist yet.",
                    remedy: "Request it: the platform serves the challenges of --acme-webroot.")
            ]
        }
        do throws(WebError) {
            let identity = try TLSIdentity(certificate: file, key: key)
            let left = identity.expiry - Int(now.millisecondsSinceEpoch / 1_000)
            guard left > 0 else {
                return [
                    PlatformFinding(
                        .certificate, .failure, "The certificate \(file) has expired.",
                        remedy: "Renew it. The platform reads the new file without a restart.")
                ]
            }
            let days = left / 86_400
            guard left > Self.warningTime else {
                return [
                    PlatformFinding(
                        .certificate, .warning, "The certificate \(file) expires in \(days) days.",
                        remedy: "Renew it. The platform reads the new file without a restart.")
                ]
            }
            return [PlatformFinding(.certificate, .ok, "The certificate \(file) is valid for \(days) days.")]
        } catch {
            return [PlatformFinding(.certificate, failure: error, of: "TLS")]
        }
    }

    // MARK: Host

    static func clock(_ state: SystemClockState) -> PlatformFinding {
        switch state {
        case .synchronized: PlatformFinding(.clock, .ok, "The clock is synchronized.")
        case .unsynchronized:
            PlatformFinding(
                .clock, .warning, "The kernel reports that the clock is not synchronized.",
                remedy: "Run chrony or systemd-timesyncd: tokens are rejected when the clocks of hosts differ.")
        case .unknown:
            PlatformFinding(
                .clock, .warning, "The kernel does not say whether the clock is synchronized.",
                remedy: "Compare it with another host: tokens are rejected when the clocks of hosts differ.")
        }
    }

    /// Checks that the folders can be written, have space, and are fast enough.
    private func disks() -> [PlatformFinding] {
        let data = configuration.storage.directory.map { Self.disk("--data", $0) }
        let recordings = configuration.recording.directory.map { Self.disk("--recordings", $0) }
        return [data, recordings].compactMap(\.self)
    }

    static func disk(_ option: String, _ path: String) -> PlatformFinding {
        let what = "\(option) \(path)"
        var folder = URL(fileURLWithPath: path)
        while !FileManager.default.fileExists(atPath: folder.path), folder.path != "/" {
            folder.deleteLastPathComponent()
        }
        do {
            let syncTime = try syncTime(in: folder)
            let values = try FileManager.default.attributesOfFileSystem(forPath: folder.path)
            let free = (values[.systemFreeSize] as? NSNumber)?.int64Value ?? 0
            guard free >= sufficientSpace else {
                return PlatformFinding(
                    .disk, .warning, "\(what) has \(free >> 20) MiB of free space.",
                    remedy: "Free some, or limit recordings by --recording-size.")
            }
            guard syncTime < sufficientSyncTime else {
                return PlatformFinding(
                    .disk, .warning, "A sync in \(what) took \(Int(syncTime.seconds * 1_000)) ms.",
                    remedy: "Use a faster disk, or a longer interval of syncs for recordings.")
            }
            return PlatformFinding(.disk, .ok, "\(what) can be written and has \(free >> 30) GiB of free space.")
        } catch {
            return PlatformFinding(
                .disk, .failure, "\(what) cannot be written: \(error.localizedDescription)",
                remedy: "Give the user of the platform the permission, or another folder.")
        }
    }

    /// Writes and syncs a temporary file. Returns the time that it took.
    private static func syncTime(in folder: URL) throws -> TimeSpan {
        let file = folder.appendingPathComponent(".pcast-doctor-\(UInt64.random(in: 0...UInt64.max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let start = MonotonicClock.now()
        try Data(count: 4_096).write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.synchronize()
        return MonotonicClock.now() - start
    }

    /// Checks the limits of the kernel.
    private func limits() -> [PlatformFinding] {
        var findings: [PlatformFinding] = []
        var files = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        let needed = UInt64(configuration.maximumPeers) + Self.reservedDescriptors
        let permitted = UInt64(files.rlim_max)
        if permitted < needed {
            findings.append(
                PlatformFinding(
                    .limit, .warning, "At most \(permitted) files may be open, and \(needed) may be needed.",
                    remedy: "Raise the limit: “LimitNOFILE=” in the unit, or “ulimit -n” in the shell."))
        } else {
            findings.append(PlatformFinding(.limit, .ok, "\(permitted) files may be open."))
        }
        if let warning = PortProbe.bufferWarning(size: Self.bufferSize) {
            findings.append(PlatformFinding(.limit, .warning, "With many viewers, \(warning)"))
        }
        return findings
    }
}
