import PCastCore
import PCastRTP

/// Sends the packets of a `TrafficProfile` to Janus as plain RTP, all packets of a frame at the frame's time, as
/// `LightPublisher` does.
struct JanusFeed: ~Copyable, DatagramMachine {
    private let profile: TrafficProfile
    private let path: NetworkPath
    private let begun: Instant
    /// The bytes of a viewer's datagram that are not payload: header, header extensions and AEAD tag.
    private let overhead: Int
    private var frame: Int64 = 0
    private var sequence: UInt16 = 1_000
    private var leaving: ArraySlice<Int> = []
    private var leavesKeyFrame = false
    private var hasBegun = false
    var isRunning = false

    init(
        _ profile: TrafficProfile, from local: TransportAddress, to remote: TransportAddress, overhead: Int,
        at now: Instant
    ) {
        self.profile = profile
        self.overhead = overhead
        path = NetworkPath(local: local, remote: remote)
        begun = now
    }

    private func due(_ frame: Int64) -> Instant { begun + .nanoseconds(frame * 1_000_000_000 / profile.rate) }

    var deadline: Instant? { due(frame) }

    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant) {}
    mutating func advance(to now: Instant) {}
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if leaving.isEmpty, due(frame) <= now {
            let number = frame
            while due(frame) <= now { frame += 1 }
            guard isRunning else { return false }
            leavesKeyFrame = !hasBegun
            hasBegun = true
            leaving = (leavesKeyFrame ? profile.keyFrame : profile.frames[Int(number) % profile.frames.count])[...]
        }
        while let size = leaving.first {
            guard let buffer = batch.reserve() else { return true }
            leaving.removeFirst()
            batch.commit(length: write(size, into: buffer, at: now), to: path)
        }
        return false
    }

    private mutating func write(_ size: Int, into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> Int {
        let header = RTPHeader(
            marker: leaving.isEmpty, payloadType: JanusServer.payloadType, sequenceNumber: sequence,
            timestamp: UInt32(truncatingIfNeeded: (frame - 1) * 90_000 / profile.rate), ssrc: 0x4A41_4E55)
        sequence &+= 1
        let start = header.write(into: buffer).size
        let payload = max(24, size - overhead)
        LightPublisher.writePayload(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + payload]),
            startsKeyFrame: leavesKeyFrame && leaving.count == profile.keyFrame.count - 1, isKeyFrame: leavesKeyFrame,
            at: now)
        return start + payload
    }
}
