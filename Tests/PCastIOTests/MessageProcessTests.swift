import Foundation
import PCastCore
import Testing

@testable import PCastIO

@Suite("Programs that exchange messages", .timeLimit(.minutes(2)))
struct MessageProcessTests {
    private final class Received: Sendable {
        private let queue = FrameQueue<[UInt8]>(capacity: 64)

        func add(_ message: [UInt8]) { queue.push(message) }

        /// Waits for a message. Returns nil after a minute.
        func next() -> [UInt8]? { queue.pop(until: MonotonicClock.now() + .seconds(60)) }
    }

    @Test("a program receives its first messages and others, and its messages keep their boundaries")
    func echo() throws {
        let received = Received()
        let process = try MessageProcess(
            "/bin/cat", [], environment: [:], onStart: { [[1, 2], [3]] }, onMessage: { received.add($0) })
        #expect(received.next() == [1, 2])
        #expect(received.next() == [3])
        #expect(process.send([UInt8](repeating: 7, count: 5_000)))
        #expect(received.next()?.count == 5_000)
        #expect(!process.send([UInt8](repeating: 7, count: MessageSocket.maximumSize + 1)))
        #expect(process.send([9]))
        #expect(received.next() == [9])
        process.close()
    }

    @Test("a program that ends is started again, and receives its first messages again")
    func restart() throws {
        let received = Received()
        // It ends after one message.
        let process = try MessageProcess(
            "/bin/dd", ["bs=65536", "count=1"], environment: [:], restartInterval: .milliseconds(1),
            onStart: { [[5]] }, onMessage: { received.add($0) })
        for _ in 0..<3 { #expect(received.next() == [5]) }
        #expect(process.startCount >= 3)
        process.close()
    }

    @Test("a program that does not read its messages is killed and started again")
    func stalled() throws {
        let received = Received()
        // The first message is echoed, and nothing else is read.
        let process = try MessageProcess(
            "/bin/sh", ["-c", "dd bs=65536 count=1; exec sleep 1000"], environment: ["PATH": "/bin:/usr/bin"],
            restartInterval: .milliseconds(1), onStart: { [[5]] }, onMessage: { received.add($0) })
        #expect(received.next() == [5])
        var sent = 0
        while process.send([UInt8](repeating: 1, count: 10_000)), sent < 10_000 { sent += 1 }
        #expect(sent > 0 && sent < 10_000)
        #expect(received.next() == [5])
        process.close()
    }

    @Test("messages for which there is no space are dropped if they are not required, and a program may read them late")
    func late() async throws {
        let received = Received()
        let gate = NSTemporaryDirectory() + "pcast-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: gate) }
        // The first message is echoed, and others only when there is a file.
        let script = "dd bs=65536 count=1; while [ ! -e \(gate) ]; do sleep 0.05; done; exec cat >/dev/null"
        let process = try MessageProcess(
            "/bin/sh", ["-c", script], environment: ["PATH": "/bin:/usr/bin"], restartInterval: .milliseconds(1),
            stallTime: .seconds(3_600), onStart: { [[5]] }, onMessage: { received.add($0) })
        defer { process.close() }
        #expect(received.next() == [5])
        let message = [UInt8](repeating: 1, count: 10_000)
        var sent = 0
        while process.send(message, isRequired: false), sent < 10_000 { sent += 1 }
        #expect(sent > 0 && sent < 10_000)
        #expect(!process.send(message, isRequired: false))
        #expect(FileManager.default.createFile(atPath: gate, contents: nil))
        while !process.send(message, isRequired: false) {
            try await ContinuousClock().sleep(for: .milliseconds(10))
        }
        #expect(process.startCount == 1)
    }

    @Test("a program that has no space for messages for a time is started again")
    func stalledForLong() async throws {
        let received = Received()
        let process = try MessageProcess(
            "/bin/sh", ["-c", "dd bs=65536 count=1; exec sleep 1000"], environment: ["PATH": "/bin:/usr/bin"],
            restartInterval: .milliseconds(1), stallTime: .milliseconds(20), onStart: { [[5]] },
            onMessage: { received.add($0) })
        defer { process.close() }
        #expect(received.next() == [5])
        let message = [UInt8](repeating: 1, count: 10_000)
        while process.startCount < 2 {
            if !process.send(message, isRequired: false) { try await ContinuousClock().sleep(for: .milliseconds(1)) }
        }
        #expect(received.next() == [5])
    }

    @Test("messages of the transcoding program are read as they were written, and others are malformed")
    func transcodingMessages() {
        let messages = [
            TranscodingMessage.configuration([0x11, 0x90], of: 0),
            TranscodingMessage(
                .frame, of: 0x0102_0304, time: -5,
                captureTime: WallTime(nanosecondsSinceEpoch: 1_700_000_000_123_456_789), bytes: [1, 2, 3]),
            TranscodingMessage(
                .packet, of: .max, time: .max, captureTime: WallTime(nanosecondsSinceEpoch: .min), bytes: []),
            TranscodingMessage.end(of: 7),
        ]
        for message in messages { #expect(TranscodingMessage(encoded: message.encoded) == message) }
        #expect(TranscodingMessage(encoded: []) == nil)
        #expect(TranscodingMessage(encoded: Array(messages[0].encoded.prefix(20))) == nil)
        #expect(TranscodingMessage(encoded: [9] + messages[0].encoded.dropFirst()) == nil)
    }
}
