import PCastCodecs
import PCastCore
import Synchronization

/// Scales, drops and rotates the frames of one input by its selection, on the thread of any source.
final class FrameShaping: Sendable {
    private struct State {
        var selection: VideoSelection?
        var reduction: FrameRateReduction?
        let scaler = FrameScaler()
        var rotator = FrameRotator()

        init(_ selection: VideoSelection?) { follow(selection) }

        mutating func follow(_ selection: VideoSelection?) {
            self.selection = selection
            let configuration = selection?.configuration
            reduction = configuration?.reducedFrameRate.map {
                FrameRateReduction(from: configuration?.frameRate ?? $0, to: $0)
            }
        }
    }

    private let state: Mutex<State>
    private let guide: RotationGuide

    init(_ selection: VideoSelection?, guide: RotationGuide) {
        state = Mutex(State(selection))
        self.guide = guide
    }

    /// Applies another selection to the next frames.
    func follow(_ selection: VideoSelection?) { state.withLock { $0.follow(selection) } }

    /// Returns the frame as it is delivered; nil if it is dropped, and the same frame if nothing has to be done.
    func shaped(_ frame: VideoFrame, captured: WallTime) -> VideoFrame? {
        state.withLock { state in
            guard state.reduction?.keeps(captured) ?? true else { return nil }
            var result = frame
            if let selection = state.selection {
                let output = selection.output(of: frame.dimensions)
                if output != frame.dimensions {
                    let part =
                        selection.derivation.cuts ? FormatDerivation.part(of: frame.dimensions, for: output) : nil
                    result =
                        part.map { state.scaler.scale(frame, part: $0, to: output) }
                        ?? state.scaler.scale(frame, to: output)
                }
            }
            return state.rotator.turn(result, by: guide.turn)
        }
    }
}

extension VideoSelection {
    /// The way in which sizes of the device are derived.
    var derivation: FormatDerivation { FormatDerivation(of: device.info.deviceType) }

    /// Returns the size to which a frame of the device is scaled, before rotation. Frames may have another size than the
    /// selected one, such as those of a window that is resized: a frame that is not larger keeps its size.
    func output(of frame: Dimensions) -> Dimensions {
        guard let scaled = configuration.scaledDimensions else { return frame }
        if derivation.cuts {
            let isLarger = frame.width >= scaled.width && frame.height >= scaled.height
            return isLarger ? scaled : frame
        }
        if frame == configuration.dimensions { return scaled }
        let fitting = derivation.sizes(
            from: frame, widths: [Double(scaled.width)], heights: [Double(scaled.height)])
        return fitting.first?.output ?? frame
    }
}

/// Drops frames evenly by their capture times, so that a rate below that of the device results.
struct FrameRateReduction: Sendable {
    private let interval: TimeSpan
    /// The time by which a frame may precede the time at which one is due. Capture times are not exact.
    private let tolerance: TimeSpan
    private var due: WallTime?

    init(from native: FrameRate, to reduced: FrameRate) {
        interval = TimeSpan(seconds: 1 / reduced.perSecond)
        tolerance = TimeSpan(seconds: 0.25 / native.perSecond)
    }

    /// Returns whether the frame is kept.
    mutating func keeps(_ captured: WallTime) -> Bool {
        guard let due else {
            self.due = captured + interval
            return true
        }
        // The clock was set back.
        if due - captured > interval + interval {
            self.due = captured + interval
            return true
        }
        guard captured + tolerance >= due else { return false }
        // After a pause the next frame is due an interval later, and not at once.
        self.due = captured - due > interval ? captured + interval : due + interval
        return true
    }
}
