import CV4L2

/// The capabilities of a camera, from its controls.
struct CameraFeatures: Sendable {
    let flashModes: Set<FlashMode>
    let autoFocusModes: Set<AutoFocusMode>
    let hasFocusTarget: Bool

    init(_ controls: ControlList) {
        flashModes = Self.hasTorch(controls) ? Set(FlashMode.allCases) : [.alwaysOff]
        var modes: Set<AutoFocusMode> = []
        let followsFrame = controls.settable(V4L2_CID_FOCUS_AUTO) != nil
        if followsFrame { modes = [.continuous, .locked, .autoThenLocked] }
        if controls.settable(V4L2_CID_AUTO_FOCUS_START) != nil { modes.insert(.autoThenLocked) }
        if controls.settable(V4L2_CID_FOCUS_ABSOLUTE) != nil || Self.canLockFocus(controls) { modes.insert(.locked) }
        autoFocusModes = modes
        hasFocusTarget = Self.focusTarget(controls) != nil
    }

    /// Returns whether the camera has a light that can stay on while it streams.
    static func hasTorch(_ controls: ControlList) -> Bool {
        controls.settable(V4L2_CID_FLASH_LED_MODE)?.offers(Int64(V4L2_FLASH_LED_MODE_TORCH.rawValue)) ?? false
    }

    /// Returns whether the camera's automatic focus can be locked.
    static func canLockFocus(_ controls: ControlList) -> Bool {
        controls.settable(V4L2_CID_3A_LOCK)?.offers(Int64(V4L2_LOCK_FOCUS)) ?? false
    }

    /// Returns the control for the region of interest that the camera focuses on. Its ID is defined since Linux 6.15.
    /// The value must be a `v4l2_rect`.
    static func focusTarget(_ controls: ControlList) -> ControlDescription? {
        controls[Int32(CV4L2_CID_REGION_OF_INTEREST_RECT)].flatMap {
            !$0.isReadOnly && $0.elementCount == 1 && Int($0.elementSize) == MemoryLayout<v4l2_rect>.size ? $0 : nil
        }
    }

    /// Returns the facing mode from the firmware or the device tree.
    static func facingMode(_ controls: ControlList, _ node: VideoNode) -> FacingMode {
        switch value(of: V4L2_CID_CAMERA_ORIENTATION, controls, node) {
        case Int64(V4L2_CAMERA_ORIENTATION_FRONT): .user
        case Int64(V4L2_CAMERA_ORIENTATION_BACK): .environment
        default: .undefined
        }
    }

    /// Returns the clockwise quarter turns that make frames upright. The control gives the correction in degrees
    /// counterclockwise (V4L2 documentation, camera control reference).
    static func mountRotation(_ controls: ControlList, _ node: VideoNode) -> Int {
        guard let degrees = value(of: V4L2_CID_CAMERA_SENSOR_ROTATION, controls, node) else { return 0 }
        let quarters = Int((degrees % 360 + 360) % 360 + 45) / 90 % 4
        return (4 - quarters) % 4
    }

    private static func value(of id: Int32, _ controls: ControlList, _ node: VideoNode) -> Int64? {
        guard let control = controls[id] else { return nil }
        var answer = v4l2_control(id: control.id, value: 0)
        return node.ask(CV4L2_G_CTRL, &answer) == 0 ? Int64(answer.value) : control.standard
    }
}
