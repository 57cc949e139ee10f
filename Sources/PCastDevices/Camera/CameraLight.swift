import CV4L2
import PCastMedia

/// A camera's light, on for as long as pictures are taken (V4L2's torch), as the flash mode says.
struct CameraLight: Sendable {
    private var mode = FlashMode.alwaysOff
    private var meter = LightMeter()
    private var isOn = false
    /// Pictures are seen, so that their brightness can be told.
    var isMetered = true

    /// Whether pictures are to be told to `meter`.
    var needsMetering: Bool { mode == .automatic && isMetered }

    /// - Returns: why it cannot be as asked; nil when it is.
    mutating func apply(_ mode: FlashMode, _ settings: inout ControlSettings) -> String? {
        guard CameraFeatures.hasTorch(settings.list) else {
            // Nothing lights by itself either, so no other mode is left unmet.
            return mode == .alwaysOn ? "the camera has no light that stays on" : nil
        }
        if self.mode != mode { meter = LightMeter() }
        self.mode = mode
        switch mode {
        case .alwaysOff: return turn(false, &settings)
        case .alwaysOn: return turn(true, &settings)
        case .automatic:
            let failure = turn(isMetered && meter.isOn, &settings)
            return isMetered ? failure : "coded pictures are passed on unseen, so how dark it is cannot be told"
        }
    }

    mutating func observe(_ frame: VideoFrame, at now: Instant, _ settings: inout ControlSettings) {
        guard needsMetering, CameraFeatures.hasTorch(settings.list) else { return }
        meter.observe(PictureBrightness.mean(of: frame), at: now)
        if meter.isOn != isOn { _ = turn(meter.isOn, &settings) }
    }

    /// At the end, whatever it was before: a light that nobody needs is off.
    mutating func turnOff(_ settings: inout ControlSettings) {
        if isOn { _ = turn(false, &settings) }
    }

    private mutating func turn(_ wish: Bool, _ settings: inout ControlSettings) -> String? {
        let value = wish ? V4L2_FLASH_LED_MODE_TORCH : V4L2_FLASH_LED_MODE_NONE
        guard settings.set(V4L2_CID_FLASH_LED_MODE, Int64(value.rawValue)) else {
            return "the camera does not turn its light \(wish ? "on" : "off")"
        }
        isOn = wish
        guard wish, let fault = settings.value(V4L2_CID_FLASH_FAULT), fault != 0 else { return nil }
        return "the camera's light reports a fault (\(fault))"
    }
}
