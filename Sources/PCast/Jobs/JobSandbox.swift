import Glibc
import PCastCore
package import PCastIO
import PCastWeb
import Synchronization

/// The parent process of a worker, which connects to untrusted media addresses on its behalf.
///
/// The kernel lets the worker connect only to this process and the platform. libavformat cannot bypass the proxy then,
/// whatever a server's response makes it do.
///
/// | feature of the kernel | restriction of the worker |
/// |---|---|
/// | Landlock's TCP rules | it connects by TCP only to the ports of the proxy and the platform |
/// | network namespaces, if permitted | its only interface is loopback, and this process forwards its connections |
package struct JobSandbox: Sendable {
    /// A way of restricting a worker.
    package enum Restriction: Sendable, CaseIterable {
        /// Landlock's TCP rules (`portRules`), or a network namespace (`network`).
        case portRules, network

        /// Returns the restriction that this machine offers for the job; nil if there is none.
        package static func available(for order: IngestJob) -> Restriction? {
            if ConnectionLimits.hasPortRules { return .portRules }
            return canIsolate(order) ? .network : nil
        }

        /// Returns whether a network namespace suits the job. SRT and WebRTC use UDP, which is forwarded only to the
        /// platform. The platform has to be on loopback, where its workers connect.
        private static func canIsolate(_ order: IngestJob) -> Bool {
            guard let uri = MediaURI(order.uri), ![.srt, .whip, .whips, .whep, .wheps].contains(uri.scheme),
                order.kind == .publish || ![.http, .https].contains(uri.scheme), order.mediaPort != nil,
                let platform = try? WebAddress(order.platform), !platform.isSecure,
                IPAddress(platform.host) == .loopbackV4
            else { return false }
            return (try? ConnectionLimits.runIsolated { () throws(IOError) in true }) ?? false
        }
    }

    private let order: IngestJob
    private let hold: Restriction
    private let platform: TransportAddress?
    private let platformPort: UInt16
    private let purpose: OutboundProxy.Purpose?
    private let reporting: Reporting

    /// The reports of the worker and of this process to the platform.
    private final class Reporting: Sendable {
        private let isRunning = Atomic(false)
        private let write: @Sendable (String) -> Void
        private let failure: String

        init(_ kind: IngestJob.Kind, _ write: @escaping @Sendable (String) -> Void) {
            self.write = write
            failure = kind == .egress ? "egress-setup-failed" : StreamEndedReason.failed.rawValue
        }

        /// Forwards a line of the worker.
        func pass(_ line: String) {
            if JobReport(line: line) == .running { isRunning.store(true, ordering: .relaxed) }
            write(line + "\n")
        }

        /// Reports that there is no worker.
        func fail(_ why: String) { write(JobReport.ended(reason: failure, description: why).line) }

        /// Reports a refused connection. Before the job runs it ends the job; afterwards it is a note.
        func refuse(_ why: String) {
            let isRunning = isRunning.load(ordering: .relaxed)
            let report =
                isRunning
                ? JobReport.note("not connected: \(why)") : JobReport.ended(reason: failure, description: why)
            write(report.line)
        }
    }

    /// Creates a sandbox; nil if the address is refused, which is reported.
    ///
    /// - Parameters:
    ///   - order: The job of the worker.
    ///   - hold: The restriction of the worker, as ``Restriction/available(for:)`` returns it.
    ///   - write: A function that writes a line for the platform.
    package init?(_ order: IngestJob, _ hold: Restriction, write: @escaping @Sendable (String) -> Void) {
        let reporting = Reporting(order.kind, write)
        guard let uri = MediaURI(order.uri), let address = try? WebAddress(order.platform) else {
            reporting.refuse("the URI is not supported: use http, https, whip, whep, rtsp, srt, rtmp or rtmps")
            return nil
        }
        let addresses = AddressPolicy(listed: order.networks.compactMap { IPNetwork($0) })
        do {
            switch uri.scheme {
            case .http, .https, .rtmps, .whip, .whips, .whep, .wheps: purpose = .proxy(addresses)
            case .rtsp: purpose = .rtsp(try addresses.evaluate(host: uri.host, port: uri.port))
            case .rtmp: purpose = .tunnel(try addresses.evaluate(host: uri.host, port: uri.port))
            case .srt, .file: purpose = nil
            }
        } catch {
            reporting.refuse("\(error)")
            return nil
        }
        (self.order, self.hold, self.reporting) = (order, hold, reporting)
        platformPort = UInt16(clamping: address.port)
        platform = IPAddress(address.host).map { TransportAddress(ip: $0, port: UInt16(clamping: address.port)) }
    }

    /// The objects that live as long as the worker.
    private struct Running: Sendable {
        let process: ChildProcess
        var relays: [OutboundProxy] = []
        var datagrams: ProxiedDatagrams?
    }

    /// Runs the worker until it has ended. If it cannot be restricted, it is not started, and the failure is reported.
    ///
    /// - Parameters:
    ///   - program: The path of the program; nil if it is unknown.
    ///   - arguments: The arguments of the program.
    ///   - environment: The environment of the program.
    package func run(_ program: String?, _ arguments: [String], environment: [String: String]) async {
        guard let program else {
            return reporting.fail("the path of the worker's program is unknown, so it is not started")
        }
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let reporting = reporting
        let start: @Sendable (IngestJob) throws(IOError) -> ChildProcess = { order throws(IOError) in
            try ChildProcess(
                program, arguments, environment: environment, input: order.line, line: { reporting.pass($0) },
                ended: { _ in ended.finish() })
        }
        let running: Running
        do throws(IOError) {
            running =
                switch hold {
                case .portRules: try limited(start)
                case .network: try isolated(start)
                }
        } catch {
            return reporting.fail("the worker is not started, because its connections cannot be restricted: \(error)")
        }
        for await _ in ends {}
        withExtendedLifetime(running) {}
    }

    /// Returns the job with the address of the proxy. The address is empty if there is no proxy, so that the worker
    /// does not create one.
    private func guardedOrder(by address: TransportAddress?) -> IngestJob {
        var order = order
        order.guardAddress = address.map { "\($0)" } ?? ""
        return order
    }

    /// Starts a worker that Landlock restricts. Throws an error if that fails.
    private func limited(
        _ start: @escaping @Sendable (IngestJob) throws(IOError) -> ChildProcess
    ) throws(IOError) -> Running {
        let proxy: OutboundProxy?
        if let purpose { proxy = try OutboundProxy(purpose, refused: reporting.refuse) } else { proxy = nil }
        let order = guardedOrder(by: proxy?.address)
        let ports = [platformPort] + [order.mediaPort, proxy?.address.port].compactMap { $0 }
        let process = try ConnectionLimits.run(ports: ports) { () throws(IOError) in try start(order) }
        return Running(process: process, relays: proxy.map { [$0] } ?? [])
    }

    /// Starts a worker in its own network namespace. Throws an error if that fails.
    private func isolated(
        _ start: @escaping @Sendable (IngestJob) throws(IOError) -> ChildProcess
    ) throws(IOError) -> Running {
        guard let platform, let mediaPort = order.mediaPort else {
            preconditionFailure("a worker in a network namespace needs the platform's address and its media port")
        }
        let hasGuard = purpose != nil
        // The listening sockets are in the worker's network namespace. The proxies that serve them, below, are in that
        // of this process.
        let (process, listeningSockets, media) = try ConnectionLimits.runIsolated {
            () throws(IOError) -> (ChildProcess, [OutboundProxy.ListeningSocket], ProxiedDatagrams.ListeningSocket) in
            var listeningSockets = [try OutboundProxy.ListeningSocket(port: platform.port)]
            if hasGuard { listeningSockets.append(try OutboundProxy.ListeningSocket()) }
            let media = try ProxiedDatagrams.ListeningSocket(port: mediaPort)
            let process = try start(guardedOrder(by: hasGuard ? listeningSockets[1].address : nil))
            return (process, listeningSockets, media)
        }
        var running = Running(process: process)
        do throws(IOError) {
            running.relays.append(
                try OutboundProxy(.tunnel(platform), at: listeningSockets[0], refused: reporting.refuse))
            if let purpose {
                running.relays.append(try OutboundProxy(purpose, at: listeningSockets[1], refused: reporting.refuse))
            }
            running.datagrams = try ProxiedDatagrams(
                at: media, to: TransportAddress(ip: platform.ip, port: mediaPort))
        } catch {
            process.kill()
            throw error
        }
        return running
    }
}
