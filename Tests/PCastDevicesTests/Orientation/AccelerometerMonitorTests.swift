import PCastCodecs
import Synchronization
import Testing

@testable import PCastDevices

@Suite("Watching the orientation of a device")
struct AccelerometerWatchTests {
    @Test("a new orientation is reported once, and the thread ends with its last subscriber", .timeLimit(.minutes(5)))
    func turns() async throws {
        try await SensorFolder.with { folder in
            let watch = AccelerometerMonitor(folders: folder.folders)
            #expect(!watch.isPresent && watch.orientation == nil)
            try folder.accelerometer(0, -1_000, 0)
            #expect(watch.isPresent)
            let (turns, received) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { received.yield($0.turn) }
            var seen = turns.makeAsyncIterator()
            #expect(await seen.next() == .some(.some(.none)))
            try folder.accelerometer(1_000, 0, 0)
            #expect(await seen.next() == .clockwise90)
            // Lying on its back causes no report. Then it is upside down.
            try folder.accelerometer(0, 0, -1_000)
            try folder.accelerometer(0, 1_000, 0)
            #expect(await seen.next() == .half)
            let (second, reportedSecond) = AsyncStream<FrameRotation?>.makeStream()
            let other = try watch.follow { reportedSecond.yield($0.turn) }
            var seenSecond = second.makeAsyncIterator()
            #expect(await seenSecond.next() == .half)
            following.cancel()
            following.cancel()
            try folder.accelerometer(-1_000, 0, 0)
            #expect(await seenSecond.next() == .clockwise270)
            other.cancel()
            received.finish()
            #expect(await seen.next() == nil)
            #expect(watch.orientation?.turn == .clockwise270)
        }
    }

    @Test(
        "an accelerometer that returns is found again, and the last orientation remains", .timeLimit(.minutes(5)))
    func replugged() async throws {
        try await SensorFolder.with { folder in
            let watch = AccelerometerMonitor(folders: folder.folders)
            let (turns, received) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { received.yield($0.turn) }
            defer { following.cancel() }
            var seen = turns.makeAsyncIterator()
            try folder.accelerometer(1_000, 0, 0)
            #expect(await seen.next() == .clockwise90)
            try folder.remove(device: 0)
            #expect(watch.orientation?.turn == .clockwise90)
            try folder.accelerometer(0, 1_000, 0, device: 4)
            #expect(await seen.next() == .half)
        }
    }

    @Test("a subscriber can unsubscribe during a report", .timeLimit(.minutes(5)))
    func cancelledWithin() async throws {
        try await SensorFolder.with { folder in
            try folder.accelerometer(0, -1_000, 0)
            let watch = AccelerometerMonitor(folders: folder.folders)
            let hold = Hold()
            let (turns, received) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { orientation in
                if orientation.turn == .half { hold.following.withLock { $0?.cancel() } }
                received.yield(orientation.turn)
            }
            hold.following.withLock { $0 = following }
            var seen = turns.makeAsyncIterator()
            #expect(await seen.next() == .some(.some(.none)))
            try folder.accelerometer(0, 1_000, 0)
            #expect(await seen.next() == .half)
            // Another thread watches it again.
            let again = try watch.follow { received.yield($0.turn) }
            #expect(await seen.next() == .half)
            try folder.accelerometer(1_000, 0, 0)
            #expect(await seen.next() == .clockwise90)
            again.cancel()
        }
    }

    private final class Hold: Sendable {
        let following = Mutex<AccelerometerMonitor.Following?>(nil)
    }
}
