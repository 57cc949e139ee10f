import Foundation
import PCastCore
import PCastDevices
import Synchronization

/// The frames of a running input, in order of arrival.
final class InputRecording: Sendable {
    private struct State {
        var latest: VideoFrame?
        var count = 0
        var backwards = 0
        var longestGap = TimeSpan.zero
        var end: SourceEnd?
    }

    let input: VideoInput
    private let state = Mutex(State())

    /// Opens and starts the input; without an identifier, the best camera.
    init(_ id: String?, _ constraints: DeviceConstraints) throws {
        input = try VideoInput(VideoRequest(.camera(id: id), constraints: constraints))
        try input.start(
            deliver: { [weak self] sample in
                if case .frame(let frame) = sample { self?.add(frame) }
            }, ended: { [weak self] end in self?.state.withLock { $0.end = end } })
    }

    private func add(_ frame: VideoFrame) {
        state.withLock { state in
            if let latest = state.latest {
                if frame.timestamp.ticks <= latest.timestamp.ticks { state.backwards += 1 }
                let gap = ClockRate.video.span(ofTicks: frame.timestamp.ticks - latest.timestamp.ticks)
                state.longestGap = max(state.longestGap, gap)
            }
            state.latest = frame
            state.count += 1
        }
    }

    var count: Int { state.withLock { $0.count } }
    var end: SourceEnd? { state.withLock { $0.end } }

    /// The number of frames whose media time was not after that of the one before. It must stay zero.
    var backwards: Int { state.withLock { $0.backwards } }

    /// The longest time between the media times of two frames.
    var longestGap: TimeSpan { state.withLock { $0.longestGap } }

    /// Waits for a new frame that fulfils the condition.
    @discardableResult
    func frame(_ what: String, where matches: (VideoFrame) -> Bool = { _ in true }) throws -> VideoFrame {
        let before = count
        var found: VideoFrame?
        try Machine.wait(for: what) {
            let (latest, count) = state.withLock { ($0.latest, $0.count) }
            guard let latest, count > before, matches(latest) else { return false }
            found = latest
            return true
        }
        return found!
    }
}

extension VideoFrame {
    /// The centers of the quarters of camctl's or uvcsim's frame, from the top left line by line.
    var quarters: [[Int]] {
        let (left, right) = (dimensions.width / 4, dimensions.width * 3 / 4)
        let (top, bottom) = (dimensions.height / 4, dimensions.height * 3 / 4)
        return [(left, top), (right, top), (left, bottom), (right, bottom)].map { CameraBench.pixel(self, $0.0, $0.1) }
    }

    /// Returns whether it is the test cameras' frame, rotated clockwise by this many quarters. Each value may differ a
    /// little.
    func isKnownFrame(turns: Int = 0, brighter: Int = 0) -> Bool {
        let order = [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0], [1, 3, 0, 2]][turns]
        let known = [[200, 128, 128], [150, 90, 200], [100, 60, 60], [60, 220, 110]]
        return zip(quarters, order).allSatisfy { seen, place in
            let expected = [min(235, known[place][0] + brighter)] + known[place][1...]
            return !CameraBench.differ(seen, expected, by: 3)
        }
    }

    var isBlack: Bool { quarters.allSatisfy { !CameraBench.differ($0, [16, 128, 128], by: 1) } }
}
