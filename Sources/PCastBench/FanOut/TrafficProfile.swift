import Foundation
import PCastCore

/// The packet sizes of a stream's frames, which repeat.
struct TrafficProfile: Sendable {
    /// The frame rate in frames per second.
    let rate: Int64
    let frames: [[Int]]
    let keyFrame: [Int]
    /// The payloads of a stream that can be decoded, from its key frame on; empty for packets without video. `frames` has
    /// the sizes of the same frames.
    let payloads: [[[UInt8]]]

    /// 720p30 at 2.3 Mbit/s: eight datagrams of 1,200 bytes per frame. A key frame has the size of five frames.
    static let even = TrafficProfile(
        rate: 30, frames: [Array(repeating: 1_200, count: 8)], keyFrame: Array(repeating: 1_200, count: 40))

    /// Five times the rate of `even`, which uses most of a CPU with a thousand viewers. Key frames have the size of
    /// other frames, because larger ones would be sent in larger messages, which cost less per packet.
    static let flood = TrafficProfile(
        rate: 150, frames: [Array(repeating: 1_200, count: 8)], keyFrame: Array(repeating: 1_200, count: 8))

    /// The stream of LiveKit's published livestream benchmark, as each viewer receives it: 187 packets and 177 kB in a
    /// second (docs.livekit.io, “Benchmarking”: 560,962 packets and 531 MB in a second for 3,000 subscribers).
    static let liveKitLivestream = TrafficProfile(
        rate: 30, frames: [6, 6, 6, 7].map { Array(repeating: 944, count: $0) },
        keyFrame: Array(repeating: 944, count: 40))

    /// Small frames for many parallel streams: 230 kbit/s.
    static let small = TrafficProfile(
        rate: 10, frames: [Array(repeating: 950, count: 3)], keyFrame: Array(repeating: 950, count: 12))

    /// Creates the profile of a recorded group, which is repeated, and begins again when a key frame is requested.
    init(_ group: RecordedGroup) {
        let sizes = group.frames.map { $0.map(\.count) }
        self.init(rate: RecordedGroup.rate, frames: sizes, keyFrame: sizes[0], payloads: group.frames)
    }

    /// Reads a file with a line per frame, which contains the sizes of its datagrams. The first frame is a key frame.
    /// Lines that start with # are ignored. Throws `BenchFailure`.
    init(recordedIn path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw BenchFailure("\(path) is missing: run this in the directory of the package")
        }
        let frames = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: " ").compactMap { Int($0) }.map { min(max($0, 80), 1_240) } }
            .filter { !$0.isEmpty }
        guard frames.count > 1 else { throw BenchFailure("\(path) has no frames") }
        self.init(rate: 30, frames: Array(frames.dropFirst()), keyFrame: frames[0])
    }

    private init(rate: Int64, frames: [[Int]], keyFrame: [Int], payloads: [[[UInt8]]] = []) {
        self.rate = rate
        self.frames = frames
        self.keyFrame = keyFrame
        self.payloads = payloads
    }
}
