/// What a source of pictures can do.
public struct VideoCapabilities: Hashable, Sendable {
    public var formats: [CaptureFormat]
    public var controls: [DeviceControl]
    /// Besides `alwaysOff`, which every camera can; all three with a light.
    public var flashModes: Set<FlashMode>
    /// Besides `automatic`, which means whatever the camera does.
    public var autoFocusModes: Set<AutoFocusMode>
    public var hasFocusTarget: Bool
    /// Whether there is an accelerometer that `followDeviceRotation` can follow.
    public var canFollowDevice: Bool
    /// Quarter turns clockwise that bring the sensor's picture upright as the device is usually held, 0 to 3.
    public var mountingTurns: Int

    public init(
        formats: [CaptureFormat], controls: [DeviceControl] = [], flashModes: Set<FlashMode> = [.alwaysOff],
        autoFocusModes: Set<AutoFocusMode> = [], hasFocusTarget: Bool = false, canFollowDevice: Bool = false,
        mountingTurns: Int = 0
    ) {
        self.formats = formats
        self.controls = controls
        self.flashModes = flashModes
        self.autoFocusModes = autoFocusModes
        self.hasFocusTarget = hasFocusTarget
        self.canFollowDevice = canFollowDevice
        self.mountingTurns = mountingTurns
    }
}
