import Foundation
import PCastMedia

/// The sizes of a stream's packets: of each frame's datagrams, as a publisher sends them, over and over.
struct StreamShape: Sendable {
    /// Each second so many frames.
    let rate: Int64
    let frames: [[Int]]
    let keyFrame: [Int]

    /// 720p30 at 2.3 Mbit/s: eight datagrams of 1200 bytes a frame; a key frame is as long as five.
    static let even = StreamShape(
        rate: 30, frames: [Array(repeating: 1_200, count: 8)], keyFrame: Array(repeating: 1_200, count: 40))

    /// As much as five of those: forwarded to a thousand it takes most of a processor. Key frames are no longer than
    /// others, as longer ones leave in larger messages, which cost less for each packet.
    static let flood = StreamShape(
        rate: 150, frames: [Array(repeating: 1_200, count: 8)], keyFrame: Array(repeating: 1_200, count: 8))

    /// Of small pictures, for many streams side by side: 230 kbit/s.
    static let small = StreamShape(
        rate: 10, frames: [Array(repeating: 950, count: 3)], keyFrame: Array(repeating: 950, count: 12))

    /// - Parameter path: of a file with a line for each frame, which has the sizes of its datagrams. The first frame is a
    ///   key frame; lines that begin with # are passed over.
    init(recordedIn path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw BenchFailure("\(path) is missing: start this in the package's folder")
        }
        let frames = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: " ").compactMap { Int($0) }.map { min(max($0, 80), 1_240) } }
            .filter { !$0.isEmpty }
        guard frames.count > 1 else { throw BenchFailure("\(path) has no frames") }
        self.init(rate: 30, frames: Array(frames.dropFirst()), keyFrame: frames[0])
    }

    private init(rate: Int64, frames: [[Int]], keyFrame: [Int]) {
        self.rate = rate
        self.frames = frames
        self.keyFrame = keyFrame
    }
}
