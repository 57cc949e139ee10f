import CLinux
import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastIO
import PCastRTMP
import Synchronization

/// Publishers of one second of media by RTMP, again and again: H.264 with 2.5 Mbit/s and 30 frames per second, and AAC with
/// 48 kHz. One thread sends for all of them.
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
    ///   - isStamped: Whether each frame has the numbers of its publisher and itself (``RTMPFrameStamp``).
    ///   - hasAudio: Whether AAC is sent.
    ///   - key: Returns the key of a publisher.
    /// - Throws: `BenchFailure` if a publisher is not accepted, or an error of the AAC encoder.
    init(
        _ count: Int, port: Int, application: String, isStamped: Bool = false, hasAudio: Bool = true,
        key: (Int) throws -> String
    ) throws {
        let media = try RTMPLoadMedia(isStamped: isStamped, hasAudio: hasAudio)
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

/// The numbers in a frame of a load, by which a recording is compared with its publisher. Its bytes do not occur in other
/// media, and need no emulation prevention.
struct RTMPFrameStamp: Hashable, Sendable {
    static let marker = Array("PCastBench".utf8)
    static let size = marker.count + 8
    /// The byte that fills a frame.
    static let filler: UInt8 = 0x5A

    var publisher: Int
    var frame: Int64

    var bytes: [UInt8] { Self.marker + Self.digits(Int64(publisher), 3) + Self.digits(frame, 5) }

    init(publisher: Int, frame: Int64) { (self.publisher, self.frame) = (publisher, frame) }

    /// Reads the stamp that begins at an index; nil if there is none.
    init?(_ bytes: [UInt8], at index: Int) {
        guard index + Self.size <= bytes.count, bytes[index..<index + Self.marker.count].elementsEqual(Self.marker)
        else { return nil }
        func number(_ range: Range<Int>) -> Int64 {
            bytes[range].reduce(0) { $0 << 7 | Int64($1 & 0x7F) }
        }
        let start = index + Self.marker.count
        self.init(publisher: Int(number(start..<start + 3)), frame: number(start + 3..<start + 8))
    }

    private static func digits(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> Int64(7 * $0) & 0x7F) | 0x80 }
    }

    /// The bytes of the frame's slice before the stamp, and all of its bytes.
    static let head = 2
    var sliceSize: Int { RTMPLoadMedia.size(ofFrame: frame) }
}

/// The messages of one second of media.
private struct RTMPLoadMedia: Sendable {
    static let frameRate = 30
    let isStamped: Bool
    private static let bytesPerSecond = 2_500_000 / 8
    private static let keyFrameSize = 40_000
    private static let samplesPerFrame: Int64 = 1_024

    /// The messages before the first frame, as chunks.
    let headers: [UInt8]
    private let frames: [[UInt8]]
    private let audio: [[UInt8]]

    /// Returns the size of the slice of a frame.
    static func size(ofFrame number: Int64) -> Int {
        let rest = (bytesPerSecond - keyFrameSize) / (frameRate - 1)
        return number % Int64(frameRate) == 0 ? keyFrameSize : rest
    }

    /// Creates the media. Throws an error of the AAC encoder.
    init(isStamped: Bool, hasAudio: Bool) throws {
        self.isStamped = isStamped
        frames = (0..<Self.frameRate).map { index in
            let size = Self.size(ofFrame: Int64(index))
            let length = (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) }
            let start: [UInt8] = index == 0 ? [0x17, 1, 0, 0, 0] : [0x27, 1, 0, 0, 0]
            let filler = [UInt8](repeating: RTMPFrameStamp.filler, count: size - RTMPFrameStamp.head)
            return start + length + [index == 0 ? 0x65 : 0x41, 0x9A] + filler
        }
        let encoder = try AACEncoder()
        let samples = (0..<AudioFrame.sampleRate * 2).flatMap { index -> [Int16] in
            let value = Int16(8_000 * sin(2 * Double.pi * 440 * Double(index) / Double(AudioFrame.sampleRate)))
            return [value, value]
        }
        let tone = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
        audio = hasAudio ? try encoder.encode(tone).map { [0xAF, 1] + $0.bytes } : []
        let sets: [UInt8] = [
            1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 7, 0x67, 0x42, 0xC0, 0x1F, 0xDA, 2, 0x80, 1, 0, 4, 0x68, 0xCE, 0x3C,
            0x80,
        ]
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        writer.chunkSize = RTMPLoadConnection.chunkSize
        writer.write(
            RTMPMessage(type: .video, streamID: 1, payload: [0x17, 0, 0, 0, 0] + sets), chunkStream: 6, into: &bytes)
        if hasAudio {
            writer.write(
                RTMPMessage(type: .audio, streamID: 1, payload: [0xAF, 0] + encoder.configuration), chunkStream: 4,
                into: &bytes)
        }
        headers = bytes
    }

    /// The bytes of a message before the slice: the tag, and the length of the slice.
    private static let sliceOffset = 9

    /// Returns a frame of a publisher, and the audio of its duration, as chunks.
    func messages(ofFrame number: Int64, of publisher: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        writer.chunkSize = RTMPLoadConnection.chunkSize
        let rate = Int64(Self.frameRate)
        var payload = frames[Int(number % rate)]
        if isStamped {
            let start = Self.sliceOffset + RTMPFrameStamp.head
            payload.replaceSubrange(
                start..<start + RTMPFrameStamp.size,
                with: RTMPFrameStamp(publisher: publisher, frame: number).bytes)
        }
        let video = RTMPMessage(
            type: .video, streamID: 1, timestamp: UInt32(truncatingIfNeeded: number * 1_000 / rate), payload: payload)
        writer.write(video, chunkStream: 6, into: &bytes)
        guard !audio.isEmpty else { return bytes }
        let sampleRate = Int64(AudioFrame.sampleRate)
        // The frames of audio that begin within the frame's duration.
        let first = (number * sampleRate / rate + Self.samplesPerFrame - 1) / Self.samplesPerFrame
        let end = ((number + 1) * sampleRate / rate + Self.samplesPerFrame - 1) / Self.samplesPerFrame
        for index in first..<end {
            let time = index * Self.samplesPerFrame * 1_000 / sampleRate
            writer.write(
                RTMPMessage(
                    type: .audio, streamID: 1, timestamp: UInt32(truncatingIfNeeded: time),
                    payload: audio[Int(index % Int64(audio.count))]), chunkStream: 4, into: &bytes)
        }
        return bytes
    }
}

/// The connection of a publisher, which was accepted.
private struct RTMPLoadConnection: Sendable {
    static let chunkSize = 4_096
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
