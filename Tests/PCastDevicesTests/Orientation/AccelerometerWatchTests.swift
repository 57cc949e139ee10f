import PCastCodecs
import Synchronization
import Testing

@testable import PCastDevices

@Suite("Watching how a device is held")
struct AccelerometerWatchTests {
    @Test("each new orientation is told once, and the thread ends with the last who follows", .timeLimit(.minutes(5)))
    func turns() async throws {
        try await SensorFolder.with { folder in
            let watch = AccelerometerWatch(folders: folder.folders)
            #expect(!watch.isPresent && watch.orientation == nil)
            try folder.accelerometer(0, -1_000, 0)
            #expect(watch.isPresent)
            let (turns, told) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { told.yield($0.turn) }
            var seen = turns.makeAsyncIterator()
            #expect(await seen.next() == .some(.some(.none)))
            try folder.accelerometer(1_000, 0, 0)
            #expect(await seen.next() == .clockwise90)
            // Laid on its back: nothing is told. Then upside down.
            try folder.accelerometer(0, 0, -1_000)
            try folder.accelerometer(0, 1_000, 0)
            #expect(await seen.next() == .half)
            let (second, toldSecond) = AsyncStream<FrameRotation?>.makeStream()
            let other = try watch.follow { toldSecond.yield($0.turn) }
            var seenSecond = second.makeAsyncIterator()
            #expect(await seenSecond.next() == .half)
            following.cancel()
            following.cancel()
            try folder.accelerometer(-1_000, 0, 0)
            #expect(await seenSecond.next() == .clockwise270)
            other.cancel()
            told.finish()
            #expect(await seen.next() == nil)
            #expect(watch.orientation?.turn == .clockwise270)
        }
    }

    @Test(
        "an accelerometer that goes and comes is found again, and the last orientation holds", .timeLimit(.minutes(5)))
    func replugged() async throws {
        try await SensorFolder.with { folder in
            let watch = AccelerometerWatch(folders: folder.folders)
            let (turns, told) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { told.yield($0.turn) }
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

    @Test("whoever follows may stop following while it is told", .timeLimit(.minutes(5)))
    func cancelledWithin() async throws {
        try await SensorFolder.with { folder in
            try folder.accelerometer(0, -1_000, 0)
            let watch = AccelerometerWatch(folders: folder.folders)
            let hold = Hold()
            let (turns, told) = AsyncStream<FrameRotation?>.makeStream()
            let following = try watch.follow { orientation in
                if orientation.turn == .half { hold.following.withLock { $0?.cancel() } }
                told.yield(orientation.turn)
            }
            hold.following.withLock { $0 = following }
            var seen = turns.makeAsyncIterator()
            #expect(await seen.next() == .some(.some(.none)))
            try folder.accelerometer(0, 1_000, 0)
            #expect(await seen.next() == .half)
            // Watched again, by another thread.
            let again = try watch.follow { told.yield($0.turn) }
            #expect(await seen.next() == .half)
            try folder.accelerometer(1_000, 0, 0)
            #expect(await seen.next() == .clockwise90)
            again.cancel()
        }
    }

    private final class Hold: Sendable {
        let following = Mutex<AccelerometerWatch.Following?>(nil)
    }
}
