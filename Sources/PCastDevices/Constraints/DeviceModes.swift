public import PCastCodecs
import PCastCore

/// The direction that a camera faces (Phenix: `PhenixFacingMode`).
public enum FacingMode: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default). No device has this value.
    case automatic
    /// The direction is unknown.
    case undefined
    /// Towards the user of the machine.
    case user
    /// Away from the user.
    case environment
}

/// Mono or stereo (Phenix: `PhenixAudioChannelLayout`).
public enum AudioChannelLayout: String, Hashable, Sendable, CaseIterable {
    case mono
    case stereo

    /// The number of channels.
    public var channels: Int { self == .mono ? 1 : 2 }
}

/// The location of a device on a phone or tablet (Phenix: `PhenixLocation`).
public enum DeviceLocation: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default); unknown, of a device.
    case automatic
    /// At the top.
    case upper
    /// At the bottom.
    case lower
}

/// The mode of a camera's light (Phenix: `PhenixFlashMode`).
public enum FlashMode: String, Hashable, Sendable, CaseIterable {
    /// On while frames are dark (default).
    case automatic
    /// On, if the camera has a light.
    case alwaysOn = "always-on"
    /// Off.
    case alwaysOff = "always-off"
}

/// The rotation of captured frames (Phenix: `PhenixVideoSourceRotationMode`).
public enum VideoSourceRotationMode: String, Hashable, Sendable, CaseIterable {
    /// By the device's orientation if it is known, otherwise by the user interface (default).
    case automatic
    /// By the orientation of the device.
    case followDeviceRotation = "follow-device-rotation"
    /// By the orientation of the user interface.
    case followUIRotation = "follow-ui-rotation"
}

/// Whether the audio that this process plays is removed from the microphone's signal (Phenix:
/// `PhenixAudioEchoCancelationMode`).
public enum AudioEchoCancellationMode: String, Hashable, Sendable, CaseIterable {
    /// While this process plays audio (default).
    case automatic
    /// Always.
    case on
    /// Never.
    case off
}

/// The focus mode of a camera (Phenix: `PhenixAutoFocusMode`).
public enum AutoFocusMode: String, Hashable, Sendable, CaseIterable {
    /// The camera's choice (default).
    case automatic
    /// The focus stays fixed.
    case locked
    /// The camera focuses once, then the focus stays fixed.
    case autoThenLocked = "auto-then-locked"
    /// The camera focuses continuously.
    case continuous
}

/// The polar pattern of a microphone (Phenix: `PhenixPolarPattern`).
public enum PolarPattern: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default); unknown, of a device.
    case automatic
    /// Equally sensitive in all directions.
    case omnidirectional
    /// Sensitive to the front and hardly to the rear.
    case cardioid
    /// Sensitive to the front and less to the rear.
    case subcardioid
}

/// The position in a frame to focus on, from (0, 0) at the top left to (1, 1) at the bottom right.
public struct FocusTarget: Hashable, Sendable {
    /// The horizontal position, from 0 at the left to 1 at the right.
    public let x: Double
    /// The vertical position, from 0 at the top to 1 at the bottom.
    public let y: Double

    /// Creates a target. Returns nil for a position outside the frame.
    public init?(x: Double, y: Double) {
        guard (0...1).contains(x), (0...1).contains(y) else { return nil }
        (self.x, self.y) = (x, y)
    }

    private init(inside x: Double, _ y: Double) { (self.x, self.y) = (x, y) }

    /// Returns the position in a whole frame of a position in a part of it; the same position without a part.
    func moved(from part: FrameRectangle?, to frame: Dimensions) -> FocusTarget {
        guard let part else { return self }
        return FocusTarget(
            inside: min((Double(part.x) + x * Double(part.width)) / Double(frame.width), 1),
            min((Double(part.y) + y * Double(part.height)) / Double(frame.height), 1))
    }

    /// Returns the same position in the coordinates that the frame has before a rotation. The rotation is the clockwise
    /// one that is applied before the frame is displayed.
    public func beforeRotation(_ turn: FrameRotation) -> FocusTarget {
        switch turn.degrees {
        case 90: FocusTarget(inside: y, 1 - x)
        case 180: FocusTarget(inside: 1 - x, 1 - y)
        case 270: FocusTarget(inside: 1 - y, x)
        default: self
        }
    }
}
