import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// Connections to the ports for RTMP and SRT that send nothing, random bytes, or the beginning of a handshake.
struct UselessConnections {
    /// The number of connections of each protocol.
    let count: Int

    /// The resources that the connections still use when they have ended.
    struct Result {
        /// The descriptors of the platform that were not open before.
        let descriptors: Double?
        /// The growth of the platform's memory in bytes, divided by the number of connections.
        let memoryPerConnection: Double?
        /// The silent connections that the platform did not close by itself.
        let unclosed: Int
    }

    private static let batch = 100
    /// The connections before the first measurement, which cause one-time allocations of the platform.
    private static let warmUp = 1_000
    /// The time within which the platform closes a silent connection, and all resources are released.
    private static let limit = TimeSpan.seconds(60)

    /// Measures a platform of its own. Throws `BenchFailure` if it does not start, or accepts no publisher afterwards.
    func measure(_ report: inout Report) async throws -> Result {
        try Descriptors.allowMany()
        let limits = ["connections=50000", "connections-per-address=50000", "connections-per-second=50000"]
        let platform = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--rtmp-port", "0", "--srt-port", "0"]
                + limits.flatMap { ["--limit", $0] },
            environment: ["PCAST_SERVE_APPLICATION": "bench:\(FanOutSetup.randomSecret())"])
        defer { platform.stop() }
        let listening = try await platform.next("listening")
        guard case .string(let uri)? = listening["uri"], let rtmp = listening["rtmpPort"]?.number,
            let srt = listening["srtPort"]?.number
        else { throw BenchFailure("the platform did not report its ports") }
        let servers = (
            rtmp: TransportAddress(ip: .loopbackV4, port: UInt16(rtmp)),
            srt: TransportAddress(ip: .loopbackV4, port: UInt16(srt))
        )
        try connect(Self.warmUp, to: servers)
        let before = try await resources(uri, platform, atMost: nil)
        let start = MonotonicClock.now()
        try connect(count, to: servers)
        let unclosed = try await countUnclosed(of: servers.rtmp)
        let after = try await resources(uri, platform, atMost: before.descriptors)
        let load = try RTMPLoad(
            1, port: Int(rtmp), application: "ingest", media: .filler(hasAudio: true), key: { _ in "" })
        load.stop()
        let descriptors = after.descriptors.flatMap { after in before.descriptors.map { max(0, after - $0) } }
        let growth = after.memory.flatMap { after in before.memory.map { after - $0 } }
        let result = Result(
            descriptors: descriptors, memoryPerConnection: growth.map { $0 / Double(2 * count) }, unclosed: unclosed)
        report.row(
            "\(count) by RTMP and SRT",
            [
                "descriptors": result.descriptors, "memoryPerConnection": result.memoryPerConnection,
                "unclosed": Double(unclosed), "took": (MonotonicClock.now() - start).seconds,
            ])
        return result
    }

    /// Returns the resources of a platform, when it has at most a number of descriptors or the time has passed.
    private func resources(
        _ uri: String, _ platform: PCastProcess, atMost descriptors: Double?
    ) async throws -> PlatformResources {
        let deadline = MonotonicClock.now() + Self.limit
        while true {
            try await Task.sleep(for: .seconds(1))
            let found = try await PlatformResources.read(from: uri, process: platform.processID)
            guard let descriptors, let open = found.descriptors, open > descriptors, MonotonicClock.now() < deadline
            else { return found }
        }
    }

    // MARK: Connections

    /// Opens connections by both protocols, sends what they send, and closes them.
    private func connect(_ count: Int, to servers: (rtmp: TransportAddress, srt: TransportAddress)) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        for first in stride(from: 0, to: count, by: Self.batch) {
            let numbers = first..<min(first + Self.batch, count)
            let connections = try open(numbers.count, to: servers.rtmp)
            for (number, connection) in zip(numbers, connections) {
                Self.send(Self.rtmpBytes(number, using: &generator), by: connection)
            }
            for number in numbers {
                let socket = try ProxySocket(.datagrams)
                try socket.connect(servers.srt)
                Self.send(Self.srtBytes(number, using: &generator), by: socket)
            }
        }
    }

    /// Opens TCP connections, and returns when they are open.
    private func open(_ count: Int, to server: TransportAddress) throws -> [ProxySocket] {
        let connections = try (0..<count).map { _ in
            let connection = try ProxySocket(.stream)
            try connection.connect(server)
            return connection
        }
        let deadline = MonotonicClock.now() + Self.limit
        for connection in connections {
            var polled = [pollfd(fd: connection.number, events: Int16(POLLOUT), revents: 0)]
            while polled[0].revents == 0 {
                guard MonotonicClock.now() < deadline else { throw BenchFailure("\(server) accepts no connection") }
                ProxySocket.wait(&polled, for: .seconds(1))
            }
        }
        return connections
    }

    /// Returns the number of silent connections that the platform does not close in time.
    private func countUnclosed(of server: TransportAddress) async throws -> Int {
        var waiting = try open(Self.batch, to: server)
        let deadline = MonotonicClock.now() + Self.limit
        while !waiting.isEmpty, MonotonicClock.now() < deadline {
            try await Task.sleep(for: .milliseconds(200))
            waiting.removeAll { connection in
                var byte: UInt8 = 0
                let count = recv(connection.number, &byte, 1, 0)
                return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
            }
        }
        return waiting.count
    }

    private static func send(_ bytes: [UInt8], by socket: ProxySocket) {
        guard !bytes.isEmpty else { return }
        _ = bytes.withUnsafeBytes { Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Returns nothing, random bytes, or a handshake that is cut off.
    private static func rtmpBytes(_ number: Int, using generator: inout SeededGenerator) -> [UInt8] {
        switch number % 3 {
        case 0: []
        case 1: random(upTo: 4_000, using: &generator)
        default: [3] + random(upTo: 1_536, using: &generator)
        }
    }

    /// Returns random bytes, or a request for the first step of the handshake, which the client does not continue.
    private static func srtBytes(_ number: Int, using generator: inout SeededGenerator) -> [UInt8] {
        guard number % 2 == 0 else { return random(upTo: 1_400, using: &generator) }
        // A control packet of the type “handshake” without a destination: version 4, a datagram socket, and induction.
        var words = [UInt32](repeating: 0, count: 16)
        words[0] = 0x8000_0000
        (words[4], words[5], words[6]) = (4, 2, UInt32.random(in: 0..<0x8000_0000, using: &generator))
        (words[7], words[8], words[9]) = (1_500, 8_192, 1)
        words[10] = UInt32.random(in: 1..<0x4000_0000, using: &generator)
        return words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    private static func random(upTo size: Int, using generator: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 1...size, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
