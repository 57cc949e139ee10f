import Glibc
import PCastCore
import PCastIO
import PCastNetworkEmulation

/// The proxy's ports and the path of their traffic, on the proxy's thread.
struct ImpairedPorts {
    private static let longestWait = TimeSpan.milliseconds(50)

    private var datagrams: [DatagramPort] = []
    private var connections: [ConnectionPort] = []
    private var path: ImpairedPath
    private let blocksUDP: Bool
    private var rebindings: ArraySlice<Instant>
    private var steps: ArraySlice<NetworkConditions.Step>
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(_ ports: [ImpairedLink.Port], _ conditions: NetworkConditions) throws {
        let now = MonotonicClock.now()
        path = ImpairedPath(conditions, at: now)
        blocksUDP = conditions.blocksUDP
        rebindings = conditions.rebindings.sorted().map { now + $0 }[...]
        steps = conditions.steps[...]
        let opening = conditions.up.initial.delay + conditions.down.initial.delay
        for (number, port) in ports.enumerated() {
            datagrams.append(
                try DatagramPort(number, from: port.address, to: port.server, exempt: conditions.exempt))
            connections.append(try ConnectionPort(number, from: port.address, to: port.server, opening: opening))
        }
    }

    var statistics: (up: LinkStatistics, down: LinkStatistics) { (path.up.statistics, path.down.statistics) }

    func close() { buffer.deallocate() }

    mutating func rebind() {
        for number in datagrams.indices { datagrams[number].rebind() }
    }

    /// Applies the next of the changes that wait for a request.
    mutating func step() {
        guard let step = steps.popFirst() else { return }
        if step.isUp { step.change(&path.up.conditions) }
        if step.isDown { step.change(&path.down.conditions) }
    }

    /// Waits for a short time and processes what is due.
    mutating func turn() {
        let before = MonotonicClock.now()
        let parts =
            datagrams.map(\.descriptors) + connections.map { $0.descriptors(path, at: before) }
        var descriptors = Array(parts.joined())
        var next = Instant.earlier(path.deadline, rebindings.first) ?? before + Self.longestWait
        for port in connections { next = Instant.earlier(next, port.deadline(after: before)) ?? next }
        ProxySocket.wait(&descriptors, for: min(max(.zero, next - before), Self.longestWait))
        let now = MonotonicClock.now()
        if let due = rebindings.first, due <= now {
            rebindings = rebindings.dropFirst()
            rebind()
        }
        read(descriptors, parts.map(\.count), at: now)
        deliver(at: MonotonicClock.now())
    }

    private mutating func read(_ descriptors: [pollfd], _ counts: [Int], at now: Instant) {
        var first = 0
        for (index, count) in counts.enumerated() {
            let reports = descriptors[first..<first + count]
            first += count
            if index < datagrams.count {
                datagrams[index].read(reports, buffer, into: &path, at: now)
            } else {
                connections[index - datagrams.count].read(reports, buffer, into: &path, at: now)
            }
        }
    }

    private mutating func deliver(at now: Instant) {
        while let transit = path.up.receive(at: now) { arrive(transit, isUp: true) }
        while let transit = path.down.receive(at: now) { arrive(transit, isUp: false) }
    }

    private mutating func arrive(_ transit: ImpairedPath.Transit, isUp: Bool) {
        switch transit {
        case .datagram(let port, _, _): if !blocksUDP { datagrams[port].arrive(transit, isUp: isUp) }
        case .segment(let port, _, _): connections[port].arrive(transit, isUp: isUp)
        }
    }
}

/// The conditions of a network between clients and a server.
struct NetworkConditions: Sendable {
    /// The conditions from clients to the server, and from the server to clients.
    var up: LinkSchedule
    var down: LinkSchedule
    /// Changes that take effect one at a time, each when it is requested.
    var steps: [Step] = []
    /// Whether all UDP datagrams are dropped.
    var blocksUDP = false
    /// The times after the start at which the clients' datagrams change their source addresses, as behind a NAT that
    /// has lost its mappings.
    var rebindings: [TimeSpan] = []
    /// The seed of the random decisions; the same seed and traffic give the same impairment.
    var seed: UInt64 = 1
    /// The address of clients whose datagrams bypass the impairment; nil for none.
    var exempt: IPAddress?

    /// A change of the conditions in one direction or in both.
    struct Step: Sendable {
        let isUp, isDown: Bool
        let change: @Sendable (inout LinkConditions) -> Void
    }

    init(up: LinkSchedule, down: LinkSchedule) {
        self.up = up
        self.down = down
    }

    /// Creates the same conditions for both directions.
    init(_ conditions: LinkConditions) { self.init(up: LinkSchedule(conditions), down: LinkSchedule(conditions)) }
}
