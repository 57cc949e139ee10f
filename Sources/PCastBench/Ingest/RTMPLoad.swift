import CLinux
import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastRTMP
import Synchronization

/// Publishers of one second of media by RTMP, again and again: H.264 with 30 frames per second, and AAC with 48 kHz. One thread
/// sends for all of them.
final class RTMPLoad: Sendable {
    private let state: RTMPLoadState
    private let thread: WorkerThread

    /// The number of publishers whose connection has ended.
    var failureCount: Int { state.failures.load(ordering: .relaxed) }
    /// The number of frames that were sent more than a frame's duration too late.
    var lateCount: Int { state.lateFrames.load(ordering: .relaxed) }
    /// The number of frames that each publisher has sent.
    var sentCounts: [Int: Int64] { state.sent.withLock { $0 } }

    /// Connects publishers, and starts to send.
    ///
    /// - Parameters:
    ///   - count: The number of publishers.
    ///   - port: The port of the server on this host.
    ///   - application: The application of the address.
    ///   - media: The media that each of them sends.
    ///   - key: Returns the key of a publisher.
    /// - Throws: `BenchFailure` if a publisher is not accepted.
    init(
        _ count: Int, port: Int, application: String, media: RTMPLoadMedia, key: (Int) throws -> String
    ) throws {
        var connections: [RTMPLoadConnection] = []
        do {
            for index in 0..<count {
                connections.append(
                    try RTMPLoadConnection(index, port: port, application: application, key: try key(index)))
            }
        } catch {
            for connection in connections { connection.close() }
            throw error
        }
        let (open, state) = (connections, RTMPLoadState())
        self.state = state
        thread = try WorkerThread(name: "rtmp-load") { state.run(open, media) }
    }

    /// Closes all connections.
    func stop() {
        state.isStopping.store(true, ordering: .relaxed)
        thread.join()
    }
}

/// The thread of a load.
private final class RTMPLoadState: Sendable {
    let isStopping = Atomic(false)
    let failures = Atomic(0)
    let lateFrames = Atomic(0)
    let sent = Mutex<[Int: Int64]>([:])

    /// Sends in real time until the load stops. The publishers send one after another within each frame's duration.
    func run(_ connections: [RTMPLoadConnection], _ media: RTMPLoadMedia) {
        var open = connections.filter { $0.send(media.headers) }
        failures.add(connections.count - open.count, ordering: .relaxed)
        let start = MonotonicClock.now()
        let period = TimeSpan.seconds(1) / Int64(RTMPLoadMedia.frameRate)
        var frame: Int64 = 0
        while !isStopping.load(ordering: .relaxed), !open.isEmpty {
            let messages = media.isStamped ? [] : media.messages(ofFrame: frame, of: 0)
            var (lost, sentTo): ([Int32], [Int]) = ([], [])
            for (index, connection) in open.enumerated() {
                let due = start + period * frame + period * Int64(index) / Int64(open.count)
                let now = MonotonicClock.now()
                if now < due {
                    usleep(UInt32((due - now).nanoseconds / 1_000))
                } else if now - due > period {
                    lateFrames.add(1, ordering: .relaxed)
                }
                let own = media.isStamped ? media.messages(ofFrame: frame, of: connection.index) : messages
                if connection.send(own) { sentTo.append(connection.index) } else { lost.append(connection.descriptor) }
            }
            sent.withLock { sent in for index in sentTo { sent[index] = frame + 1 } }
            for connection in open where lost.contains(connection.descriptor) { connection.close() }
            failures.add(lost.count, ordering: .relaxed)
            open.removeAll { lost.contains($0.descriptor) }
            frame += 1
        }
        for connection in open { connection.close() }
    }
}

/// The connection of a publisher, which was accepted.
private struct RTMPLoadConnection: Sendable {
    private static let chunkSize = RTMPLoadMedia.chunkSize
    private static let handshakeSize = 1_536
    private static let timeout = 10

    let descriptor: Int32
    /// The number of the publisher.
    let index: Int

    /// Connects, and publishes. Throws `BenchFailure` if the server does not accept the publisher.
    init(_ index: Int, port: Int, application: String, key: String) throws {
        self.index = index
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw BenchFailure("a socket cannot be opened") }
        do {
            try connect(to: port)
            try performHandshake()
            try publish(application, key, port)
        } catch {
            close()
            throw error
        }
    }

    private func connect(to port: Int) throws {
        var timeout = timeval(tv_sec: Self.timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw BenchFailure("port \(port) does not accept a connection") }
    }

    private func performHandshake() throws {
        guard send([3] + [UInt8](repeating: 0, count: Self.handshakeSize)) else {
            throw BenchFailure("the RTMP server has closed the connection")
        }
        var received: [UInt8] = []
        while received.count < 1 + 2 * Self.handshakeSize { received += try receive() }
        guard send(Array(received[1...Self.handshakeSize])) else {
            throw BenchFailure("the RTMP server has closed the connection")
        }
    }

    private func publish(_ application: String, _ key: String, _ port: Int) throws {
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        let size = [UInt8](withUnsafeBytes(of: UInt32(Self.chunkSize).bigEndian) { Array($0) })
        writer.write(RTMPMessage(type: .setChunkSize, payload: size), chunkStream: 2, into: &bytes)
        writer.chunkSize = Self.chunkSize
        let properties: AMF0Object = [
            "app": .string(application), "type": .string("nonprivate"),
            "tcUrl": .string("rtmp://127.0.0.1:\(port)/\(application)"),
        ]
        let commands = [
            RTMPCommand("connect", transaction: 1, [.object(properties)]),
            RTMPCommand("createStream", transaction: 2, [.null]),
        ]
        for command in commands {
            writer.write(RTMPMessage(type: .command, payload: command.payload), chunkStream: 3, into: &bytes)
        }
        let publish = RTMPCommand("publish", transaction: 3, [.null, .string(key), .string("live")])
        writer.write(RTMPMessage(type: .command, streamID: 1, payload: publish.payload), chunkStream: 3, into: &bytes)
        guard send(bytes) else { throw BenchFailure("the RTMP server has closed the connection") }
        var received: [UInt8] = []
        while !String(decoding: received, as: UTF8.self).contains("NetStream.Publish.Start") {
            received += try receive()
            guard received.count < 65_536 else { throw BenchFailure("the RTMP server does not accept the publisher") }
        }
    }

    /// Receives bytes. Throws `BenchFailure` if there are none in time, or the connection has ended.
    private func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw BenchFailure("the RTMP server does not accept the publisher") }
        return Array(buffer[..<count])
    }

    /// Sends bytes. Returns false if the connection has ended. The few acknowledgements of a run stay in the socket.
    func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var position = 0
            while position < buffer.count {
                let count = Glibc.send(
                    descriptor, buffer.baseAddress! + position, buffer.count - position, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                position += count
            }
            return true
        }
    }

    func close() { Glibc.close(descriptor) }
}
