import Foundation
import PCastCore
import PCastIO
import PCastWebRTC

/// Forwarding to viewers that read nothing, so that all CPUs are available to the platform.
enum Undrained {
    /// The CPU time.
    struct Cost: Sendable {
        let perPacket: TimeSpan
        /// The used fraction of the CPUs. Near 1, the platform was late and sent the packets of several frames
        /// together.
        let share: Double
    }

    /// Measures a platform. Each shard has a CPU and the same number of viewers. The time is at most three seconds,
    /// because a viewer without feedback for five seconds counts as disconnected. Throws `BenchFailure`.
    static func relay(shards: Int, viewersOfEach: Int, seconds: Int) async throws -> Cost {
        let viewers = shards * viewersOfEach
        let stage = try await FanOutStage.start(
            ["--shards", "\(shards)"], isPinned: false, processor: shards == 1 ? FanOutStage.relayProcessor : nil)
        defer { stage.stop() }
        let publishers = try await LoadPublishers(1, of: .flood, at: stage)
        defer { publishers.leave() }
        let audience = try LoadViewers(decryptsEach: 8, areDeaf: true)
        defer { audience.leave() }
        try await audience.join(0..<viewers, to: publishers.streams, at: stage)
        try await audience.connected(viewers, within: .seconds(60))
        audience.rest()
        await publishers.begin()
        await publishers.run()
        // All viewers have started, and no one-time work remains.
        try await Task.sleep(for: .seconds(1))
        let (first, time, start) = (await publishers.figures().frames, stage.processorTime, MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let (last, taken, end) = (
            await publishers.figures().frames, stage.processorTime - time, MonotonicClock.now()
        )
        await publishers.run(false)
        let packetsOfFrame = StreamShape.flood.keyFrame.count * viewers
        try await forwarded(await publishers.figures().frames * packetsOfFrame * 98 / 100, by: stage)
        return Cost(
            perPacket: taken / Int64(max(1, (last - first) * packetsOfFrame)),
            share: taken.seconds / (end - start).seconds / Double(shards))
    }

    /// Waits until a number of packets have been forwarded.
    private static func forwarded(_ count: Int, by stage: FanOutStage) async throws {
        let limit = MonotonicClock.now() + .seconds(2)
        while case let forwarded = try await stage.packetsForwarded(), forwarded < count {
            guard MonotonicClock.now() < limit else {
                throw BenchFailure("only \(forwarded) of more than \(count) packets were forwarded")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Measures the C program. Each process has a CPU and the same number of viewers, at the same rate.
    static func limit(
        _ program: LimitProgram, _ cipher: LimitProgram.Cipher, processes: Int, viewersOfEach: Int, seconds: Int
    ) async throws -> Cost {
        let (viewers, rate) = (processes * viewersOfEach, StreamShape.flood.rate)
        let sink = try LoadLoop(name: "sink") { LimitSink(viewers, port: $0, decryptsEach: 8) }
        defer { sink.stop() }
        sink.rest()
        let port = sink.port
        let figures = try await withThrowingTaskGroup(of: LimitProgram.Figures.self) { group in
            for number in 0..<processes {
                group.addTask {
                    try await aside {
                        try program.run(
                            cipher, viewers: viewersOfEach, first: number * viewersOfEach, port: port, rate: rate,
                            frames: seconds * Int(rate), processor: number)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let taken = figures.reduce(TimeSpan.zero) { $0 + $1.processorTime }
        let packets = figures.reduce(0) { $0 + $1.packets }
        return Cost(
            perPacket: taken / Int64(max(1, packets)), share: taken.seconds / Double(seconds * processes))
    }

    /// Runs a blocking function on a thread of its own.
    private static func aside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
