public import PCastCodecs

/// A constraint of a capability (Phenix: `PhenixDeviceConstraint`).
public struct DeviceConstraint: Hashable, Sendable {
    /// The kind of a constraint (Phenix: `PhenixConstraintType`). `min`, `max` and `exact` are required: a device that
    /// does not satisfy them is not used. For `ideal`, the nearest value is used.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case min
        case max
        case exact
        case ideal
    }

    /// The value of a constraint.
    public enum Value: Hashable, Sendable {
        /// A number, for `width`, `height` and `frameRate`.
        case number(Double)
        /// An identifier, for `deviceID`.
        case text(String)
        case facingMode(FacingMode)
        case flashMode(FlashMode)
        case location(DeviceLocation)
        case polarPattern(PolarPattern)
        case echoCancellation(AudioEchoCancellationMode)
        case rotationMode(VideoSourceRotationMode)
        case autoFocusMode(AutoFocusMode)
        case focusTarget(FocusTarget)
        case channelLayout(AudioChannelLayout)
    }

    /// The kind of the constraint.
    public var kind: Kind
    /// The value.
    public var value: Value

    /// Creates a constraint.
    public init(_ value: Value, kind: Kind = .ideal) {
        self.kind = kind
        self.value = value
    }

    /// Replaces the value with a number, for `width`, `height` and `frameRate`.
    public mutating func updateNumber(_ number: Double) { value = .number(number) }
    /// Replaces the value with an identifier, for `deviceID`.
    public mutating func updateDeviceID(_ id: String) { value = .text(id) }
    /// Replaces the value with a facing mode.
    public mutating func updateFacingMode(_ mode: FacingMode) { value = .facingMode(mode) }
    /// Replaces the value with a flash mode.
    public mutating func updateFlashMode(_ mode: FlashMode) { value = .flashMode(mode) }
    /// Replaces the value with a location.
    public mutating func updateLocation(_ location: DeviceLocation) { value = .location(location) }
    /// Replaces the value with a polar pattern.
    public mutating func updatePolarPattern(_ pattern: PolarPattern) { value = .polarPattern(pattern) }
    /// Replaces the value with an echo cancellation mode.
    public mutating func updateEchoCancellationMode(_ mode: AudioEchoCancellationMode) {
        value = .echoCancellation(mode)
    }
    /// Replaces the value with a rotation mode.
    public mutating func updateRotationMode(_ mode: VideoSourceRotationMode) { value = .rotationMode(mode) }
    /// Replaces the value with a focus mode.
    public mutating func updateAutoFocusMode(_ mode: AutoFocusMode) { value = .autoFocusMode(mode) }
    /// Replaces the value with a focus target.
    public mutating func updateAutoFocusTarget(_ target: FocusTarget) { value = .focusTarget(target) }
    /// Replaces the value with a channel layout.
    public mutating func updateChannelLayout(_ layout: AudioChannelLayout) { value = .channelLayout(layout) }
}

/// The constraints of one track's source. All constraints of a capability apply.
public typealias DeviceConstraints = [DeviceCapability: [DeviceConstraint]]

extension DeviceConstraint.Value {
    /// Parses the text after the equals sign. Throws `ConstraintSyntaxError` with the accepted values.
    init(_ text: String, of capability: DeviceCapability) throws(ConstraintSyntaxError) {
        switch capability {
        case .width, .height:
            guard let number = Int(text), number > 0 else {
                throw ConstraintSyntaxError("its value is a number of pixels")
            }
            self = .number(Double(number))
        case .frameRate:
            guard let number = Double(text), ConstraintNumber.isUsable(number) else {
                throw ConstraintSyntaxError("its value is a number of frames per second, such as 30 or 29.97")
            }
            self = .number(number)
        case .deviceID:
            guard !text.isEmpty else { throw ConstraintSyntaxError("its value is the ID of a device") }
            self = .text(text)
        case .autoFocusTarget: self = .focusTarget(try Self.target(text))
        case .facingMode: self = .facingMode(try Self.word(text))
        case .flashMode: self = .flashMode(try Self.word(text))
        case .location: self = .location(try Self.word(text))
        case .polarPattern: self = .polarPattern(try Self.word(text))
        case .audioEchoCancellationMode: self = .echoCancellation(try Self.word(text))
        case .videoSourceRotationMode: self = .rotationMode(try Self.word(text))
        case .autoFocusMode: self = .autoFocusMode(try Self.word(text))
        case .audioChannelLayout: self = .channelLayout(try Self.word(text))
        }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(_ text: String)
        throws(ConstraintSyntaxError)
        -> Word
    {
        guard let word = Word(rawValue: text) else {
            throw ConstraintSyntaxError("its value is one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    private static func target(_ text: String) throws(ConstraintSyntaxError) -> FocusTarget {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let x = parts[0], let y = parts[1], let target = FocusTarget(x: x, y: y) else {
            throw ConstraintSyntaxError("its value is X,Y from 0,0 (top left) to 1,1 (bottom right)")
        }
        return target
    }
}

/// The reason why the text of a constraint is invalid.
struct ConstraintSyntaxError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

extension DeviceConstraint.Value: CustomStringConvertible {
    /// The value as on a command line.
    public var description: String {
        switch self {
        case .number(let number): ConstraintNumber.text(number)
        case .text(let text): text
        case .facingMode(let mode): mode.rawValue
        case .flashMode(let mode): mode.rawValue
        case .location(let location): location.rawValue
        case .polarPattern(let pattern): pattern.rawValue
        case .echoCancellation(let mode): mode.rawValue
        case .rotationMode(let mode): mode.rawValue
        case .autoFocusMode(let mode): mode.rawValue
        case .focusTarget(let target): "\(ConstraintNumber.text(target.x)),\(ConstraintNumber.text(target.y))"
        case .channelLayout(let layout): layout.rawValue
        }
    }
}

extension DeviceConstraint: CustomStringConvertible {
    /// The kind and the value, such as "min 640".
    public var description: String { "\(kind.rawValue) \(value)" }
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

/// All constraints of one capability.
struct CapabilityConstraint: Sendable {
    let capability: DeviceCapability
    let demands: [DeviceConstraint]
    let ideals: [DeviceConstraint]

    init(_ capability: DeviceCapability, _ constraints: [DeviceConstraint] = []) {
        self.capability = capability
        demands = constraints.filter { $0.kind != .ideal }
        ideals = constraints.filter { $0.kind == .ideal }
    }

    var isEmpty: Bool { demands.isEmpty && ideals.isEmpty }

    /// Whether a value is preferred or required, as opposed to only bounds.
    var isNamed: Bool { !ideals.isEmpty || demands.contains { $0.kind == .exact } }
}

/// All constraints of a device, by capability.
struct DeviceConstraintSet: Sendable {
    private let aims: [DeviceCapability: CapabilityConstraint]

    init(_ constraints: DeviceConstraints) {
        var aims: [DeviceCapability: CapabilityConstraint] = [:]
        for (capability, list) in constraints where !list.isEmpty {
            aims[capability] = CapabilityConstraint(capability, list)
        }
        self.aims = aims
    }

    subscript(_ capability: DeviceCapability) -> CapabilityConstraint {
        aims[capability] ?? CapabilityConstraint(capability)
    }
}

extension CapabilityConstraint {
    /// Returns a required constraint that no device can satisfy together with the given one; nil if there is none.
    func contradiction(of demand: DeviceConstraint) -> DeviceConstraint? {
        demands.first { $0 != demand && areContradictory(demand, $0) }
    }

    private func areContradictory(_ one: DeviceConstraint, _ other: DeviceConstraint) -> Bool {
        if one.value.asksNothing || other.value.asksNothing { return false }
        guard case .number(let left) = one.value, case .number(let right) = other.value else {
            return one.kind == .exact && other.kind == .exact
        }
        // The bounds of a constraint are the first values to satisfy another one.
        let aim = NumericConstraint(self)
        return !aim.isMet(other, by: left) && !aim.isMet(one, by: right)
    }
}
