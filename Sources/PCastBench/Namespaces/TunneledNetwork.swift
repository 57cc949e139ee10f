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

/// A network interface of a namespace whose packets this process reads and writes (the Linux kernel's TUN/TAP driver).
final class TunnelDevice: Sendable {
    /// The file descriptor; only one thread may use it at a time.
    let descriptor: Int32

    /// From linux/if_tun.h: `TUNSETIFF`, and `IFF_TUN` with `IFF_NO_PI`.
    private static let setInterface: UInt = 0x4004_54CA
    private static let flags: Int16 = 0x1001

    /// Creates an interface. `address` includes the prefix length, such as 10.0.0.1/16. Throws `BenchFailure` if this
    /// process is not permitted to.
    init(_ name: String, address: String, in namespace: NetworkNamespace) throws {
        descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchFailure("/dev/net/tun: \(String(cString: strerror(errno)))") }
        // struct ifreq: 16 bytes of name, then the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<name.utf8.count, with: Array(name.utf8))
        request.withUnsafeMutableBytes { $0.storeBytes(of: Self.flags, toByteOffset: 16, as: Int16.self) }
        let result = request.withUnsafeMutableBytes { ioctl(descriptor, Self.setInterface, $0.baseAddress!) }
        guard result == 0 else {
            throw BenchFailure("the tunnel device cannot be created: \(String(cString: strerror(errno)))")
        }
        try SystemProgram.run("ip", ["link", "set", name, "netns", namespace.name])
        try namespace.ip(["address", "add", address, "dev", name])
        try namespace.ip(["link", "set", name, "up"])
    }

    /// Also runs for an object whose initializer threw.
    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the next packet that the namespace sends; nil if there is none.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// Delivers a packet to the namespace; it is dropped if the interface does not accept it.
    func write(_ packet: [UInt8]) { _ = packet.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } }
}

/// A network namespace of this machine, created with `ip netns` (ip-netns(8)) and removed by `close()`.
final class NetworkNamespace: Sendable {
    let name: String

    /// Creates a namespace. Throws `BenchFailure` if this process is not permitted to.
    init(_ name: String) throws {
        self.name = name
        try SystemProgram.run("ip", ["netns", "add", name])
        do {
            try ip(["link", "set", "lo", "up"])
        } catch {
            close()
            throw error
        }
    }

    /// The words to put before a command to run it in this namespace.
    var prefix: [String] { ["nsenter", "--net=/run/netns/\(name)"] }

    /// Runs `ip` in this namespace.
    func ip(_ arguments: [String]) throws { try SystemProgram.run("ip", ["-n", name] + arguments) }

    func close() { try? SystemProgram.run("ip", ["netns", "del", name]) }
}

/// Runs programs of the operating system to completion.
enum SystemProgram {
    /// Runs a program and waits for it. Throws `BenchFailure` with its error output if it fails.
    static func run(_ name: String, _ arguments: [String]) throws {
        let process = try FinishedProcess(
            running: url(of: name).path, arguments, environment: ProcessInfo.processInfo.environment,
            recording: .messages)
        guard process.hasSucceeded else {
            let command = ([name] + arguments).joined(separator: " ")
            throw BenchFailure("“\(command)”: \(process.text.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
    }

    static func url(of name: String) throws -> URL {
        let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") {
            return URL(fileURLWithPath: "\(folder)/\(name)")
        }
        throw BenchFailure("\(name) is not installed")
    }
}
