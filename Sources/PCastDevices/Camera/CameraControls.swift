import CV4L2
import PCastCore
import PCastIO
import Synchronization

/// The controls of an open camera. The application and the camera's own thread use it.
final class CameraControls: Sendable {
    private struct State: Sendable {
        var settings: ControlSettings
        var light = CameraLight()
        var focus = CameraFocus()
        var size: Dimensions
    }

    /// The interval at which a focus search is checked.
    private static let interval = TimeSpan.milliseconds(50)

    /// The settings; nil after the camera was closed.
    private let state: Mutex<State?>
    private let due = Mutex(Instant(nanoseconds: 0))

    init(_ node: VideoNode, _ list: ControlList, size: Dimensions) {
        state = Mutex(State(settings: ControlSettings(node, list), size: size))
    }

    /// Configures an H.264 encoder before streaming. Every key frame has parameter sets, so that viewers can join
    /// there. There are no B-frames, because WebRTC receivers present frames in the order of arrival.
    func prepareH264(frameRate: FrameRate) {
        change { state in
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_B_FRAMES, 0)
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER, 1)
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_PREPEND_SPSPPS_TO_IDR, 1)
            // If key frames can be requested, periodic ones serve only receivers that cannot request them.
            let seconds: Int64 = state.settings.list.settable(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME) == nil ? 2 : 10
            guard let control = state.settings.list.settable(V4L2_CID_MPEG_VIDEO_H264_I_PERIOD) else { return }
            let period = seconds * Int64(frameRate.perSecond.rounded(.up))
            _ = state.settings.set(
                V4L2_CID_MPEG_VIDEO_H264_I_PERIOD, min(max(period, control.minimum), control.maximum))
        }
    }

    /// Keeps the camera from lowering its frame rate in the dark. Many webcams do that by default to expose longer.
    func lockFrameRate() {
        change { state in _ = state.settings.set(V4L2_CID_EXPOSURE_AUTO_PRIORITY, 0) }
    }

    /// Applies flash and focus settings. `areDecoded` is whether frames are decoded, so that their brightness can be
    /// measured. Returns the reason for each capability that is unsatisfied.
    func apply(_ configuration: VideoConfiguration, areDecoded: Bool) -> [DeviceCapability: String] {
        change { state in
            state.light.isMetered = areDecoded
            var unmet = state.focus.apply(
                configuration.autoFocusMode, target: configuration.focusTarget, size: state.size,
                at: MonotonicClock.now(), &state.settings)
            if let reason = state.light.apply(configuration.flashMode, &state.settings) {
                unmet[.flashMode] = reason
            }
            return unmet
        } ?? [:]
    }

    var focusState: FocusState { change { $0.focus.state } ?? .free }

    func moveFocus(to focusPosition: Double) -> String? {
        change { $0.focus.move(to: focusPosition, &$0.settings) } ?? "the camera is closed"
    }

    func requestKeyFrame() -> Bool {
        change { $0.settings.press(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME) } ?? false
    }

    /// Advances a focus search. The camera's thread calls it and never waits; if the lock is held, the next call does
    /// the work.
    func advance(at now: Instant) {
        let isDue = due.withLock { due in
            guard now >= due else { return false }
            due = now + Self.interval
            return true
        }
        guard isDue else { return }
        _ = state.withLockIfAvailable { state in
            guard var value = state.take() else { return }
            value.focus.advance(at: now, &value.settings)
            state = value
        }
    }

    /// Measures the brightness of a frame. The camera's thread calls it.
    func meter(_ frame: VideoFrame, at now: Instant) {
        _ = state.withLockIfAvailable { state in
            guard state?.light.needsMetering == true, var value = state.take() else { return }
            value.light.observe(frame, at: now, &value.settings)
            state = value
        }
    }

    /// Turns the light off, restores changed controls, and releases the camera.
    func close() {
        state.withLock { state in
            guard var value = state.take() else { return }
            value.light.turnOff(&value.settings)
            value.settings.restore()
            if value.settings.value(V4L2_CID_FLASH_LED_MODE) == Int64(V4L2_FLASH_LED_MODE_TORCH.rawValue) {
                _ = value.settings.set(V4L2_CID_FLASH_LED_MODE, Int64(V4L2_FLASH_LED_MODE_NONE.rawValue))
            }
        }
    }

    /// Changes the settings; nil if the camera is closed.
    private func change<Result>(_ body: (inout State) -> Result) -> Result? {
        state.withLock { state in
            guard var value = state.take() else { return nil }
            defer { state = value }
            return body(&value)
        }
    }
}
