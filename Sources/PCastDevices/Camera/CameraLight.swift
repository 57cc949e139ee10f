import CV4L2
import PCastCore

/// A camera's light, which stays on while it streams (V4L2's torch mode), controlled by the flash mode.
struct CameraLight: Sendable {
    private var mode = FlashMode.alwaysOff
    private var meter = LightMeter()
    private var isOn = false
    /// Whether frames are decoded, so that their brightness can be measured.
    var isMetered = true

    /// Whether frames must be passed to `observe`.
    var needsMetering: Bool { mode == .automatic && isMetered }

    /// Applies a flash mode. Returns the reason if it is unsatisfied; nil otherwise.
    mutating func apply(_ mode: FlashMode, _ settings: inout ControlSettings) -> String? {
        guard CameraFeatures.hasTorch(settings.list) else {
            // Without a light, the other modes are satisfied.
            return mode == .alwaysOn ? "the camera has no torch" : nil
        }
        if self.mode != mode { meter = LightMeter() }
        self.mode = mode
        switch mode {
        case .alwaysOff: return turn(false, &settings)
        case .alwaysOn: return turn(true, &settings)
        case .automatic:
            let failure = turn(isMetered && meter.isOn, &settings)
            return isMetered ? failure : "the brightness is unknown, because encoded frames are not decoded"
        }
    }

    mutating func observe(_ frame: VideoFrame, at now: Instant, _ settings: inout ControlSettings) {
        guard needsMetering, CameraFeatures.hasTorch(settings.list) else { return }
        meter.observe(FrameBrightness.mean(of: frame), at: now)
        if meter.isOn != isOn { _ = turn(meter.isOn, &settings) }
    }

    /// Turns the light off at the end, if it was turned on here.
    mutating func turnOff(_ settings: inout ControlSettings) {
        if isOn { _ = turn(false, &settings) }
    }

    private mutating func turn(_ isEnabled: Bool, _ settings: inout ControlSettings) -> String? {
        let value = isEnabled ? V4L2_FLASH_LED_MODE_TORCH : V4L2_FLASH_LED_MODE_NONE
        guard settings.set(V4L2_CID_FLASH_LED_MODE, Int64(value.rawValue)) else {
            return "the camera does not turn its torch \(isEnabled ? "on" : "off")"
        }
        isOn = isEnabled
        guard isEnabled, let fault = settings.value(V4L2_CID_FLASH_FAULT), fault != 0 else { return nil }
        return "the camera's torch reports a fault (\(fault))"
    }
}

/// The brightness of a frame.
enum FrameBrightness {
    /// The distance of the sampled pixels in each direction. Every 16th pixel is enough for a mean and takes
    /// microseconds.
    private static let step = 16

    /// Returns the mean brightness from 0 for black to 1 for white.
    static func mean(of frame: VideoFrame) -> Double {
        var (sum, count) = (0, 0)
        for row in stride(from: step / 2, to: frame.dimensions.height, by: step) {
            let pixels = frame.planeY + row * frame.strideY
            for column in stride(from: step / 2, to: frame.dimensions.width, by: step) {
                sum += Int(pixels[column])
                count += 1
            }
        }
        guard count > 0 else { return 0.5 }
        return min(max((Double(sum) / Double(count) - 16) / 219, 0), 1)
    }
}
