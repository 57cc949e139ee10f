public import PCastCodecs

/// Which way a camera's pictures are turned before anyone sees them. Pure.
///
/// Seed 004: following the device's rotation, frames match how the user holds the device, however the user interface is
/// turned; following the user interface's, they stay locked to it, however the device is held.
///
/// | mode | with an accelerometer | without |
/// |---|---|---|
/// | `automatic` | follows the device | follows the user interface |
/// | `followDeviceRotation` | follows the device | follows the user interface, and is told as unmet |
/// | `followUIRotation` | follows the user interface | follows the user interface |
///
/// What is followed, F, is a turn clockwise from upright: of the device as who sees its screen sees it, or the turn that
/// the device would have if the user interface stood upright. With the mounting M, which brings the sensor's picture
/// upright while the device is upright, pictures are turned clockwise by
///
/// | camera | turn |
/// |---|---|
/// | looks away (`environment`) | M + F: it turns as the device does |
/// | looks at the user (`user`), or nobody knows (`undefined`) | M - F: it looks the other way, and turns the other way |
///
/// Cameras of which nobody wrote down where they look are those of convertible computers, above the screen.
///
/// So a telephone with M = 90° (a landscape sensor), its interface locked upright (F = 0), gives portrait pictures even
/// while it is held sideways; when it follows the device held sideways (F = 90° or 270°), it gives landscape ones.
public struct RotationPolicy: Hashable, Sendable {
    /// What pictures are turned by.
    public enum Guide: Hashable, Sendable {
        case device
        case userInterface
    }

    public struct Decision: Hashable, Sendable {
        /// What brings pictures upright, clockwise.
        public var turn: PictureTurn
        public var guide: Guide
        /// Whether the device was to be followed and has no accelerometer.
        public var isUnmet: Bool

        public init(turn: PictureTurn, guide: Guide, isUnmet: Bool = false) {
            self.turn = turn
            self.guide = guide
            self.isUnmet = isUnmet
        }
    }

    public var mode: VideoSourceRotationMode
    public var mounting: PictureTurn
    public var facing: FacingMode

    /// - Parameters:
    ///   - mounting: clockwise, brings the sensor's picture upright while the device is upright
    ///     (`VideoCapabilities.mountingTurns` quarters).
    ///   - facing: where the camera looks.
    public init(mode: VideoSourceRotationMode, mounting: PictureTurn = .none, facing: FacingMode = .undefined) {
        self.mode = mode
        self.mounting = mounting
        self.facing = facing
    }

    /// - Parameters:
    ///   - device: how the device is held; nil where there is no accelerometer. One that has not been able to tell yet,
    ///     because the device has lain flat all the time, leaves it to the user interface.
    ///   - userInterface: as the application sets it: how far clockwise the device is turned when the interface stands
    ///     upright.
    public func decide(device: Orientation?, userInterface: PictureTurn) -> Decision {
        if mode != .followUIRotation, let held = device?.turn {
            return Decision(turn: turn(following: held), guide: .device)
        }
        let isUnmet = mode == .followDeviceRotation && device == nil
        return Decision(turn: turn(following: userInterface), guide: .userInterface, isUnmet: isUnmet)
    }

    private func turn(following followed: PictureTurn) -> PictureTurn {
        let degrees = facing == .environment ? followed.degrees : -followed.degrees
        return PictureTurn(degrees: mounting.degrees + degrees)!
    }
}
