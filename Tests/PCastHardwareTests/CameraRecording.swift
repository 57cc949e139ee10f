import Foundation
import PCastCore
import Synchronization

@testable import PCastDevices

/// A running camera, and the frames that it has delivered.
final class CameraRecording: Sendable {
    private struct State {
        var frames: [VideoFrame] = []
        var coded: [EncodedFrame] = []
        var count = 0
        var end: SourceEnd?
        var endCount = 0
        var endedAt: Double?
    }

    /// The maximum number of frames that are kept, because the machine has little memory.
    private static let limit = 256

    let source: CameraSource
    private let state = Mutex(State())

    /// Records a source. `hold` is called for each sample and delays the camera's thread.
    init(_ source: CameraSource, hold: @escaping @Sendable () -> Void = {}) throws {
        self.source = source
        try source.start(
            deliver: { [self] sample in
                state.withLock { state in
                    state.count += 1
                    switch sample {
                    case .frame(let frame): if state.frames.count < Self.limit { state.frames.append(frame) }
                    case .coded(let frame): if state.coded.count < Self.limit { state.coded.append(frame) }
                    }
                }
                hold()
            },
            ended: { [self] end in
                state.withLock { state in
                    state.end = end
                    state.endCount += 1
                    state.endedAt = ProcessInfo.processInfo.systemUptime
                }
            })
    }

    var frames: [VideoFrame] { state.withLock { $0.frames } }
    var coded: [EncodedFrame] { state.withLock { $0.coded } }
    var count: Int { state.withLock { $0.count } }
    var end: SourceEnd? { state.withLock { $0.end } }
    var endCount: Int { state.withLock { $0.endCount } }
    /// The seconds since the machine's start.
    var endedAt: Double? { state.withLock { $0.endedAt } }

    /// Waits for this many new samples and returns them. Drops all earlier ones.
    func next(_ count: Int, within limit: Double = 30) throws -> [VideoFrame] {
        state.withLock { $0.frames = [] }
        try Machine.wait(for: "\(count) frames of \(source.name)", within: limit) {
            state.withLock { $0.frames.count >= count || $0.end != nil }
        }
        return Array(frames.prefix(count))
    }

    func waitForEnd(within limit: Double = 30) throws -> SourceEnd {
        try Machine.wait(for: "the end of \(source.name)", within: limit) { end != nil }
        return end!
    }

    /// Opens a camera, records frames and releases it.
    static func frames(
        _ count: Int, of id: String, _ configuration: VideoConfiguration
    ) throws -> (source: CameraSource, frames: [VideoFrame]) {
        let recording = try CameraRecording(CameraSource(id: id, configuration: configuration))
        defer { recording.source.stop() }
        return (recording.source, try recording.next(count))
    }
}
