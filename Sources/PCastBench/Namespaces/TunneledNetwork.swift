import CLinux
import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastTestSupport
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

    // MARK: Changes and metrics

    /// Changes a host's link while it runs.
    func change(_ host: Int, _ change: (inout TunneledHost) -> Void) { state.hosts.withLock { change(&$0[host]) } }

    /// Lets the server's namespace forward packets between hosts, which pass the links of both. Throws `BenchFailure` if
    /// the system does not permit it.
    func forwardBetweenHosts() throws {
        let folder = "/proc/sys/net/ipv4"
        // The hosts have one interface, so that redirections would be of no use.
        let values = ["echo 1 > \(folder)/ip_forward", "echo 0 > \(folder)/conf/all/send_redirects"]
        let command = server.prefix + ["sh", "-c", values.joined(separator: " && ")]
        try SystemProgram.run(command[0], Array(command.dropFirst()))
    }

    /// Drops the packets between two hosts in both directions, or no longer.
    func separate(_ first: Int, _ second: Int, _ isSeparated: Bool = true) throws {
        let addresses = [first, second].map { "\(TunneledHost.address(UInt8($0 + 1)))" }
        for (from, to) in [(addresses[0], addresses[1]), (addresses[1], addresses[0])] {
            try server.ip(["rule", isSeparated ? "add" : "del", "blackhole", "from", from, "to", to])
        }
    }

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
        guard descriptor >= 0 else {
            throw BenchFailure("/dev/net/tun cannot be opened: \(String(cString: strerror(errno)))")
        }
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

/// An IPv4 packet (RFC 791) that carries UDP or TCP.
struct IPPacket: Sendable {
    enum TransportProtocol: UInt8 { case tcp = 6, udp = 17 }

    private(set) var bytes: [UInt8]
    private let headerSize: Int

    /// Creates a packet; nil if the bytes are not an IPv4 packet.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 20, bytes[0] >> 4 == 4, case let size = Int(bytes[0] & 15) * 4, size >= 20,
            bytes.count >= size + 8
        else { return nil }
        self.bytes = bytes
        headerSize = size
    }

    /// The transport protocol; nil for other protocols and for all fragments except the first, which have no ports.
    var transport: TransportProtocol? {
        word(6) & 0x1FFF == 0 ? TransportProtocol(rawValue: bytes[9]) : nil
    }

    /// Whether the packet is a fragment of a larger packet.
    var isFragment: Bool { word(6) & 0x3FFF != 0 }

    var source: TransportAddress {
        get { TransportAddress(ip: address(12), port: word(headerSize)) }
        set { rewrite(newValue, addressAt: 12, portAt: headerSize) }
    }

    var destination: TransportAddress {
        get { TransportAddress(ip: address(16), port: word(headerSize + 2)) }
        set { rewrite(newValue, addressAt: 16, portAt: headerSize + 2) }
    }

    private func word(_ offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }

    private func address(_ offset: Int) -> IPAddress {
        IPAddress(v4: UInt32(word(offset)) << 16 | UInt32(word(offset + 2)))
    }

    /// Replaces an address and port and updates the checksums (RFC 1624, equation 3). A UDP checksum of zero means that
    /// there is none (RFC 768).
    private mutating func rewrite(_ new: TransportAddress, addressAt: Int, portAt: Int) {
        guard let transport, let ip = new.ip.v4 else { return }
        let words = [
            (addressAt, UInt16(ip >> 16)), (addressAt + 2, UInt16(truncatingIfNeeded: ip)), (portAt, new.port),
        ]
        let sumAt = headerSize + (transport == .udp ? 6 : 16)
        for (offset, value) in words {
            let old = word(offset)
            if offset != portAt { adjust(10, old, value) }
            if transport == .tcp || word(sumAt) != 0 { adjust(sumAt, old, value) }
            put(value, at: offset)
        }
    }

    private mutating func adjust(_ offset: Int, _ old: UInt16, _ new: UInt16) {
        var sum = UInt32(~word(offset)) + UInt32(~old) + UInt32(new)
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        put(~UInt16(sum), at: offset)
    }

    private mutating func put(_ value: UInt16, at offset: Int) {
        bytes[offset] = UInt8(value >> 8)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: value)
    }
}
