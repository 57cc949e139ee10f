import Glibc
import PCastCore
public import PCastIO
import PCastWeb
import Synchronization

/// The process beside a worker that connects to addresses of foreign media for it. The worker itself reaches this guard and
/// the platform alone, as the kernel sees to it: where libavformat is led past the guard, by whatever a server says, it
/// does not arrive.
///
/// | the kernel has | what holds the worker |
/// |---|---|
/// | Landlock's rules about TCP | it connects by TCP to the ports of guard and platform alone |
/// | network namespaces, which this process may make | its network is a loopback of its own, out of which only this process leads |
public struct JobSandbox: Sendable {
    /// What holds a worker back.
    public enum Hold: Sendable, CaseIterable {
        case portRules, network

        /// What there is here for this order; nil for nothing.
        public static func available(for order: IngestJob) -> Hold? {
            if ConnectionLimits.hasPortRules { return .portRules }
            return canIsolate(order) ? .network : nil
        }

        /// SRT comes and goes by UDP, which is led nowhere but to the platform; and the platform has to be on loopback, where
        /// it tells its workers to come by.
        private static func canIsolate(_ order: IngestJob) -> Bool {
            guard MediaURI(order.uri)?.scheme != .srt, order.mediaPort != nil,
                let platform = try? WebAddress(order.platform), !platform.isSecure,
                IPAddress(platform.host) == .loopbackV4
            else { return false }
            return (try? ConnectionLimits.runIsolated { () throws(IOError) in true }) ?? false
        }
    }

    private let order: IngestJob
    private let hold: Hold
    private let platform: TransportAddress?
    private let platformPort: UInt16
    private let purpose: OutboundProxy.Purpose?
    private let reporting: Reporting

    /// What the platform is told, by the worker and by its guard.
    private final class Reporting: Sendable {
        private let isRunning = Atomic(false)
        private let write: @Sendable (String) -> Void
        private let failure: String

        init(_ kind: IngestJob.Kind, _ write: @escaping @Sendable (String) -> Void) {
            self.write = write
            failure = kind == .egress ? "egress-setup-failed" : StreamEndedReason.failed.rawValue
        }

        func pass(_ line: String) {
            if JobReport(line: line) == .running { isRunning.store(true, ordering: .relaxed) }
            write(line + "\n")
        }

        /// There is no worker.
        func fail(_ why: String) { write(JobReport.ended(reason: failure, description: why).line) }

        /// What leads to where nobody may go is nothing to wait for, and nothing to begin with.
        func refuse(_ why: String) {
            let isRunning = isRunning.load(ordering: .relaxed)
            let report =
                isRunning
                ? JobReport.note("not connected: \(why)") : JobReport.ended(reason: failure, description: why)
            write(report.line)
        }
    }

    /// - Parameter write: writes a line for the platform.
    /// - Returns: nil when the address is refused, which is reported.
    public init?(_ order: IngestJob, _ hold: Hold, write: @escaping @Sendable (String) -> Void) {
        let reporting = Reporting(order.kind, write)
        guard let uri = MediaURI(order.uri), let address = try? WebAddress(order.platform) else {
            reporting.refuse("this is no address of media")
            return nil
        }
        let addresses = AddressPolicy(listed: order.networks.compactMap { IPNetwork($0) })
        do {
            switch uri.scheme {
            case .http, .https, .rtmps: purpose = .proxy(addresses)
            case .rtsp: purpose = .rtsp(try addresses.judge(host: uri.host, port: uri.port))
            case .rtmp: purpose = .tunnel(try addresses.judge(host: uri.host, port: uri.port))
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

    /// What keeps running beside the worker.
    private struct Running: Sendable {
        let process: ChildProcess
        var relays: [OutboundProxy] = []
        var datagrams: ProxiedDatagrams?
    }

    /// Runs the worker until it has ended. Where it cannot be held back, it is not started, and the end is reported.
    public func run(_ program: String, _ arguments: [String], environment: [String: String]) async {
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
            return reporting.fail("the worker's connections cannot be limited, so it is not started: \(error)")
        }
        for await _ in ends {}
        withExtendedLifetime(running) {}
    }

    /// The order, with the address of the guard; empty for none, so that the worker makes no other.
    private func guardedOrder(by address: TransportAddress?) -> IngestJob {
        var order = order
        order.guardAddress = address.map { "\($0)" } ?? ""
        return order
    }

    private func limited(
        _ start: @escaping @Sendable (IngestJob) throws(IOError) -> ChildProcess
    ) throws(IOError) -> Running {
        let relay: OutboundProxy?
        if let purpose { relay = try OutboundProxy(purpose, refused: reporting.refuse) } else { relay = nil }
        let order = guardedOrder(by: relay?.address)
        let ports = [platformPort] + [order.mediaPort, relay?.address.port].compactMap { $0 }
        let process = try ConnectionLimits.run(ports: ports) { () throws(IOError) in try start(order) }
        return Running(process: process, relays: relay.map { [$0] } ?? [])
    }

    private func isolated(
        _ start: @escaping @Sendable (IngestJob) throws(IOError) -> ChildProcess
    ) throws(IOError) -> Running {
        guard let platform, let mediaPort = order.mediaPort else {
            preconditionFailure("a worker is isolated whose platform can be led to")
        }
        let hasGuard = purpose != nil
        // Doors in the network of the worker; who stands behind them, below, is in this one.
        let (process, doors, media) = try ConnectionLimits.runIsolated {
            () throws(IOError) -> (ChildProcess, [OutboundProxy.Entrance], ProxiedDatagrams.Entrance) in
            var doors = [try OutboundProxy.Entrance(port: platform.port)]
            if hasGuard { doors.append(try OutboundProxy.Entrance()) }
            let media = try ProxiedDatagrams.Entrance(port: mediaPort)
            let process = try start(guardedOrder(by: hasGuard ? doors[1].address : nil))
            return (process, doors, media)
        }
        var running = Running(process: process)
        do throws(IOError) {
            running.relays.append(try OutboundProxy(.tunnel(platform), at: doors[0], refused: reporting.refuse))
            if let purpose {
                running.relays.append(try OutboundProxy(purpose, at: doors[1], refused: reporting.refuse))
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
