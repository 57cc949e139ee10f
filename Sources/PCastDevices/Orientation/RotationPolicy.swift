package import PCastCodecs

/// Decides the rotation of a camera's frames.
///
/// With `followDeviceRotation`, frames match the orientation of the device, independent of the user interface. With
/// `followUIRotation`, they match the user interface, independent of the device.
///
/// | mode | with an accelerometer | without | |---|---|---| | `automatic` | follows the device | follows the user
/// interface | | `followDeviceRotation` | follows the device | follows the user interface; reported as unsatisfied | |
/// `followUIRotation` | follows the user interface | follows the user interface |
///
/// The followed rotation F is clockwise from upright. It is that of the device as its user sees the screen, or that at
/// which the user interface is upright. The mounting M makes the sensor's frames upright while the device is upright.
/// Frames are rotated clockwise by:
///
/// | camera | rotation | |---|---| | faces away (`environment`) | M + F: it turns with the device | | faces the user
/// (`user`) or unknown (`undefined`) | M - F: it faces the other way and turns the other way |
///
/// Cameras with an unknown direction are those of convertible computers, above the screen.
///
/// A phone with M = 90° (a landscape sensor) whose interface is locked upright (F = 0) thus gives portrait frames even
/// while it is held sideways. If it follows the device (F = 90° or 270°), it gives landscape frames.
package struct RotationPolicy: Hashable, Sendable {
    /// The source of the rotation.
    package enum RotationSource: Hashable, Sendable {
        case device
        case userInterface
    }

    /// The decision about the rotation.
    package struct Decision: Hashable, Sendable {
        /// The clockwise rotation that makes frames upright.
        package var turn: FrameRotation
        /// The source of the rotation.
        package var guide: RotationSource
        /// Whether the device's orientation was requested but it has no accelerometer.
        package var isUnmet: Bool

        /// Creates a decision.
        package init(turn: FrameRotation, guide: RotationSource, isUnmet: Bool = false) {
            self.turn = turn
            self.guide = guide
            self.isUnmet = isUnmet
        }
    }

    /// The rotation mode.
    package var mode: VideoSourceRotationMode
    /// The clockwise rotation that makes the sensor's frames upright while the device is upright.
    package var mounting: FrameRotation
    /// The direction that the camera faces.
    package var facing: FacingMode

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - mode: The rotation mode.
    ///   - mounting: The clockwise rotation that makes the sensor's frames upright while the device is upright
    ///     (`VideoCapabilities.mountRotation` quarters).
    ///   - facing: The direction that the camera faces.
    package init(mode: VideoSourceRotationMode, mounting: FrameRotation = .none, facing: FacingMode = .undefined) {
        self.mode = mode
        self.mounting = mounting
        self.facing = facing
    }

    /// Decides the rotation.
    ///
    /// - Parameters:
    ///   - device: The orientation of the device; nil without an accelerometer. While it is unknown, because the device
    ///     has always lain flat, the user interface decides.
    ///   - userInterface: The clockwise rotation of the device at which the application's user interface is upright.
    /// - Returns: The rotation and its source.
    package func decide(device: Orientation?, userInterface: FrameRotation) -> Decision {
        if mode != .followUIRotation, let held = device?.turn {
            return Decision(turn: turn(following: held), guide: .device)
        }
        let isUnmet = mode == .followDeviceRotation && device == nil
        return Decision(turn: turn(following: userInterface), guide: .userInterface, isUnmet: isUnmet)
    }

    private func turn(following followed: FrameRotation) -> FrameRotation {
        let degrees = facing == .environment ? followed.degrees : -followed.degrees
        return FrameRotation(degrees: mounting.degrees + degrees)!
    }
}
