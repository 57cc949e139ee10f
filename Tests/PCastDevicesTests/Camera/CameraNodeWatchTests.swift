import Foundation
import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastDevices

@Suite("Device nodes that appear and disappear")
struct CameraNodeWatchTests {
    private final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "dev-" + UUID().uuidString

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func make(_ name: String) { #expect(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: nil)) }
        func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
    }

    @Test("cameras, sound cards and their permissions are reported")
    func reportsDevices() async throws {
        let folder = try Folder()
        let count = Mutex(0)
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try DeviceNodeMonitor(folder: folder.path) {
            count.withLock { $0 += 1 }
            continuation.yield()
        }
        defer { watch.stop() }
        var iterator = changes.makeAsyncIterator()
        // The events of a busy test may be reported one by one, so each change waits for a later report.
        func expectReport(after change: () throws -> Void) async throws {
            let before = count.withLock { $0 }
            try change()
            while count.withLock({ $0 }) == before { await iterator.next() }
        }
        try await expectReport {
            folder.make("video0")
            folder.make("video1")
            folder.make("tty9")
        }
        // udev permits the group only after the node has appeared.
        try await expectReport { #expect(chmod("\(folder.path)/video0", 0o660) == 0) }
        try await expectReport { try folder.remove("video0") }
        // The folder of sound cards appears with the first card, and is watched from then on.
        for card in ["controlC0", "controlC1"] {
            try await expectReport {
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/snd", withIntermediateDirectories: true)
            }
            try await expectReport { folder.make("snd/\(card)") }
            try await expectReport { try FileManager.default.removeItem(atPath: folder.path + "/snd") }
        }
    }

    @Test("other nodes are not reported, and nothing is reported after a stop")
    func otherNodesAreIgnored() async throws {
        let folder = try Folder()
        let count = Mutex(0)
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try DeviceNodeMonitor(folder: folder.path) {
            count.withLock { $0 += 1 }
            continuation.yield()
        }
        var iterator = changes.makeAsyncIterator()
        folder.make("tty1")
        folder.make("null")
        folder.make("video2")
        await iterator.next()
        #expect(count.withLock { $0 } == 1)
        watch.stop()
        folder.make("video3")
        watch.stop()
        #expect(count.withLock { $0 } == 1)
    }

    @Test("continuous changes are reported every second")
    func restless() async throws {
        let folder = try Folder()
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try DeviceNodeMonitor(folder: folder.path) { continuation.yield() }
        let (path, sleep) = (folder.path, CancellableSleep())
        let worker = try WorkerThread(name: "restless") {
            while sleep.sleep(until: MonotonicClock.now() + .milliseconds(40)) { utimes("\(path)/video0", nil) }
        }
        folder.make("video0")
        var iterator = changes.makeAsyncIterator()
        for _ in 0..<2 { await iterator.next() }
        sleep.cancel()
        worker.join()
        watch.stop()
    }

    @Test("changes are available as a sequence, and a missing folder is reported")
    func sequence() async throws {
        _ = try DeviceNodeMonitor.changes()
        #expect(throws: DeviceError.self) { try DeviceNodeMonitor(folder: "/nowhere") {} }
    }
}
