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

/// Decides when a camera's light must be on, from the brightness of its frames.
///
/// The light is turned on when frames have been dark for one second. While it is on, the brightness of the frames does
/// not show whether it is still needed, because the camera adapts its exposure. Therefore the light is turned off as a
/// test:
///
/// * The test begins one minute after the light was turned on. It begins earlier if the brightness has exceeded its
///   lowest value by 0.2 for two seconds, e.g., because the lights of the room were switched on.
/// * The first frame that comes at least one second after the light was turned off decides. If it is bright, the light
///   stays off. If it is dark, the light is turned on again, and the time until the next test doubles, up to 15 minutes.
///
/// The threshold for "bright" in a test is above the one for "dark", so that the light does not flicker at dusk.
struct LightMeter {
    /// The thresholds of the mean brightness, 0 to 1. A lit room is exposed to 0.3 to 0.5; frames in darkness that the
    /// camera cannot compensate are below 0.15.
    private static let dark = 0.15
    private static let bright = 0.22
    /// The increase in brightness that indicates another light source.
    private static let rise = 0.2

    private static let darkness = TimeSpan.seconds(1)
    /// The time in which the exposure adapts to a change of light.
    private static let settling = TimeSpan.seconds(3)
    private static let riseLength = TimeSpan.seconds(2)
    private static let probeLength = TimeSpan.seconds(1)
    private static let shortestInterval = TimeSpan.seconds(60)
    private static let longestInterval = TimeSpan.seconds(15 * 60)

    private enum Phase {
        case unlit(darkSince: Instant?)
        case lit(since: Instant, settled: Double?, brightSince: Instant?)
        case probing(since: Instant)
    }

    private var phase = Phase.unlit(darkSince: nil)
    /// The time until the next test, and the time at which the light was turned off.
    private var interval = LightMeter.shortestInterval
    private var offSince: Instant?

    /// Whether the light must be on.
    var isOn: Bool {
        if case .lit = phase { return true }
        return false
    }

    /// Adds the mean brightness, from 0 to 1, of a frame that was captured with the light as `isOn` says.
    mutating func observe(_ brightness: Double, at now: Instant) {
        switch phase {
        case .unlit(let darkSince): watchDark(brightness, darkSince, now)
        case .lit(let since, let settled, let brightSince): watchLit(brightness, since, settled, brightSince, now)
        case .probing(let since): probe(brightness, since, now)
        }
    }

    private mutating func watchDark(_ brightness: Double, _ darkSince: Instant?, _ now: Instant) {
        guard brightness < Self.dark else { return phase = .unlit(darkSince: nil) }
        guard let darkSince else { return phase = .unlit(darkSince: now) }
        guard now - darkSince >= Self.darkness else { return }
        // If it is dark again at once, the test was wrong, and the next one waits longer.
        if let offSince, now - offSince < Self.shortestInterval { lengthen() } else { interval = Self.shortestInterval }
        light(now)
    }

    private mutating func watchLit(
        _ brightness: Double, _ since: Instant, _ settled: Double?, _ brightSince: Instant?, _ now: Instant
    ) {
        if now - since >= interval { return phase = .probing(since: now) }
        guard now - since >= Self.settling else { return }
        guard let settled else { return phase = .lit(since: since, settled: brightness, brightSince: nil) }
        guard brightness >= settled + Self.rise else {
            return phase = .lit(since: since, settled: min(settled, brightness), brightSince: nil)
        }
        guard let brightSince else { return phase = .lit(since: since, settled: settled, brightSince: now) }
        if now - brightSince >= Self.riseLength { phase = .probing(since: now) }
    }

    private mutating func probe(_ brightness: Double, _ since: Instant, _ now: Instant) {
        guard now - since >= Self.probeLength else { return }
        if brightness >= Self.bright {
            phase = .unlit(darkSince: nil)
            offSince = now
        } else {
            lengthen()
            light(now)
        }
    }

    private mutating func light(_ now: Instant) { phase = .lit(since: now, settled: nil, brightSince: nil) }

    private mutating func lengthen() { interval = min(interval * 2, Self.longestInterval) }
}
