import CV4L2
import PCastIO
import PCastMedia
import Synchronization

/// The controls of a camera while it is open: used by those who steer it, and by its own thread.
final class CameraControls: Sendable {
    private struct State: Sendable {
        var settings: ControlSettings
        var light = CameraLight()
        var focus = CameraFocus()
        var size: Dimensions
    }

    /// Searching focus is looked after this often.
    private static let interval = TimeSpan.milliseconds(50)

    /// Nil once the camera was given back.
    private let state: Mutex<State?>
    private let due = Mutex(Instant(nanoseconds: 0))

    init(_ node: VideoNode, _ list: ControlList, size: Dimensions) {
        state = Mutex(State(settings: ControlSettings(node, list), size: size))
    }

    /// Before pictures are asked for: key frames that can be joined at, and no pictures that refer to later ones (COD5).
    func prepareH264(frameRate: FrameRate) {
        change { state in
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_B_FRAMES, 0)
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER, 1)
            _ = state.settings.set(V4L2_CID_MPEG_VIDEO_PREPEND_SPSPPS_TO_IDR, 1)
            // Where key frames can be asked for they need not come by themselves, but for receivers that cannot ask.
            let seconds: Int64 = state.settings.list.settable(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME) == nil ? 2 : 10
            guard let control = state.settings.list.settable(V4L2_CID_MPEG_VIDEO_H264_I_PERIOD) else { return }
            let period = seconds * Int64(frameRate.perSecond.rounded(.up))
            _ = state.settings.set(
                V4L2_CID_MPEG_VIDEO_H264_I_PERIOD, min(max(period, control.minimum), control.maximum))
        }
    }

    /// Whether the camera is kept from lowering its rate in the dark (COD7).
    func holdFrameRate() {
        change { state in _ = state.settings.set(V4L2_CID_EXPOSURE_AUTO_PRIORITY, 0) }
    }

    /// - Parameter areDecoded: whether pictures are seen, by which the light can be metered.
    /// - Returns: what cannot be as asked, and why.
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

    func moveFocus(to nearness: Double) -> String? {
        change { $0.focus.move(to: nearness, &$0.settings) } ?? "the camera is closed"
    }

    func requestKeyFrame() -> Bool {
        change { $0.settings.press(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME) } ?? false
    }

    /// From the camera's thread, which waits for nobody: while somebody else steers, the next turn will do.
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

    /// From the camera's thread.
    func meter(_ picture: VideoFrame, at now: Instant) {
        _ = state.withLockIfAvailable { state in
            guard state?.light.needsMetering == true, var value = state.take() else { return }
            value.light.observe(picture, at: now, &value.settings)
            state = value
        }
    }

    /// Puts the light out, restores what was changed, and lets the camera go.
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

    /// Nil when the camera was given back.
    private func change<Result>(_ body: (inout State) -> Result) -> Result? {
        state.withLock { state in
            guard var value = state.take() else { return nil }
            defer { state = value }
            return body(&value)
        }
    }
}
