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
