/// The capabilities of an audio source.
public struct AudioCapabilities: Hashable, Sendable {
    /// The sample rates of the hardware in Hz, ascending. Audio at other rates is resampled to 48 kHz.
    public var sampleRates: [Int]
    /// The channels of the hardware. Mono is duplicated, and more than two channels are downmixed as required.
    public var channels: ClosedRange<Int>
    /// The settings that the driver lists.
    public var controls: [DeviceControl]
    /// The polar patterns that the hardware can be switched to or is known to have.
    public var polarPatterns: Set<PolarPattern>
    /// Whether echo cancellation is available. It is for microphones, but not for computed audio.
    public var canCancelEcho: Bool

    /// Creates capabilities.
    public init(
        sampleRates: [Int], channels: ClosedRange<Int>, controls: [DeviceControl] = [],
        polarPatterns: Set<PolarPattern> = [], canCancelEcho: Bool = false
    ) {
        self.sampleRates = sampleRates
        self.channels = channels
        self.controls = controls
        self.polarPatterns = polarPatterns
        self.canCancelEcho = canCancelEcho
    }
}

/// The capabilities of a video source.
public struct VideoCapabilities: Hashable, Sendable {
    /// The formats.
    public var formats: [CaptureFormat]
    /// The settings that the driver lists.
    public var controls: [DeviceControl]
    /// The flash modes. Every camera supports `alwaysOff`; one with a light supports all.
    public var flashModes: Set<FlashMode>
    /// The focus modes besides `automatic`, which leaves the focus to the camera.
    public var autoFocusModes: Set<AutoFocusMode>
    /// Whether the position to focus on can be set.
    public var hasFocusTarget: Bool
    /// Whether there is an accelerometer for `followDeviceRotation`.
    public var canFollowDevice: Bool
    /// The clockwise quarter turns, 0 to 3, that make frames upright in the usual orientation of the device.
    public var mountRotation: Int

    /// Creates capabilities.
    public init(
        formats: [CaptureFormat], controls: [DeviceControl] = [], flashModes: Set<FlashMode> = [.alwaysOff],
        autoFocusModes: Set<AutoFocusMode> = [], hasFocusTarget: Bool = false, canFollowDevice: Bool = false,
        mountRotation: Int = 0
    ) {
        self.formats = formats
        self.controls = controls
        self.flashModes = flashModes
        self.autoFocusModes = autoFocusModes
        self.hasFocusTarget = hasFocusTarget
        self.canFollowDevice = canFollowDevice
        self.mountRotation = mountRotation
    }
}
