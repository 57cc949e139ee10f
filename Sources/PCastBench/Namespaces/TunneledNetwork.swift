import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastNetworkEmulation
import Synchronization

/// Network namespaces for a server and for hosts that are each behind an impaired link. Every packet of their kernels
/// passes through the link model, TCP segments too, so that the kernel's TCP is tested.
final class TunneledNetwork: Sendable {
    struct Plan: Sendable {
        var conditions = NetworkConditions(.perfect)
        var firewall = TunneledHost.Firewall.open
    }

    static let serverAddress = IPAddress(v4: 0x0A4D_0001)
    static let samplingInterval = TimeSpan.milliseconds(100)

    let server: NetworkNamespace
    let hosts: [NetworkNamespace]
    private let interfaces: [String]
    private let state: State
    private let thread: WorkerThread

    private final class State: Sendable {
        let isStopped = Atomic(false)
        let hosts: Mutex<[TunneledHost]>
        let samples: Mutex<[[LinkSample]]>

        init(_ hosts: [TunneledHost]) {
            self.hosts = Mutex(hosts)
            samples = Mutex(hosts.map { _ in [] })
        }
    }

    /// Creates the namespaces. Throws `BenchFailure` if this process is not permitted to create namespaces and TUN
    /// interfaces.
    init(_ plans: [Plan]) throws {
        guard geteuid() == 0 else {
            throw BenchFailure("network namespaces and tunnels require root: run this as root")
        }
        let id = "pcb\(getpid())"
        var made: [NetworkNamespace] = []
        do {
            server = try NetworkNamespace("\(id)-server")
            made.append(server)
            let serverDevice = try TunnelDevice("\(id)s", address: "\(Self.serverAddress)/16", in: server)
            let now = MonotonicClock.now()
            var hosts: [TunneledHost] = []
            for (index, plan) in plans.enumerated() {
                let namespace = try NetworkNamespace("\(id)-\(index)")
                made.append(namespace)
                let number = UInt8(index + 1)
                let device = try TunnelDevice(
                    "\(id)h\(index)", address: "\(TunneledHost.address(number))/16", in: namespace)
                try namespace.ip(["route", "add", "default", "dev", "\(id)h\(index)"])
                // TCP learns the MTU from both ends' interfaces; UDP must discover it.
                if let size = plan.conditions.up.initial.maximumPacketSize {
                    try namespace.ip(["link", "set", "\(id)h\(index)", "mtu", "\(size)"])
                }
                hosts.append(TunneledHost(plan, number: number, device: device, at: now))
            }
            self.hosts = Array(made.dropFirst())
            interfaces = plans.indices.map { "\(id)h\($0)" }
            let state = State(hosts)
            self.state = state
            thread = try WorkerThread(name: "tunnels") { Self.carry(serverDevice, state) }
        } catch {
            made.forEach { $0.close() }
            throw error
        }
    }

    func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        thread.join()
        (hosts + [server]).forEach { $0.close() }
    }

    // MARK: Changes and figures

    /// Changes a host's link while it runs.
    func change(_ host: Int, _ change: (inout TunneledHost) -> Void) { state.hosts.withLock { change(&$0[host]) } }

    /// Replaces a host's address by another, as when a machine changes its network.
    func moveAddress(of host: Int) throws {
        let device = interfaces[host]
        try hosts[host].ip(["address", "flush", "dev", device])
        try hosts[host].ip(["address", "add", "10.77.\(host + 1).3/16", "dev", device])
        try hosts[host].ip(["route", "replace", "default", "dev", device])
    }

    func statistics(of host: Int) -> (up: LinkStatistics, down: LinkStatistics, fragments: Int) {
        state.hosts.withLock { ($0[host].up.statistics, $0[host].down.statistics, $0[host].fragments) }
    }

    /// Returns the samples of a host's link after `start` and up to `end`.
    func samples(of host: Int, from start: Instant, until end: Instant? = nil) -> [LinkSample] {
        state.samples.withLock { samples in
            samples[host].filter { sample in
                sample.instant > start && end.map { sample.instant <= $0 } ?? true
            }
        }
    }

    // MARK: The thread

    private static let longestWait = TimeSpan.milliseconds(5)

    private static func carry(_ server: TunnelDevice, _ state: State) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        var descriptors = state.hosts.withLock { hosts in
            ([server] + hosts.map(\.device)).map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        }
        var nextSample = MonotonicClock.now() + samplingInterval
        while !state.isStopped.load(ordering: .relaxed) {
            let next = state.hosts.withLock { $0.reduce(Instant?.none) { Instant.earlier($0, $1.deadline) } }
            let wait = next.map { $0 - MonotonicClock.now() } ?? longestWait
            ProxySocket.wait(&descriptors, for: min(max(.zero, wait), longestWait))
            let now = MonotonicClock.now()
            state.hosts.withLock { hosts in
                transfer(server, &hosts, buffer, at: now)
                guard now >= nextSample else { return }
                nextSample = nextSample + samplingInterval
                for index in hosts.indices {
                    let sample = hosts[index].takeSample(at: now)
                    state.samples.withLock { $0[index].append(sample) }
                }
            }
        }
    }

    private static func transfer(
        _ server: TunnelDevice, _ hosts: inout [TunneledHost], _ buffer: UnsafeMutableRawBufferPointer, at now: Instant
    ) {
        while let bytes = server.read(into: buffer) {
            guard let packet = IPPacket(bytes), let address = packet.destination.ip.v4, address >> 16 == 0x0A4D else {
                continue
            }
            let number = Int(address >> 8 & 0xFF)
            if hosts.indices.contains(number - 1) { hosts[number - 1].sendBack(packet, at: now) }
        }
        for index in hosts.indices {
            while let bytes = hosts[index].device.read(into: buffer) {
                if let packet = IPPacket(bytes) { hosts[index].send(packet, at: now) }
            }
            while let packet = hosts[index].receive(at: now) { server.write(packet.bytes) }
            hosts[index].deliver(at: now)
        }
    }
}

extension TunneledHost {
    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }
}
